/** The gate's operations over HTTP: each takes what it needs of a request and answers with a value. Nothing fails. */
import type { IncomingMessage } from "node:http"
import { Clock, Context, Duration, Effect, Layer, Predicate, Result } from "effect"
import { Gatekeeper } from "../Gatekeeper.ts"
import type { Started } from "../Session.ts"
import { Settings } from "../Settings.ts"
import { Store } from "../Store.ts"
import type { Answer } from "./answer.ts"
import * as answers from "./answer.ts"
import { askLimit } from "./ask-limit.ts"
import { header, isForwarded, parseJson, readBody } from "./incoming.ts"
import { problems } from "./problems.ts"
import { sessionIdsOf, verifyWebhook } from "./webhook.ts"

export class Routes extends Context.Service<
  Routes,
  {
    /** A session request's body, from the caller with this address. */
    readonly request: (body: string, address: string) => Effect.Effect<Answer>
    /** Takes back the ticket of an answer that could not be given. */
    readonly withdraw: (ticket: string, address: string) => Effect.Effect<void>
    readonly status: (ticket: string) => Effect.Effect<Answer>
    readonly start: (ticket: string) => Effect.Effect<Answer>
    readonly leave: (ticket: string) => Effect.Effect<Answer>
    readonly sessionEnded: (request: IncomingMessage) => Effect.Effect<Answer>
    readonly live: Effect.Effect<Answer>
    readonly ready: Effect.Effect<Answer>
    /** Makes `ready` say no, before the server stops. */
    readonly drain: Effect.Effect<void>
  }
>()("voicegate/http/Routes") {}

const PING_EVERY_NANOS = 1_000_000_000n

/**
 * The ticket that a request names, null and undefined for none. Such a request asks for its state, and keeps its place, before
 * any limit is looked at.
 */
const namedTicket = (body: unknown): unknown =>
  Predicate.hasProperty(body, "uniqueRequestId") ? body.uniqueRequestId : undefined

/** `basePath` is where a host has mounted the gate; empty when it stands alone. */
export const layer = (basePath: string): Layer.Layer<Routes, never, Gatekeeper | Settings | Store> =>
  Layer.effect(
    Routes,
    Effect.gen(function* () {
      const gatekeeper = yield* Gatekeeper
      const { Security } = yield* Settings
      const store = yield* Store
      const clock = yield* Clock.Clock
      const rejoins = yield* askLimit(Security.StatusPerMinute)
      let draining = false
      const [lastPing, forgetPing] = yield* Effect.cachedInvalidateWithTTL(
        Effect.match(store.ping, { onFailure: () => false, onSuccess: () => true }),
        Duration.infinity,
      )
      /** when the store was pinged last, on the clock that nobody sets (ns) */
      let pingedAt: bigint | undefined
      /** Whether the store takes writes; it is asked once a second at most, however many ask here. */
      const stored = Effect.suspend(() => {
        const now = clock.monotonicTimeNanosUnsafe()
        if (pingedAt !== undefined && now - pingedAt < PING_EVERY_NANOS) return lastPing
        pingedAt = now
        return Effect.andThen(forgetPing, lastPing)
      })

      const failed = (error: Parameters<typeof answers.failed>[0]): Effect.Effect<Answer> =>
        Effect.succeed(answers.failed(error, basePath))
      const requested = {
        onFailure: failed,
        onSuccess: (session: Started): Effect.Effect<Answer> => Effect.succeed(answers.started(session)),
      }

      return Routes.of({
        request: (text, address) => {
          const body = parseJson(text)
          if (Result.isFailure(body)) return Effect.succeed(body.failure)
          const named = namedTicket(body.success)
          const asked = Effect.matchEffect(gatekeeper.request(body.success, { address }), requested)
          if (named === undefined || named === null) return asked
          const seconds = rejoins.ask(address, clock.currentTimeMillisUnsafe())
          if (seconds > 0) return Effect.succeed(answers.askedTooOften(seconds))
          return Effect.map(asked, (answer) => {
            const { newTicket, ...known } = answer
            return newTicket === named ? known : answer
          })
        },
        withdraw: (ticket, address) => gatekeeper.withdraw(ticket, { address }),
        status: (ticket) =>
          Effect.matchEffect(gatekeeper.status(ticket), {
            onFailure: failed,
            onSuccess: (status) => Effect.succeed(answers.json(200, status, status.state)),
          }),
        start: (ticket) => Effect.matchEffect(gatekeeper.start(ticket), requested),
        leave: (ticket) =>
          Effect.matchEffect(gatekeeper.leave(ticket), {
            onFailure: failed,
            onSuccess: () => Effect.succeed(answers.noContent("left")),
          }),
        sessionEnded: (request) =>
          Effect.gen(function* () {
            const apiToken = header(request, "x-api-token")
            const byToken = apiToken !== undefined && Security.WebhookApiToken.length > 0
            const rawBody = yield* readBody(request, !byToken && Security.WebhookSigningSecret.length > 0)
            const refusal = verifyWebhook(
              Security,
              {
                apiToken,
                webhookId: header(request, "webhook-id"),
                webhookTimestamp: header(request, "webhook-timestamp"),
                webhookSignature: header(request, "webhook-signature"),
                rawBody,
                socketAddress: request.socket.remoteAddress,
                forwarded: isForwarded(request),
              },
              yield* store.now,
            )
            if (refusal !== undefined) return answers.refused(problems.webhookUnauthorized.tell(refusal))
            const body = yield* Effect.fromResult(parseJson(rawBody))
            const ids = sessionIdsOf(body)
            if (ids === undefined) {
              const errors = [{ field: "ConversationSessionId", message: "Expected a session id" }]
              const detail = "ConversationSessionId: Expected a session id."
              return answers.refused(problems.invalidWebhook.tell("invalid_request", detail, { errors }, {}))
            }
            const released = yield* Effect.mapError(gatekeeper.sessionEnded(ids), (error) =>
              answers.failed(error, basePath),
            )
            return answers.json(200, { released }, released ? "released" : "not_released")
          }).pipe(Effect.catch((answer) => Effect.succeed(answer))),
        live: Effect.succeed(answers.json(200, { status: "ok" }, "ok")),
        ready: Effect.gen(function* () {
          const notReady = (detail: string): Answer =>
            answers.refused(problems.notReady.tell("not_ready", detail, {}, { "retry-after": "1" }))
          if (draining) return notReady("The gate is shutting down.")
          if (!(yield* stored)) return notReady("The store cannot be reached, or takes no writes.")
          const unserved = yield* gatekeeper.queueProblem
          if (unserved !== undefined) return notReady(unserved)
          const unknown = yield* gatekeeper.capacityProblem
          if (unknown !== undefined) return notReady(unknown)
          return answers.json(200, { status: "ready" }, "ready")
        }),
        drain: Effect.sync(() => {
          draining = true
        }),
      })
    }),
  )
