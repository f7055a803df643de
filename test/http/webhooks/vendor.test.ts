/** `POST /api/webhook/<Platform>` over a real server: what a webhook costs that anyone can send. */
import { once } from "node:events"
import { request as nodeRequest } from "node:http"
import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { MAX_WEBHOOK_BYTES } from "../../../src/http/answers/answer.ts"
import { LARGE_AT_ONCE, REFUSED_WEBHOOKS_PER_MINUTE } from "../../../src/http/webhooks/limits.ts"
import { readWebhook } from "../../../src/platform-api/webhooks/read.ts"
import { eventually } from "../../harness/process.ts"
import { call, post, servedTest } from "../../support/gate-server.ts"
import { REQUEST, shop, VENDOR_WEBHOOK, WEBHOOK } from "../support.ts"

const MISSING = { _tag: "refused", reason: "The signature is missing." } as const
const WRONG = { _tag: "refused", reason: "The signature is wrong." } as const

/** A client that announces a large body, sends none of it, and waits for the answer. */
const announce = (port: number, path: string) =>
  Effect.promise(async () => {
    const request = nodeRequest({
      host: "127.0.0.1",
      port,
      path,
      method: "POST",
      agent: false,
      headers: { "content-length": MAX_WEBHOOK_BYTES },
    })
    // the gate closes the connection although the body was not sent
    request.on("error", () => {})
    request.flushHeaders()
    const [response] = await once(request, "response")
    response.resume()
    await once(response, "close")
    request.destroy()
    return { status: response.statusCode, connection: response.headers.connection }
  })

const from = (address: string) => ({ "x-forwarded-for": address })

/** Bodies that are not the text that was signed, and are not the fault of a key. */
const UNREADABLE = [
  [gzipSync("{}"), { "content-encoding": "gzip" }, "content-encoding"],
  [Buffer.from('{"said":"caf\xe9"}', "latin1"), {}, "UTF-8"],
] as const

