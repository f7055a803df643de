/**
 * The client of the voice-agent platform: starts web sessions, reads concurrency and a session's status, with typed failures.
 * A start is never retried, because it may have been carried out. A read is tried twice.
 *
 * Campaigns with the same BaseUrl share a circuit breaker (`platform-api/circuit.ts`). It opens when the platform gives no
 * usable answer to several callers in a row, for five seconds at first and longer each time. One caller alone cannot open it.
 */
import { Context, Effect, Layer, Schema } from "effect"
import { HttpClient } from "effect/http"
import { CircuitBreaker } from "effect/persistence"
import { platformRequests, recorded } from "./durations.ts"
import { type CallKind, malformed } from "./platform-api/answer.ts"
import { makeCircuit } from "./platform-api/circuit.ts"
import { type PlatformError, refused } from "./platform-api/errors.ts"
import { makeRecentSessions, PAGE_LIMIT } from "./platform-api/recent-sessions.ts"
import { type Call, exchange } from "./platform-api/transport.ts"
import { closeUnopened } from "./platform-api/unopened.ts"
import { type Finding, verifyWith } from "./platform-api/verify.ts"
import {
  FeaturesData,
  HistoryData,
  HistoryPage,
  historyIdsOf,
  StartData,
  sessionIdsOf,
  sessionsIn,
  startBody,
  statusOf,
  UsageData,
} from "./platform-api/wire.ts"
import type { StartConfig } from "./Session.ts"
import { type Campaign, Settings } from "./Settings.ts"
import { inSpan } from "./spans.ts"

export { CIRCUIT_FAILURES, CIRCUIT_OPEN_MILLIS } from "./platform-api/circuit.ts"
export {
  AtCapacity,
  KeyRateLimited,
  PlatformError,
  Refused,
  RequestRefused,
  Unavailable,
} from "./platform-api/errors.ts"
export { READ_TIMEOUT_MILLIS, START_TIMEOUT_MILLIS } from "./platform-api/transport.ts"
export type { Finding } from "./platform-api/verify.ts"
export type { StartConfig } from "./Session.ts"

/** A session that the platform started. */
export interface WebSession {
  /** every id that the platform may use for the session later, the web session's first; never empty */
  readonly sessionIds: ReadonlyArray<string>
  readonly webSocketUrl: string
}

/** The account's limit of concurrent calls, and how many run now. */
export interface Concurrency {
  readonly limit: number
  readonly inUse: number
}

/** The state of a session according to the platform's history. */
export interface SessionState {
  /** `unknown` when the platform has no such endpoint or does not know the session */
  readonly status: "running" | "over" | "unknown"
  /** every id in the answer, in no order; may be empty */
  readonly sessionIds: ReadonlyArray<string>
}

export class PlatformApi extends Context.Service<
  PlatformApi,
  {
    /**
     * Starts a web session of a configured campaign (`config.campaign` is its name in the settings). `group` is the caller's
     * coarse group (`gatekeeper/caller-group.ts`): failures of one group alone do not open the circuit. It is not sent.
     */
    readonly initiate: (config: StartConfig, group: string) => Effect.Effect<WebSession, PlatformError>
    /**
     * The account's concurrency. Fails with `Refused` when the key has no user management or the platform has no such endpoint.
     */
    readonly concurrency: (campaign: string) => Effect.Effect<Concurrency, PlatformError>
    /** Whether a session still runs, and its ids in the platform's history. */
    readonly sessionStatus: (campaign: string, sessionId: string) => Effect.Effect<SessionState, PlatformError>
    /**
     * The ids of each session of one client identifier in the web campaign that began after `since` (ms since 1970, by this
     * machine's clock), running or ended; undefined when the platform has no usable history.
     */
    readonly sessionsOf: (
      campaign: string,
      clientIdentifier: string,
      since: number,
    ) => Effect.Effect<ReadonlyArray<ReadonlyArray<string>> | undefined, PlatformError>
    /**
     * Ends a session whose caller has left, or one that nobody has opened. True if it is over now; false if the platform cannot end it.
     * Idempotent. A platform without it reports the ends of its sessions alone.
     */
    readonly end?: ((campaign: string, session: WebSession) => Effect.Effect<boolean, PlatformError>) | undefined
    /**
     * Checks the campaign's settings with harmless reads, for `check`, the start and the console. What the platform does not
     * reveal is reported as not checked.
     */
    readonly verify: (campaign: string) => Effect.Effect<ReadonlyArray<Finding>>
  }
>()("voicegate/PlatformApi") {}

