/** The platform as separate processes: killed without warning, and two of them on one database. */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import { WebSocket } from "ws"
import { ApiKeys } from "../../src/platform/keys/ApiKeys.ts"
import { digestSecret } from "../../src/platform/keys/KeySecret.ts"
import { makeStarterAccount } from "../../src/platform/starter.ts"
import { Webhooks } from "../../src/platform/webhooks/Webhooks.ts"
import { program, whenBuilt } from "../harness/build.ts"
import { AT_FULL_SIZE } from "../harness/long-run.ts"
import { eventually, freePort, start } from "../harness/process.ts"
import { type Engine, onEachEngine, servicesOf, vaultKey } from "./engines.ts"
import { scriptedServer, until } from "./support.ts"

const readData = Schema.decodeUnknownSync(Schema.Struct({ code: Schema.NullOr(Schema.String), data: Schema.Any }))

/** A running `voicegate platform`; stopped with the scope. */
const launch = Effect.fnUntraced(function* (database: Redacted.Redacted<string>) {
  const port = yield* Effect.promise(freePort)
  const environment = [
    `VOICEGATE_PLATFORM_DATABASE=${Redacted.value(database)}`,
    `VOICEGATE_PLATFORM_VAULT_KEY=${Redacted.value(vaultKey)}`,
  ]
  yield* Effect.promise(whenBuilt)
  const command = [process.execPath, program, "platform", "--port", String(port), "--private-webhooks"]
  const child = yield* Effect.acquireRelease(
    Effect.promise(() => start("env", [...environment, ...command], process.cwd())),
    (started) => Effect.promise(() => started.stop()),
  )
  const baseUrl = `http://127.0.0.1:${port}/api/v1/`
  yield* Effect.promise(() =>
    eventually("the platform", async () => {
      if (child.exited()) throw new Error(child.output())
      return (await fetch(`http://127.0.0.1:${port}/openapi.json`)).ok
    }),
  )
  const call = (secret: Redacted.Redacted<string>, method: string, path: string, body?: unknown) =>
    Effect.promise(async () => {
      const headers = { authorization: `Token ${Redacted.value(secret)}`, "content-type": "application/json" }
      const response = await fetch(baseUrl + path, {
        method,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      return { status: response.status, ...readData(await response.json()) }
    })
  return { child, call }
})

const audio = { sampleRate: 16000, bitsPerSample: 16, audioEncodingType: 1, audioEncodingFallbackMode: 0 }

/** Each test has its own database. */
const suite = (engine: Engine) => {
  /** An account on a new database, and what starts a session of it. */
  const account = Effect.fnUntraced(function* (callConcurrency: number, webhookPort: number) {
    const database = yield* engine.database
    const context = yield* Layer.build(Layer.fresh(servicesOf(database)))
    const made = yield* makeStarterAccount({
      name: "Ada",
      regionId: "eu",
      callConcurrency,
      sessionEnded: { url: `http://127.0.0.1:${webhookPort}/hook`, headers: { "X-Api-Token": Redacted.make("t") } },
    }).pipe(Effect.provideContext(context))
    const body = {
      transportType: 0,
      webCampaignId: made.webCampaignId,
      regionId: "eu",
      audioInputConfiguration: audio,
      audioOutputConfiguration: { ...audio, frameDurationMs: 30 },
    }
    return { ...made, database, context, body, initiate: `business/${made.businessId}/websession/initiate` }
  })

  it.live(
    "loses nothing through kill -9, and delivers pending webhooks with the same id once the receiver is back",
    () =>
      Effect.gen(function* () {
        const port = yield* Effect.promise(freePort)
        const { body, businessId, context, database, initiate, secret } = yield* account(2, port)
        const webhooks = Context.get(context, Webhooks)
        const first = yield* launch(database)
        const { data } = yield* first.call(secret, "POST", initiate, body)
        const socket = new WebSocket(data.sessionWebSocketURL)
        const frames: Array<string> = []
        socket.on("message", (frame) => frames.push(String(frame)))
        yield* until(() => frames.length === 1)
        socket.send("Remember me")
        yield* until(() => frames.length === 2)
        socket.close()
        // No receiver accepts the session-ended webhook.
        const pending = Effect.map(webhooks.list(businessId, {}), ({ items }) => items[0])
        const tried = yield* Effect.repeat(pending, { until: (delivery) => delivery?.lastOutcome === "no response" })
        first.child.kill("SIGKILL")
        yield* Effect.promise(() => eventually("the kill", () => first.child.exited()))

        const receiver = yield* scriptedServer(() => ({ status: 200, body: "{}" }), port)
        const second = yield* launch(database)
        yield* until(() => receiver.received.length > 0)
        const [sent] = receiver.received
        assert.strictEqual(sent?.headers["webhook-id"], tried?.id)
        assert.strictEqual(sent?.headers["x-api-token"], "t")
        assert.deepStrictEqual(JSON.parse(sent?.body ?? ""), {
          ConversationSessionId: data.conversationSessionId,
          WebSessionId: data.webSessionId,
        })
        yield* Effect.repeat(pending, { until: (delivery) => delivery?.state === "delivered" })
        const path = `business/${businessId}/conversations/${data.conversationSessionId}`
        // The starter's key is a gate's key, which may not read.
        const apiKeys = Context.get(context, ApiKeys)
        const { user } = yield* Effect.orDie(ownerOf(apiKeys, secret))
        const scope = { type: "Unrestricted" as const }
        const reader = yield* apiKeys.create(user.id, { name: "reader", scope, permissions: ["read"] })
        const conversation = yield* second.call(reader.secret, "GET", path)
        assert.include(JSON.stringify(conversation.data.turns), "Remember me")
      }),
  )

  it.live("never exceeds the account's limit when two processes start calls concurrently", () =>
    Effect.gen(function* () {
      const { body, database, initiate, secret } = yield* account(5, 9)
      const both = yield* Effect.all([launch(database), launch(database)], { concurrency: 2 })
      const asked = Array.from({ length: 40 }, (_, i) => both[i % 2 === 0 ? 0 : 1].call(secret, "POST", initiate, body))
      const answers = yield* Effect.all(asked, { concurrency: "unbounded" })
      const codes = answers.map(({ code, status }) => `${status} ${code}`)
      assert.deepStrictEqual(codes.sort(), [
        ...Array<string>(5).fill("200 null"),
        ...Array<string>(35).fill("429 InitiateWebSession:CONCURRENCY_LIMIT_REACHED"),
      ])
    }),
  )

  // `keys/key-life.system.test.ts` shows it by the test's clock
  if (AT_FULL_SIZE)
    it.live("refuses within 30 s a key that was revoked by another process", () =>
      Effect.gen(function* () {
        const { businessId, context, database, secret } = yield* account(1, 9)
        const { call } = yield* launch(database)
        const read = call(secret, "GET", `business/${businessId}`)
        assert.strictEqual((yield* read).status, 200)
        const apiKeys = Context.get(context, ApiKeys)
        const { key, user } = yield* Effect.orDie(ownerOf(apiKeys, secret))
        yield* apiKeys.revoke(user.id, key.id)
        const began = performance.now()
        yield* Effect.repeat(Effect.delay(read, 1_000), { until: ({ status }) => status === 401 })
        assert.isAtMost(performance.now() - began, 30_000)
      }),
    )
}

onEachEngine("a platform process", suite, { concurrent: true })

const ownerOf = (apiKeys: ApiKeys["Service"], secret: Redacted.Redacted<string>) =>
  Effect.flatMap(apiKeys.lookUp(digestSecret(Redacted.value(secret))), (found) =>
    found === undefined ? Effect.die("the key is known") : Effect.succeed(found),
  )
