/** `POST /api/webhook/session-ended` over a real server. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { MAX_BODY_BYTES } from "../../src/http/answer.ts"
import { sign } from "../../src/http/webhook.ts"
import { call, post, servedTest } from "../support/gate-server.ts"
import { REQUEST, shop, token, WEBHOOK } from "./support.ts"

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
      const large = yield* call(url + WEBHOOK, { method: "POST", headers: token, body: "x".repeat(MAX_BODY_BYTES + 1) })
      expect([large.status, large.body.code]).toEqual([413, "body_too_large"])
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
})