/** The platform over HTTP. The host chooses the client, with its proxy, certificates and tracing. */
export const layer: Layer.Layer<PlatformApi, never, Settings | HttpClient.HttpClient> = Layer.effect(
  PlatformApi,
  Effect.gen(function* () {
    const settings = yield* Settings
    const client = yield* HttpClient.HttpClient
    const circuit = yield* makeCircuit
    const campaigns = new Map(settings.Campaigns.map((campaign) => [campaign.name, campaign]))

    /** A waiting ticket may outlive its campaign in the settings, so an unknown name is a failure and not a defect. */
    const campaignOf = (name: string): Effect.Effect<Campaign, PlatformError> => {
      const campaign = campaigns.get(name)
      return campaign === undefined
        ? Effect.fail(refused(404, "UNKNOWN_CAMPAIGN", "the settings have no such campaign"))
        : Effect.succeed(campaign)
    }

    const call = <A>(
      campaign: Campaign,
      data: Schema.Decoder<A>,
      request: Call,
      group?: string,
    ): Effect.Effect<A, PlatformError> => {
      const once = exchange(client, campaign, request).pipe(
        recorded(platformRequests[request.kind]),
        inSpan("PlatformApi.request", {
          attributes: { "voicegate.campaign": campaign.name, "voicegate.kind": request.kind },
        }),
        Effect.flatMap((answer) => decode(request.kind, data, answer)),
      )
      const attempts = request.kind === "read" ? Effect.retry(once, { times: 1, while: isUnavailable }) : once
      return circuit(campaign.BaseUrl, group, attempts)
    }

    const initiate = Effect.fnUntraced(function* (config: StartConfig, group: string) {
      const campaign = yield* campaignOf(config.campaign)
      const start: Call = {
        kind: "start",
        method: "POST",
        path: `business/${encodeURIComponent(campaign.BusinessId)}/websession/initiate`,
        body: startBody(campaign.WebCampaignId, config),
      }
      const data = yield* call(campaign, StartData, start, group)
      const sessionIds = sessionIdsOf(data)
      if (sessionIds.length === 0) return yield* malformed("start", "the platform's answer has no session id")
      return { sessionIds, webSocketUrl: data.sessionWebSocketURL } satisfies WebSession
    })

    const concurrency = Effect.fnUntraced(function* (name: string) {
      const campaign = yield* campaignOf(name)
      const read = { kind: "read", method: "GET" } as const
      // Sequential: a half-open circuit lets only one call through.
      const features = yield* call(campaign, FeaturesData, { ...read, path: "user/billing/featuresactivequantity" })
      const usage = yield* call(campaign, UsageData, { ...read, path: "user/billing/usage" })
      return {
        limit: Math.floor(features.Call_Concurrency),
        inUse: Math.ceil(usage.currentUsage?.Call_Concurrency ?? 0),
      } satisfies Concurrency
    })

    const sessionStatus = Effect.fnUntraced(function* (name: string, sessionId: string) {
      const campaign = yield* campaignOf(name)
      const business = encodeURIComponent(campaign.BusinessId)
      const history = `business/${business}/websession/history`
      const read: Call = {
        kind: "read",
        method: "POST",
        path: `${history}/${encodeURIComponent(sessionId)}`,
        shownPath: `${history}/:id`,
        body: {},
      }
      return yield* call(campaign, HistoryData, read).pipe(
        Effect.map((data): SessionState => ({ status: statusOf(data), sessionIds: historyIdsOf(data) })),
        Effect.catchIf(cannotBeAsked, () => Effect.succeed<SessionState>({ status: "unknown", sessionIds: [] })),
      )
    })

    const recentSessions = makeRecentSessions((campaign, cursor) => {
      const path = `business/${encodeURIComponent(campaign.BusinessId)}/websession/history`
      const body = { limit: PAGE_LIMIT, ...(cursor === undefined ? {} : { nextCursor: cursor }) }
      return call(campaign, HistoryPage, { kind: "read", method: "POST", path, body })
    })

    const sessionsOf = Effect.fnUntraced(function* (name: string, clientIdentifier: string, since: number) {
      const campaign = yield* campaignOf(name)
      const from = since - CLOCK_DIFFERENCE_MILLIS
      const found = yield* Effect.catchIf(recentSessions(campaign, from), cannotList, () => Effect.undefined)
      return found === undefined ? undefined : sessionsIn(found, campaign.WebCampaignId, clientIdentifier, from)
    })

    const end = Effect.fnUntraced(function* (name: string, { sessionIds, webSocketUrl }: WebSession) {
      const campaign = yield* campaignOf(name)
      const business = encodeURIComponent(campaign.BusinessId)
      const path = `business/${business}/websession/${encodeURIComponent(sessionIds[0] ?? "")}/end`
      // Repeated like a read, because a session can be ended again.
      const known = yield* call(campaign, Schema.Unknown, { kind: "read", method: "POST", path, body: {} }).pipe(
        Effect.as(true),
        Effect.catchIf(cannotBeAsked, () => Effect.succeed(false)),
      )
      return known || (yield* closeUnopened(webSocketUrl))
    })

    const verify = (name: string) =>
      Effect.matchEffect(campaignOf(name), {
        onFailure: ({ message }) =>
          Effect.succeed<ReadonlyArray<Finding>>([{ subject: "platform", state: "failed", detail: message }]),
        onSuccess: (campaign) => verifyWith(call, campaign),
      })

    return PlatformApi.of({ initiate, concurrency, sessionStatus, sessionsOf, end, verify })
  }),
).pipe(Layer.provide(CircuitBreaker.layerStoreMemory()))

const isUnavailable = (error: PlatformError): boolean => error.reason._tag === "Unavailable"

/** How far the platform's clock may be behind this machine's (ms). */
const CLOCK_DIFFERENCE_MILLIS = 60_000

/** The same, or a list that has an unknown format or that the key may not read. */
const cannotList = (error: PlatformError): boolean =>
  cannotBeAsked(error) ||
  (error.reason._tag === "Refused" && error.reason.status === 403) ||
  (error.reason._tag === "Unavailable" && error.reason.reason === "malformed")

/** The platform has no such endpoint, or no such session. */
const cannotBeAsked = ({ reason }: PlatformError): boolean =>
  reason._tag === "Refused" && ([404, 405, 501].includes(reason.status) || reason.code.endsWith("SESSION_NOT_FOUND"))

const decode = <A>(kind: CallKind, data: Schema.Decoder<A>, answer: unknown): Effect.Effect<A, PlatformError> =>
  Schema.decodeUnknownEffect(data)(answer).pipe(
    // The details could quote the answer, whose URL contains a token.
    Effect.mapError(() => malformed(kind, "the platform's answer does not match its documentation")),
  )