describe("a vendor's webhook", () => {
  servedTest(
    "a vendor's webhook that is compressed or not UTF-8 is told so, and not that its key is wrong",
    shop,
    ({ url, world }) =>
      Effect.gen(function* () {
        world.webhook = WRONG
        for (const [body, headers, reason] of UNREADABLE) {
          const reply = yield* call(url + VENDOR_WEBHOOK, { method: "POST", headers, body })
          assert.deepStrictEqual([reply.status, reply.body.code], [415, "unsupported_media_type"], reason)
          assert.include(String(reply.body.message), reason)
        }
        const plain = { method: "POST", headers: { "content-encoding": "identity" }, body: '{"said":"café"}' }
        assert.strictEqual((yield* call(url + VENDOR_WEBHOOK, plain)).status, 401)
      }),
  )

  servedTest("the line of its request says why it has freed no slot", shop, ({ log, url, world }) =>
    Effect.gen(function* () {
      const send = call(url + VENDOR_WEBHOOK, { method: "POST", body: "{}" })
      yield* post(url + REQUEST, {})
      const ends = (id: string) => ({ _tag: "ended", sessions: [[id]], campaigns: ["default"] }) as const
      const sent: ReadonlyArray<readonly [verdict: typeof world.webhook, outcome: string]> = [
        [{ _tag: "ignored", because: "other_event" }, "other_event"],
        [{ _tag: "ignored", because: "other_session" }, "other_session"],
        [{ _tag: "malformed" }, "malformed"],
        [{ _tag: "began", session: ["web-1"], campaigns: ["default"] }, "began"],
        [{ ...ends("web-1"), notBefore: Date.now() + 60_000 }, "not_yet"],
        [ends("nobody's"), "unknown_session"],
        [ends("web-1"), "released"],
        [ends("web-1"), "repeat"],
        [WRONG, "webhook_unauthorized"],
      ]
      for (const [verdict] of sent) {
        world.webhook = verdict
        yield* send
      }
      const outcomes = () =>
        [...log().matchAll(/"path":"\/api\/webhook\/[^"]*","status":\d+,"outcome":"([^"]*)"/g)].map(
          ([, outcome]) => outcome,
        )
      yield* Effect.promise(() => eventually("all are logged", () => outcomes().length === sent.length))
      assert.deepStrictEqual(
        outcomes(),
        sent.map(([, outcome]) => outcome),
      )
    }),
  )

  servedTest(
    "a vendor's webhook that its headers disprove is refused without reading its body",
    shop,
    ({ port, world }) =>
      Effect.gen(function* () {
        world.webhookRefusal = MISSING
        assert.deepStrictEqual(yield* announce(port, VENDOR_WEBHOOK), { status: 401, connection: "close" })
        world.webhookRefusal = { _tag: "unexpected" }
        assert.deepStrictEqual(yield* announce(port, "/api/webhook/nobody"), { status: 404, connection: "close" })
      }),
  )

  servedTest(
    "a vendor's webhook of an address that has sent many refused ones gets 429 without reading its body, and others do not",
    { Security: { ...shop.Security, TrustedProxies: ["127.0.0.1"], RateLimitConcurrency: 0 } },
    ({ port, url, world }) =>
      Effect.gen(function* () {
        const send = (address: string) =>
          Effect.map(
            call(url + VENDOR_WEBHOOK, { method: "POST", headers: from(address), body: "{}" }),
            ({ body, headers, status }) => ({ status, code: body.code, after: Number(headers.get("retry-after")) }),
          )
        for (let n = 0; n < REFUSED_WEBHOOKS_PER_MINUTE; n++) {
          // refused by its headers, or by its body
          world.webhookRefusal = n % 2 === 0 ? MISSING : undefined
          world.webhook = WRONG
          assert.strictEqual((yield* send("203.0.113.1")).status, 401)
        }
        world.webhookRefusal = undefined
        world.webhook = { _tag: "ignored", because: "other_event" }
        const limited = yield* send("203.0.113.1")
        assert.deepInclude(limited, { status: 429, code: "rate_limited" })
        assert.isAbove(limited.after, 0)
        assert.strictEqual((yield* send("203.0.113.2")).status, 200)
        assert.strictEqual((yield* send("2001:db8::1")).status, 200)
        assert.strictEqual(
          (yield* announce(port, VENDOR_WEBHOOK).pipe(Effect.timeoutOption("100 millis")))._tag,
          "None",
        )
      }),
  )

  servedTest(
    "is accepted from an address that has ended a call, whatever else comes from there: other customers of the vendor send from it too",
    { Security: { ...shop.Security, TrustedProxies: ["127.0.0.1"], RateLimitConcurrency: 0 } },
    ({ url, world }) =>
      Effect.gen(function* () {
        const send = Effect.map(
          call(url + VENDOR_WEBHOOK, { method: "POST", headers: from("203.0.113.1"), body: "{}" }),
          ({ status }) => status,
        )
        const ends = (id: string): typeof world.webhook => ({
          _tag: "ended",
          sessions: [[id]],
          campaigns: ["default"],
        })
        yield* post(url + REQUEST, {}, from("203.0.113.9"))
        world.webhook = ends("web-1")
        assert.strictEqual(yield* send, 200)
        world.webhook = WRONG
        for (let n = 0; n < 2 * REFUSED_WEBHOOKS_PER_MINUTE; n++) assert.strictEqual(yield* send, 401)
        world.webhook = ends("web-2")
        assert.strictEqual(yield* send, 200)
      }),
  )

  servedTest(
    "a vendor's webhook of an address that sends large bodies slowly is refused after a few at once, and small ones are not",
    shop,
    ({ port, url, world }) =>
      Effect.gen(function* () {
        world.webhook = { _tag: "ignored", because: "other_event" }
        const slow = Array.from({ length: LARGE_AT_ONCE }, () => {
          const headers = { "content-length": MAX_WEBHOOK_BYTES }
          const sent = nodeRequest({
            host: "127.0.0.1",
            port,
            path: VENDOR_WEBHOOK,
            method: "POST",
            agent: false,
            headers,
          })
          sent.on("error", () => {})
          sent.write("{")
          return sent
        })
        yield* Effect.promise(() =>
          eventually("the others are refused", async () => {
            const answer = await Effect.runPromise(Effect.timeoutOption(announce(port, VENDOR_WEBHOOK), "200 millis"))
            return answer._tag === "Some" && answer.value.status === 429
          }),
        )
        const small = call(url + VENDOR_WEBHOOK, { method: "POST", body: "{}" })
        assert.strictEqual((yield* small).status, 200)
        for (const sent of slow) sent.destroy()
        const large = call(url + VENDOR_WEBHOOK, { method: "POST", body: `{"x":"${"x".repeat(200_000)}"}` })
        yield* Effect.promise(() =>
          eventually("large ones are accepted again", async () => (await Effect.runPromise(large)).status === 200),
        )
      }),
  )

  it("a vendor's webhook whose key campaigns share is authenticated once", () => {
    const verified: Array<string> = []
    const reader = (campaign: string, proof: string | undefined) => ({
      campaign,
      ...(proof === undefined ? {} : { proof }),
      verify: () => {
        verified.push(campaign)
        return proof === "b" ? "wrong" : undefined
      },
      ended: () => ({ _tag: "ended", sessions: [["s"]] }) as const,
    })
    const readers = [reader("1", "a"), reader("2", "a"), reader("3", "b"), reader("4", "b"), reader("5", undefined)]
    const verdict = readWebhook(readers, { headers: {}, rawBody: "{}" }, 0)
    assert.deepInclude(verdict, { _tag: "ended", campaigns: ["1", "2", "5"] })
    assert.deepStrictEqual(verified, ["1", "3", "5"])
  })
})

servedTest(
  "the default platform's webhook ends nothing at a gate of vendors alone that has no token for it",
  {
    VoiceAiPlatform: {
      Platform: "retell",
      MaxConcurrency: 1,
      Retell: { ApiKey: "key-of-retell-1", AgentId: "agent-1" },
    },
  },
  ({ url }) =>
    Effect.gen(function* () {
      yield* post(url + REQUEST)
      const body = { conversationSessionId: "conversation-1" }
      const refused = yield* post(url + WEBHOOK, body)
      assert.deepStrictEqual([refused.status, refused.body.code], [401, "webhook_unauthorized"])
    }),
)
