/** LiveKit's tokens and webhooks, against LiveKit's own server SDK. */
import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { AccessToken, TokenVerifier, WebhookReceiver } from "livekit-server-sdk"
import { livekit } from "../../../src/platform-api/livekit/adapter.ts"
import { makeFakeLiveKit } from "../../../src/platform-api/livekit/fake.ts"
import { signJwt, verifyJwt } from "../../../src/platform-api/livekit/jwt.ts"
import { sessionConfig } from "../../platform/support.ts"
import { treeOf } from "../../settings/support.ts"

const KEY = "APIfakeLiveKit"
const SECRET = "secret-of-the-fake-livekit-server"
const NOW = 1_800_000_000_000
const SECONDS = NOW / 1000

const adapterOf = (fake = makeFakeLiveKit(() => NOW)) => {
  const [campaign] = treeOf({ VoiceAiPlatform: fake.settings, Server: { Host: "127.0.0.1" } }).Campaigns
  if (campaign.LiveKit === undefined) throw new Error("the fake's settings are LiveKit's")
  const send = () => Effect.die("nothing is sent")
  return livekit(campaign.LiveKit, { campaign, send, lifetimeSeconds: 30, longestCallSeconds: 7200 })
}

/** The SDK reads the machine's clock. */
const mintedNow = Effect.gen(function* () {
  const { credential, sessionIds } = yield* adapterOf().mint(
    sessionConfig({ clientIdentifier: "ada", dynamicVariables: { name: "Ada" }, metadata: { page: "/" } }),
    "a",
  )
  if (credential?.shape !== "url+token") throw new Error("LiveKit needs a URL and a token")
  return { ...credential, room: sessionIds[0] ?? "" }
})

describe("what LiveKit is told of a call", () => {
  const claimsOf = (LiveKit: object, config: Parameters<typeof sessionConfig>[0]) => {
    const fake = makeFakeLiveKit(() => NOW)
    const settings = { ...fake.settings, LiveKit: { ...Object(fake.settings.LiveKit), ...LiveKit } }
    return Effect.map(adapterOf({ ...fake, settings }).mint(sessionConfig(config), "a"), ({ credential }) => {
      if (credential?.shape !== "url+token") throw new Error("LiveKit needs a URL and a token")
      return JSON.parse(Buffer.from(credential.token.split(".")[1] ?? "", "base64url").toString())
    })
  }

  it.effect("names the agent's deployment where the settings do", () =>
    Effect.gen(function* () {
      const agent = { AgentName: "helper" }
      const named = yield* claimsOf({ ...agent, AgentDeployment: "staging" }, {})
      assert.deepInclude(named.roomConfig.agents[0], { agentName: "helper", deployment: "staging" })
      assert.notProperty((yield* claimsOf(agent, {})).roomConfig.agents[0], "deployment")
    }),
  )

  it.effect("is refused as the caller's fault above 512 KiB, which LiveKit would not let join", () =>
    Effect.gen(function* () {
      // in bytes: each of these characters has three
      const variables = (count: number) =>
        Object.fromEntries(Array.from({ length: count }, (_, index) => [`name-${index}`, "語".repeat(4_000)]))
      const refused = yield* Effect.flip(claimsOf({}, { dynamicVariables: variables(44) }))
      assert.strictEqual(refused.reason._tag, "RequestRefused")
      assert.include(refused.message, "512 KiB")
      yield* claimsOf({}, { dynamicVariables: variables(40) })
    }),
  )
})

