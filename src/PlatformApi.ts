/**
 * The voice-agent platform as the gate sees it: starts web sessions, reads concurrency and a session's status, with typed
 * failures. A start is never repeated by itself: it may have happened. A read is tried twice.
 *
 * Campaigns of one BaseUrl share a circuit (`platform-api/circuit.ts`): calls fail at once for five seconds, and longer each
 * time, when the platform gives no usable answer to several callers in a row. One caller alone does not open it.
 */
import { Context, Effect, Layer, Schema } from "effect"
import { HttpClient } from "effect/http"
import { CircuitBreaker } from "effect/persistence"
import { type CallKind, malformed } from "./platform-api/answer.ts"
import { makeCircuit } from "./platform-api/circuit.ts"
import { type PlatformError, refused } from "./platform-api/errors.ts"
import { makeNewest, PAGE_LIMIT } from "./platform-api/newest.ts"
import { type Call, exchange } from "./platform-api/transport.ts"
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

/** A session that the platform has started. */
export interface WebSession {
  /** every id by which the platform may name the session later, the web session's first; never empty */
  readonly sessionIds: ReadonlyArray<string>
  readonly webSocketUrl: string
}

/** The account's figures: how many calls may run at once, and how many do. */
export interface Concurrency {
  readonly limit: number
  readonly inUse: number
}

/** What the platform's history says of a session. */
export interface SessionState {
  /** `unknown` where the platform cannot be asked, or does not know the session */
  readonly status: "running" | "over" | "unknown"
  /** every id that the answer names, in no order; may be empty */
  readonly sessionIds: ReadonlyArray<string>
}

export class PlatformApi extends Context.Service<
  PlatformApi,
  {
    /**
     * Starts a web session of a configured campaign (`config.campaign` is its name in the settings). `group` is the coarse
     * group of callers that asks (`gatekeeper/caller-group.ts`): what one group alone provokes is not held against the
     * platform. It is not sent.
     */
    readonly initiate: (config: StartConfig, group: string) => Effect.Effect<WebSession, PlatformError>
    /** The account's figures; needs a key with user management. `Refused` when the key may not, or the platform has no such endpoint. */
    readonly concurrency: (campaign: string) => Effect.Effect<Concurrency, PlatformError>
    /** Whether a session still runs, and by which ids the platform's history names it. */
    readonly sessionStatus: (campaign: string, sessionId: string) => Effect.Effect<SessionState, PlatformError>
    /**
     * The web campaign's sessions of one client identifier that began after `since` (ms since 1970, by this machine's clock), running or
     * over; undefined where the platform cannot be asked, or does not say so.
     */
    readonly sessionsOf: (
      campaign: string,
      clientIdentifier: string,
      since: number,
    ) => Effect.Effect<ReadonlyArray<ReadonlyArray<string>> | undefined, PlatformError>
    /**
     * Harmless reads with the campaign's key, for `check`, the start and the console: what the platform says of the campaign's
     * settings, and what it does not tell.
     */
    readonly verify: (campaign: string) => Effect.Effect<ReadonlyArray<Finding>>
  }
>()("voicegate/PlatformApi") {}

