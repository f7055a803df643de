/**
 * The endpoints of webhooks. A webhook is authenticated by the bytes of its body before anything of it is decoded, so the handlers read
 * the body themselves; what they answer is encoded by the endpoints' schemas.
 */
import { Effect, identity, Metric, Result } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { NotReleased, UnreadOutcome } from "../../gatekeeper/calls/ReceiveWebhook.ts"
import { Gatekeeper } from "../../gatekeeper/Gatekeeper.ts"
import { webhooks as received } from "../../gatekeeper/metrics.ts"
import { sessionIdsOf, verifyWebhook } from "../../platform-api/iqra/webhooks.ts"
import { hasDefaultPlatform } from "../../platform-api/vendors.ts"
import { problems } from "../../protocol/problems.ts"
import { header } from "../../serving/repeated-headers.ts"
import { currentSettings } from "../../settings/current.ts"
import { Store } from "../../store/Store.ts"
import { timeOfDay } from "../../store/time-of-day.ts"
import { Routed } from "../Api.ts"
import { type Answer, MAX_WEBHOOK_BYTES, refusals, refused, unread } from "../answers/answer.ts"
import { toProblem } from "../answers/failures.ts"
import { answered, refuse, respond } from "../answers/respond.ts"
import { headersOf, incoming, isForwarded, parseJson, readBody } from "../incoming/body.ts"
import { currentAddressOf } from "../incoming/client-address.ts"
import { makeWebhookLimits } from "./limits.ts"
import { makeRefusedWebhooks } from "./refused.ts"

/** @param outcome that it has freed a slot, or why it has not: the outcome in the log and in traces */
const ended = (outcome: "released" | NotReleased) => answered(outcome, { released: outcome === "released" })

export const webhooks = HttpApiBuilder.group(
  Routed,
  "Webhooks",
  Effect.fnUntraced(function* (handlers) {
    const gatekeeper = yield* Gatekeeper
    const settings = yield* currentSettings
    const store = yield* Store
    const addressOf = yield* currentAddressOf
    const limits = yield* makeWebhookLimits
    const warnOfRefused = makeRefusedWebhooks()

    const notAccepted = Effect.fnUntraced(function* (
      address: string,
      outcome: UnreadOutcome,
      finish: (answer: Answer) => Answer = identity,
    ) {
      if (outcome._tag === "unexpected") return yield* respond(finish(refusals.notFound))
      limits.countRefused(address)
      yield* warnOfRefused(outcome.reason)
      return yield* respond(finish(refused(problems.webhookUnauthorized.make(outcome.reason))))
    })
    const malformed = Metric.update(received("malformed"), 1)

    return handlers
      .handleRaw("sessionEnded", () =>
        Effect.gen(function* () {
          const request = yield* incoming
          const { Security, ...tree } = settings()
          const apiToken = header(request, "x-api-token")
          const byToken = apiToken !== undefined && Security.WebhookApiToken.length > 0
          const rawBody = yield* Effect.result(readBody(request, !byToken && Security.WebhookSigningSecret.length > 0))
          if (Result.isFailure(rawBody)) return yield* respond(rawBody.failure)
          const refusal = verifyWebhook(
            Security,
            {
              apiToken,
              webhookId: header(request, "webhook-id"),
              webhookTimestamp: header(request, "webhook-timestamp"),
              webhookSignature: header(request, "webhook-signature"),
              rawBody: rawBody.success,
              socketAddress: request.socket.remoteAddress,
              forwarded: isForwarded(request),
            },
            // a signature has the time of day
            yield* timeOfDay(store),
            hasDefaultPlatform(tree),
          )
          if (refusal !== undefined) {
            yield* warnOfRefused(refusal)
            return yield* refuse(problems.webhookUnauthorized.make(refusal))
          }
          const body = parseJson(rawBody.success)
          if (Result.isFailure(body)) {
            yield* malformed
            return yield* respond(body.failure)
          }
          const ids = sessionIdsOf(body.success)
          if (ids === undefined) {
            yield* malformed
            const errors = [{ field: "ConversationSessionId", message: "Expected a session id" }]
            const detail = "ConversationSessionId: Expected a session id."
            return yield* refuse(problems.invalidWebhook.make("invalid_request", detail, { errors }, {}))
          }
          return yield* Effect.matchEffect(gatekeeper.endReported(ids), {
            onFailure: (error) => refuse(toProblem(error)),
            onSuccess: ended,
          })
        }),
      )
      .handleRaw("vendor", ({ params: { platform } }) =>
        Effect.gen(function* () {
          const request = yield* incoming
          const address = addressOf(request) ?? ""
          const limited = limits.refusal(address)
          if (limited !== undefined) return yield* respond(limited)
          const headers = headersOf(request)
          const byHeaders = yield* gatekeeper.vendorWebhookRefusal(platform, headers)
          if (byHeaders !== undefined) return yield* notAccepted(address, byHeaders, unread)
          const read = readBody(request, true, MAX_WEBHOOK_BYTES)
          const rawBody = yield* Effect.result(limits.reading(address, request, read))
          if (Result.isFailure(rawBody)) return yield* respond(rawBody.failure)
          const outcome = yield* Effect.catch(
            gatekeeper.vendorWebhook(platform, { headers, rawBody: rawBody.success }),
            (error) => refuse(toProblem(error)),
          )
          if (outcome._tag !== "accepted") return yield* notAccepted(address, outcome)
          if (!outcome.released) return yield* ended(outcome.because)
          limits.countProven(address)
          return yield* ended("released")
        }),
      )
  }),
)