describe("a token for a LiveKit room", () => {
  it.live("is accepted by LiveKit's verifier, and grants joining one room to one identity", () =>
    Effect.gen(function* () {
      const { room, token, url } = yield* mintedNow
      assert.strictEqual(url, "wss://livekit.example")
      const claims: object = yield* Effect.promise(() => new TokenVerifier(KEY, SECRET).verify(token))
      assert.deepInclude(claims, { iss: KEY, sub: "ada" })
      const { exp, nbf, roomConfig, video } = Object(claims)
      assert.strictEqual(exp - nbf, 30)
      assert.deepStrictEqual(video, {
        roomJoin: true,
        room,
        canPublish: true,
        canSubscribe: true,
        canPublishData: true,
      })
      assert.deepStrictEqual(roomConfig, {
        name: room,
        emptyTimeout: 30,
        departureTimeout: 10,
        agents: [
          {
            agentName: "helper",
            metadata: '{"clientIdentifier":"ada","dynamicVariables":{"name":"Ada"},"metadata":{"page":"/"}}',
          },
        ],
      })
    }),
  )

  it.live("opens a room that nobody can guess, another one for each call", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* mintedNow, yield* mintedNow]
      assert.match(one.room, /^voicegate-\d{10}-[\w-]{22}$/)
      assert.notStrictEqual(one.room, other.room)
    }),
  )
})

describe("a webhook of LiveKit", () => {
  const body = JSON.stringify({ event: "room_finished", room: { name: `voicegate-1800000030-${"a".repeat(22)}` } })
  const signed = async (key: string, secret: string, text: string): Promise<string> => {
    const token = new AccessToken(key, secret, { ttl: "5m" })
    token.sha256 = createHash("sha256").update(text).digest("base64")
    return token.toJwt()
  }
  const verify = (authorization: string, rawBody = body, now = Date.now()) =>
    adapterOf().webhooks?.verify({ headers: { authorization }, rawBody }, now)

  it("is accepted as LiveKit's SDK signs it", async () => {
    const authorization = await signed(KEY, SECRET, body)
    assert.isUndefined(verify(authorization))
    assert.isDefined(verify(authorization, `${body} `))
    assert.isDefined(verify(authorization, body, Date.now() + 7 * 60_000))
    assert.isDefined(verify(await signed(KEY, "another-secret-of-a-server", body)))
    assert.isDefined(verify(await signed("APIanother", SECRET, body)))
    // a caller's own token has no digest of a body
    assert.isDefined(verify(await new AccessToken(KEY, SECRET, { identity: "ada" }).toJwt()))
  })

  it("a webhook of LiveKit's fake is accepted by LiveKit's receiver", async () => {
    const { headers, rawBody } = makeFakeLiveKit(Date.now).webhook(JSON.parse(body))
    const event = await new WebhookReceiver(KEY, SECRET).receive(rawBody, headers.authorization)
    assert.strictEqual(event.event, "room_finished")
  })
})

describe("a JSON Web Token", () => {
  const claims = { iss: KEY, nbf: SECONDS, exp: SECONDS + 30 }

  it("is valid from its beginning until its end, with a minute for clocks that differ", () => {
    const token = signJwt(claims, SECRET)
    assert.deepStrictEqual(verifyJwt(token, SECRET, NOW), claims)
    assert.isDefined(verifyJwt(token, SECRET, NOW - 60_000))
    assert.isUndefined(verifyJwt(token, SECRET, NOW - 61_000))
    assert.isDefined(verifyJwt(token, SECRET, NOW + 89_000))
    assert.isUndefined(verifyJwt(token, SECRET, NOW + 90_000))
  })

  it("a JSON Web Token without an end, with another algorithm or another signature is refused", () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")
    const [header = "", payload = "", signature = ""] = signJwt(claims, SECRET).split(".")
    for (const token of [
      signJwt({ iss: KEY }, SECRET),
      `${part({ alg: "none" })}.${payload}.`,
      `${part({ alg: "none" })}.${payload}.${signature}`,
      `${part({ alg: "HS512" })}.${payload}.${signature}`,
      `${header}.${part({ ...claims, iss: "other" })}.${signature}`,
      `${header}.${payload}.${signature}A`,
      `${header}.${payload}`,
      `${header}.${payload}.${signature}.more`,
      "",
      "a.b.c",
      "a".repeat(20_000),
    ]) {
      assert.isUndefined(verifyJwt(token, SECRET, NOW), token.slice(0, 60))
    }
    assert.isUndefined(verifyJwt(`${header}.${payload}.${signature}`, "another", NOW))
  })
})
