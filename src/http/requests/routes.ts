/** The gate's operations over HTTP. Each returns an answer; none fails. */
import type { IncomingMessage } from "node:http"
import { Context, Effect, Layer, Metric, Option, Predicate, Result, Schema } from "effect"
import { makeCampaigns } from "../../gatekeeper/Campaigns.ts"
import { campaignOf } from "../../gatekeeper/checks/Validate.ts"
import { Gatekeeper } from "../../gatekeeper/Gatekeeper.ts"
import { webhooks } from "../../gatekeeper/metrics.ts"
import { cachedFor } from "../../lib/cached-for.ts"
import { isoTime, type SilenceAnswer, SilenceReport } from "../../protocol/Session.ts"
import { header } from "../../serving/repeated-headers.ts"
import { currentSettings, derived } from "../../settings/current.ts"
import type { Settings } from "../../settings/Settings.ts"
import { hasDefaultPlatform } from "../../settings/vendors.ts"
import { Store } from "../../store/Store.ts"
import type { Answer } from "../answers/answer.ts"
import * as answers from "../answers/answer.ts"
import { problems } from "../answers/problems.ts"
import { bearerOf, headersOf, isForwarded, isJson, isSdp, parseJson, readBody } from "../incoming/body.ts"
import { currentAddressOf } from "../incoming/client-address.ts"
import { makeWebhookLimits } from "../webhooks/limits.ts"
import { makeRefusedWebhooks } from "../webhooks/refused.ts"
import { sessionIdsOf, verifyWebhook } from "../webhooks/verify.ts"
import { TicketLimits } from "./ticket-limits.ts"

export class Routes extends Context.Service<
  Routes,
  {
    /** Handles the body of a session request from this address. */
    readonly request: (body: string, address: string) => Effect.Effect<Answer>
    /** Withdraws the ticket of an answer that could not be delivered. */
    readonly withdraw: (ticket: string, address: string) => Effect.Effect<void>
    /** `hidden`: the page of the ticket is hidden. */
    readonly status: (ticket: string, hidden: boolean) => Effect.Effect<Answer>
    readonly start: (ticket: string) => Effect.Effect<Answer>
    /** Handles a page's SDP offer. A call whose answer does not reach the page is ended. */
    readonly relay: (ticket: string, request: IncomingMessage) => Effect.Effect<Answer>
    /** Handles a page's report of how long nobody has spoken in its call. */
    readonly silence: (ticket: string, request: IncomingMessage) => Effect.Effect<Answer>
    readonly leave: (ticket: string) => Effect.Effect<Answer>
    readonly sessionEnded: (request: IncomingMessage) => Effect.Effect<Answer>
    readonly vendorWebhook: (platform: string, request: IncomingMessage) => Effect.Effect<Answer>
    readonly live: Effect.Effect<Answer>
    readonly ready: Effect.Effect<Answer>
    /** Why the gate is not ready; undefined if it is. */
    readonly notReady: Effect.Effect<string | undefined>
    /** Turns `ready` false before the server stops. */
    readonly drain: Effect.Effect<void>
  }
>()("voicegate/http/Routes") {}

const decodeReport = Schema.decodeUnknownOption(SilenceReport)

/** How an SDP begins (RFC 8866 §5). */
const SDP = /^v=0\r?\n/

const PING_EVERY_MILLIS = 1_000

/**
 * The ticket that a request names; null or undefined if none. Such a request returns the ticket's state and counts as presence
 * without taking quota, so it has a limit of its own (`Security.StatusPerMinute`).
 */
const namedTicket = (body: unknown): unknown =>
  Predicate.hasProperty(body, "uniqueRequestId") ? body.uniqueRequestId : undefined