/** Over HTTP. The client is the host's to choose: its proxy, its certificates, its tracing. */
export const layer: Layer.Layer<PlatformApi, never, Settings | HttpClient.HttpClient> = Layer.effect(
  PlatformApi,
  Effect.gen(function* () {
    const settings = yield* Settings
    const client = yield* HttpClient.HttpClient
    const circuit = yield* makeCircuit
    const campaigns = new Map(settings.Campaigns.map((campaign) => [campaign.name, campaign]))

    /** A waiting ticket may outlive its campaign's settings, so an unknown name is a failure and not a defect. */
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
      if (sessionIds.length === 0) return yield* malformed("start", "the platform named no session")
      return { sessionIds, webSocketUrl: data.sessionWebSocketURL } satisfies WebSession
    })

    const concurrency = Effect.fn("PlatformApi.concurrency")(function* (name: string) {
      const campaign = yield* campaignOf(name)
      const read = { kind: "read", method: "GET" } as const
      // One after the other: while the circuit is half open only one call is let through.
      const features = yield* call(campaign, FeaturesData, { ...read, path: "user/billing/featuresactivequantity" })
      const usage = yield* call(campaign, UsageData, { ...read, path: "user/billing/usage" })
      return {
        limit: Math.floor(features.Call_Concurrency),
        inUse: Math.ceil(usage.currentUsage?.Call_Concurrency ?? 0),
      } satisfies Concurrency
    })

    const sessionStatus = Effect.fn("PlatformApi.sessionStatus")(function* (name: string, sessionId: string) {
      const campaign = yield* campaignOf(name)
      const business = encodeURIComponent(campaign.BusinessId)
      const path = `business/${business}/websession/history/${encodeURIComponent(sessionId)}`
      return yield* call(campaign, HistoryData, { kind: "read", method: "POST", path, body: {} }).pipe(
        Effect.map((data): SessionState => ({ status: statusOf(data), sessionIds: historyIdsOf(data) })),
        Effect.catchIf(cannotBeAsked, () => Effect.succeed<SessionState>({ status: "unknown", sessionIds: [] })),
      )
    })

    const newest = makeNewest((campaign, cursor) => {
      const path = `business/${encodeURIComponent(campaign.BusinessId)}/websession/history`
      const body = { limit: PAGE_LIMIT, ...(cursor === undefined ? {} : { nextCursor: cursor }) }
      return call(campaign, HistoryPage, { kind: "read", method: "POST", path, body })
    })

    const sessionsOf = Effect.fn("PlatformApi.sessionsOf")(function* (
      name: string,
      clientIdentifier: string,
      since: number,
    ) {
      const campaign = yield* campaignOf(name)
      const from = since - CLOCK_DIFFERENCE_MILLIS
      const found = yield* Effect.catchIf(newest(campaign, from), cannotTell, () => Effect.undefined)
      return found === undefined ? undefined : sessionsIn(found, campaign.WebCampaignId, clientIdentifier, from)
    })

    const verify = Effect.fn("PlatformApi.verify")((name: string) =>
      Effect.matchEffect(campaignOf(name), {
        onFailure: ({ message }) =>
          Effect.succeed<ReadonlyArray<Finding>>([{ subject: "platform", state: "failed", says: message }]),
        onSuccess: (campaign) => verifyWith(call, campaign),
      }),
    )

    return PlatformApi.of({ initiate, concurrency, sessionStatus, sessionsOf, verify })
  }),
).pipe(Layer.provide(CircuitBreaker.layerStoreMemory()))

const isUnavailable = (error: PlatformError): boolean => error.reason._tag === "Unavailable"

/** By how much the platform's clock may be behind this machine's (ms). */
const CLOCK_DIFFERENCE_MILLIS = 60_000

/** The same, or one whose list this gate does not understand or the key may not read. */
const cannotTell = (error: PlatformError): boolean =>
  cannotBeAsked(error) ||
  (error.reason._tag === "Refused" && error.reason.status === 403) ||
  (error.reason._tag === "Unavailable" && error.reason.reason === "malformed")

/** A platform without the endpoint, or one that has no such session. */
const cannotBeAsked = ({ reason }: PlatformError): boolean =>
  reason._tag === "Refused" && ([404, 405, 501].includes(reason.status) || reason.code.endsWith("SESSION_NOT_FOUND"))

const decode = <A>(kind: CallKind, data: Schema.Decoder<A>, answer: unknown): Effect.Effect<A, PlatformError> =>
  Schema.decodeUnknownEffect(data)(answer).pipe(
    // The details could quote the answer, whose URL holds a token.
    Effect.mapError(() => malformed(kind, "the platform's answer lacks what its documentation promises")),
  )
