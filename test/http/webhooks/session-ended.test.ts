/** `POST /api/webhook/session-ended` over a real server. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { TestClock } from "effect/testing"
import { MAX_BODY_BYTES } from "../../../src/http/answers/answer.ts"
import { makeRefusedWebhooks } from "../../../src/http/webhooks/refused.ts"
import { sign } from "../../../src/lib/standard-webhooks.ts"
import { LINE_EVERY_MILLIS } from "../../../src/lib/throttled-log.ts"
import { eventually } from "../../harness/process.ts"
import { call, post, servedTest, serveGate } from "../../support/gate-server.ts"
import { REQUEST, shop, token, WEBHOOK } from "../support.ts"

describe("a webhook", () => {
  servedTest("needs its token, and names a session by either id", shop, ({ url }) =>
    Effect.gen(function* () {
      yield* post(url + REQUEST)
      const hook = (body: unknown, headers: Readonly<Record<string, string>> = token) =>
        Effect.map(post(url + WEBHOOK, body, headers), (reply) => [
          reply.status,
          reply.body.code ?? reply.body.released,
        ])
      const body = { conversationSessionId: "conversation-1" }
      const counted = Effect.map(call(`${url}/metrics`), ({ text }) =>
        ["unauthorized", "malformed"].map((result) =>
          Number(new RegExp(`^voicegate_webhooks_total\\{result="${result}"\\} (\\d+)$`, "m").exec(text)?.[1]),
        ),
      )
      const [unauthorized = 0, malformedBefore = 0] = yield* counted
      expect(yield* hook(body, {})).toEqual([401, "webhook_unauthorized"])
      expect(yield* hook(body, { "x-api-token": "wrong" })).toEqual([401, "webhook_unauthorized"])
      expect(yield* hook({}, { "x-api-token": "wrong" })).toEqual([401, "webhook_unauthorized"])
      expect(yield* hook({})).toEqual([400, "invalid_request"])
      expect(yield* hook([])).toEqual([400, "invalid_request"])
      expect(yield* hook({ WebSessionId: "unknown" })).toEqual([200, false])
      expect(yield* hook(body)).toEqual([200, true])
      expect(yield* hook(body)).toEqual([200, false])
      const malformed = yield* call(url + WEBHOOK, { method: "POST", headers: token, body: "{" })
      expect([malformed.status, malformed.body.code]).toEqual([400, "malformed_json"])
      // the text is cached for a second
      yield* Effect.sleep("1 second")
      expect(yield* counted).toEqual([unauthorized + 3, malformedBefore + 3])
      const large = yield* call(url + WEBHOOK, { method: "POST", headers: token, body: "x".repeat(MAX_BODY_BYTES + 1) })
      expect([large.status, large.body.code]).toEqual([413, "body_too_large"])
    }),
  )

  servedTest("has a line that says what it has done, or why it has freed no slot", shop, ({ log, url }) =>
    Effect.gen(function* () {
      yield* post(url + REQUEST)
      for (const id of ["nobody's", "conversation-1", "web-1"]) yield* post(url + WEBHOOK, { WebSessionId: id }, token)
      yield* post(url + WEBHOOK, {}, token)
      const outcomes = () =>
        [...log().matchAll(/"path":"\/api\/webhook\/session-ended","status":\d+,"outcome":"([^"]*)"/g)].map(
          ([, outcome]) => outcome,
        )
      yield* Effect.promise(() => eventually("all are logged", () => outcomes().length === 4))
      expect(outcomes()).toEqual(["unknown_session", "released", "repeat", "invalid_request"])
    }),
  )

  const secret = `whsec_${Buffer.from("a secret of twenty-four bytes").toString("base64")}`
  servedTest("may be signed instead", { Security: { WebhookSigningSecret: secret } }, ({ url }) =>
    Effect.gen(function* () {
      yield* post(url + REQUEST)
      const seconds = String(Math.floor(Date.now() / 1000))
      const body = '{ "ConversationSessionId":  "conversation-1" }'
      const send = (sent: string) =>
        call(url + WEBHOOK, {
          method: "POST",
          body: sent,
          headers: {
            "webhook-id": "msg_1",
            "webhook-timestamp": seconds,
            "webhook-signature": sign(secret, "msg_1", seconds, body),
          },
        })
      expect((yield* send(JSON.stringify(JSON.parse(body)))).status).toBe(401)
      expect((yield* send(body)).body).toEqual({ released: true })
    }),
  )

  it.live("a webhook that is refused causes a warning that says what is missing, once a minute", () => {
    const warnings: Array<string> = []
    const logger = Logger.make<unknown, void>(({ logLevel, message }) => {
      if (logLevel === "Warn") warnings.push(String(message))
    })
    return Effect.gen(function* () {
      const { served } = yield* serveGate(shop)
      for (const headers of [{}, { "x-api-token": "wrong" }, {}]) {
        expect((yield* call(served.url + WEBHOOK, { method: "POST", headers, body: "{}" })).status).toBe(401)
      }
      const refused = warnings.filter((warning) => warning.includes("webhook was refused"))
      expect(refused).toEqual([
        expect.stringMatching(
          /refused\. x-api-token: Expected the token of Security\.WebhookApiToken\. If .* up to 5 minutes\.$/,
        ),
      ])
    }).pipe(Effect.scoped, Effect.provide(Logger.layer([logger])))
  })

  it.effect("a webhook that is refused is warned of again after a minute, with the number of those between", () => {
    const warnings: Array<string> = []
    const logger = Logger.make<unknown, void>(({ message }) => void warnings.push(String(message)))
    return Effect.gen(function* () {
      const warn = makeRefusedWebhooks()
      yield* warn("One.")
      yield* TestClock.adjust(LINE_EVERY_MILLIS - 1)
      yield* warn("Two.")
      yield* warn("Three.")
      expect(warnings.length).toBe(1)
      yield* TestClock.adjust(1)
      yield* warn("Four.")
      expect(warnings.length).toBe(2)
      expect(warnings[1]).toMatch(/refused\. Four\. .* 2 more were refused since the last warning\.$/)
    }).pipe(Effect.provide(Logger.layer([logger])))
  })
})