/** `basePath` is where a host has mounted the gate; empty for the gate's own server. */
export const layer = (basePath: string): Layer.Layer<Routes, never, Gatekeeper | Settings | Store | TicketLimits> =>
  Layer.effect(
    Routes,
    Effect.gen(function* () {
      const gatekeeper = yield* Gatekeeper
      const settings = yield* currentSettings
      const store = yield* Store
      const limits = yield* TicketLimits
      const addressOf = yield* currentAddressOf
      const webhookLimits = yield* makeWebhookLimits
      const warnOfRefusedWebhook = makeRefusedWebhooks()
      let draining = false
      /** Whether the store accepts writes; cached for a second, so that readiness probes do not add up. */
      const isStoreReady = yield* cachedFor(
        Effect.match(store.ping, { onFailure: () => false, onSuccess: () => true }),
        PING_EVERY_MILLIS,
      )

      const notReady = Effect.gen(function* () {
        if (draining) return "The gate is shutting down."
        if (!(yield* isStoreReady)) return "The store cannot be reached or does not accept writes."
        return (yield* gatekeeper.queueProblem) ?? (yield* gatekeeper.capacityProblem)
      })

      const failed = (error: Parameters<typeof answers.failed>[0]): Answer => answers.failed(error, basePath)
      const campaigns = derived(settings, makeCampaigns)
      const toAnswer = { onFailure: failed, onSuccess: answers.started }

      return Routes.of({
        request: (text, address) => {
          const body = parseJson(text)
          if (Result.isFailure(body)) return Effect.succeed(body.failure)
          const named = namedTicket(body.success)
          const answer = Effect.match(gatekeeper.request(body.success, { address }), {
            onSuccess: answers.started,
            onFailure: (error): Answer => {
              const answer = failed(error)
              return answer.ticket === undefined
                ? { ...answer, campaign: campaignOf(campaigns(), body.success)?.name }
                : answer
            },
          })
          if (named === undefined || named === null) return answer
          const ticket = typeof named === "string" ? named : ""
          const refusal = limits.use(ticket, "rejoin", address)
          if (refusal !== undefined) return Effect.succeed(refusal)
          return Effect.map(answer, (answer) => {
            const { newTicket, ...known } = answer
            const exists = (newTicket ?? answer.startedTicket) === named
            limits.answered(ticket, address, exists ? true : undefined)
            return exists ? known : answer
          })
        },
        withdraw: (ticket, address) => gatekeeper.withdraw(ticket, { address }),
        status: (ticket, hidden) =>
          Effect.match(gatekeeper.status(ticket, hidden), {
            onFailure: failed,
            onSuccess: (status) => answers.json(200, status, status.state),
          }),
        start: (ticket) => Effect.match(gatekeeper.start(ticket), toAnswer),
        relay: (ticket, request) =>
          Effect.gen(function* () {
            if (!isSdp(request)) return answers.refusals.notSdp
            const offer = yield* readBody(request, true)
            if (!SDP.test(offer)) return answers.refusals.noOffer
            const relayed = gatekeeper.relay(ticket, bearerOf(request), offer).pipe(
              Effect.mapError(failed),
              // without the answer the page will never connect
              Effect.tap(() =>
                request.socket?.writable === false ? Effect.ignore(gatekeeper.leave(ticket)) : Effect.void,
              ),
              Effect.map(answers.relayed),
            )
            // a page that disconnects must not interrupt its start
            return yield* Effect.uninterruptible(relayed)
          }).pipe(Effect.catch((answer) => Effect.succeed(answer))),
        silence: (ticket, request) =>
          Effect.gen(function* () {
            if (!isJson(request)) return answers.refusals.mediaType
            const report = decodeReport(yield* Effect.fromResult(parseJson(yield* readBody(request))))
            if (Option.isNone(report)) return answers.refusals.noSilence
            const endsAt = yield* Effect.mapError(gatekeeper.silence(ticket, report.value.seconds * 1000), failed)
            const answer: SilenceAnswer = { endsAt: endsAt === undefined ? null : isoTime(endsAt) }
            return answers.json(200, answer, endsAt === undefined ? "speech" : "silent")
          }).pipe(Effect.catch((answer) => Effect.succeed(answer))),
        leave: (ticket) =>
          Effect.match(gatekeeper.leave(ticket), {
            onFailure: failed,
            onSuccess: () => answers.noContent("left"),
          }),
        sessionEnded: (request) =>
          Effect.gen(function* () {
            const { Security, ...tree } = settings()
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
              // a signature has the time of day
              (yield* store.now) + (store.aheadMillis?.() ?? 0),
              hasDefaultPlatform(tree),
            )
            if (refusal !== undefined) {
              yield* warnOfRefusedWebhook(refusal)
              return answers.refused(problems.webhookUnauthorized.make(refusal))
            }
            const body = yield* Effect.tapError(Effect.fromResult(parseJson(rawBody)), () =>
              Metric.update(webhooks("malformed"), 1),
            )
            const ids = sessionIdsOf(body)
            if (ids === undefined) {
              yield* Metric.update(webhooks("malformed"), 1)
              const errors = [{ field: "ConversationSessionId", message: "Expected a session id" }]
              const detail = "ConversationSessionId: Expected a session id."
              return answers.refused(problems.invalidWebhook.make("invalid_request", detail, { errors }, {}))
            }
            const released = yield* Effect.mapError(gatekeeper.sessionEnded(ids), (error) =>
              answers.failed(error, basePath),
            )
            return answers.json(200, { released }, released ? "released" : "not_released")
          }).pipe(Effect.catch((answer) => Effect.succeed(answer))),
        vendorWebhook: (platform, request) =>
          Effect.gen(function* () {
            const address = addressOf(request) ?? ""
            const limited = webhookLimits.refusal(address)
            if (limited !== undefined) return limited
            const headers = headersOf(request)
            const refusal = yield* gatekeeper.vendorWebhookRefusal(platform, headers)
            const outcome =
              refusal ??
              (yield* Effect.mapError(
                gatekeeper.vendorWebhook(platform, {
                  headers,
                  rawBody: yield* webhookLimits.reading(
                    address,
                    request,
                    readBody(request, true, answers.MAX_WEBHOOK_BYTES),
                  ),
                }),
                failed,
              ))
            const refused = (answer: Answer): Answer => (refusal === undefined ? answer : answers.unread(answer))
            switch (outcome._tag) {
              case "accepted": {
                const { released } = outcome
                if (released) webhookLimits.countProven(address)
                return answers.json(200, { released }, released ? "released" : "not_released")
              }
              case "refused":
                webhookLimits.countRefused(address)
                yield* warnOfRefusedWebhook(outcome.reason)
                return refused(answers.refused(problems.webhookUnauthorized.make(outcome.reason)))
              case "unexpected":
                return refused(answers.refusals.notFound)
            }
          }).pipe(Effect.catch((answer) => Effect.succeed(answer))),
        live: Effect.succeed(answers.json(200, { status: "ok" }, "ok")),
        ready: Effect.gen(function* () {
          const problem = yield* notReady
          if (problem !== undefined) {
            return answers.refused(problems.notReady.make("not_ready", problem, {}, { "retry-after": "1" }))
          }
          const platforms = yield* gatekeeper.platformStates
          const troubled = Object.keys(platforms).length > 0
          return answers.json(200, { status: "ready", ...(troubled ? { platforms } : {}) }, "ready")
        }),
        notReady,
        drain: Effect.sync(() => {
          draining = true
        }),
      })
    }),
  )
