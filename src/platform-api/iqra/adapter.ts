/**
 * The default platform: IqraAI's REST API, in all versions that are known. A session is opened with its WebSocket URL. Its end is
 * reported to `/api/webhook/session-ended` (`webhooks.ts`).
 */

import { DateTime, Effect, Redacted, Schema } from "effect"
import type { StartConfig } from "../../protocol/request.ts"
import type { Adapter, AdapterContext } from "../adapter.ts"
import type { PlatformError } from "../errors.ts"
import type { Concurrency, SessionState, WebSession } from "../model.ts"
import { malformed } from "../requests/answer.ts"
import type { Call, Endpoint } from "../requests/transport.ts"
import { CLOCK_DIFFERENCE_MILLIS, makeRecentCalls, PAGE_LIMIT } from "../shared/recent-calls.ts"
import { chosenIn } from "../shared/vendor.ts"
import { readAnswer } from "./answer.ts"
import { checkWith } from "./check.ts"
import { closeUnopened } from "./unopened.ts"
import {
  FeaturesData,
  HistoryData,
  HistoryPage,
  historyIdsOf,
  openedOf,
  StartData,
  sessionIdsOf,
  sessionsIn,
  startBody,
  statusOf,
  UsageData,
} from "./wire.ts"

/** The platform does not know the session. */
const isUnknownSession = ({ reason }: PlatformError): boolean =>
  reason._tag === "Refused" && reason.code.endsWith("SESSION_NOT_FOUND")

/** The platform has no such endpoint, or no such session. */
const cannotBeAsked = (error: PlatformError): boolean =>
  isUnknownSession(error) || (error.reason._tag === "Refused" && [404, 405, 501].includes(error.reason.status))

/** The same, or a list that has an unknown format or that the key may not read. */
const cannotList = (error: PlatformError): boolean =>
  cannotBeAsked(error) ||
  (error.reason._tag === "Refused" && error.reason.status === 403) ||
  (error.reason._tag === "Unavailable" && error.reason.reason === "malformed")

export const iqra = ({ campaign, send }: AdapterContext): Adapter => {
  const secret = Redacted.value(campaign.ApiSecretToken)
  const endpoint: Endpoint = {
    campaign: campaign.name,
    baseUrl: campaign.BaseUrl,
    authorise: () => Effect.succeed({ authorization: `Token ${secret}` }),
    read: ({ fromCaller, kind }, answered) => readAnswer(kind, answered, secret, fromCaller),
  }
  const call = <A>(data: Schema.Decoder<A>, request: Call, group?: string) => send(endpoint, data, request, group)
  const business = encodeURIComponent(campaign.BusinessId)
  const history = `business/${business}/websession/history`

  const mint = Effect.fnUntraced(function* (config: StartConfig, group: string) {
    const start: Call = {
      kind: "start",
      method: "POST",
      path: `business/${business}/websession/initiate`,
      body: startBody(campaign.WebCampaignId, config),
      fromCaller: chosenIn(config),
    }
    const data = yield* call(StartData, start, group)
    const sessionIds = sessionIdsOf(data)
    if (sessionIds.length === 0) return yield* malformed("start", "the platform's answer has no session id")
    return { sessionIds, webSocketUrl: data.sessionWebSocketURL } satisfies WebSession
  })

  const capacity = Effect.gen(function* () {
    const read = { kind: "read", method: "GET" } as const
    // Sequential: a half-open circuit lets only one call through.
    const features = yield* call(FeaturesData, { ...read, path: "user/billing/featuresactivequantity" })
    const usage = yield* call(UsageData, { ...read, path: "user/billing/usage" })
    return {
      limit: Math.floor(features.Call_Concurrency),
      inUse: Math.ceil(usage.currentUsage?.Call_Concurrency ?? 0),
    } satisfies Concurrency
  })

  const status = (sessionId: string) => {
    const read: Call = {
      kind: "read",
      method: "POST",
      path: `${history}/${encodeURIComponent(sessionId)}`,
      shownPath: `${history}/:id`,
      body: {},
    }
    return call(HistoryData, read).pipe(
      Effect.map(
        (data): SessionState => ({
          status: statusOf(data),
          sessionIds: historyIdsOf(data),
          ...openedOf(data),
        }),
      ),
      Effect.catchIf(cannotBeAsked, () => Effect.succeed<SessionState>({ status: "unknown", sessionIds: [] })),
    )
  }

  const recentSessions = makeRecentCalls(
    (_, cursor) => {
      const body = { limit: PAGE_LIMIT, ...(cursor === undefined ? {} : { nextCursor: cursor }) }
      const page = call(HistoryPage, { kind: "read", method: "POST", path: history, body })
      return Effect.map(page, ({ items, nextCursor }) => ({ items, next: nextCursor ?? undefined }))
    },
    ({ createdAt }) => DateTime.toEpochMillis(createdAt),
  )

  const list = Effect.fnUntraced(function* (clientIdentifier: string, since: number) {
    const from = since - CLOCK_DIFFERENCE_MILLIS
    const found = yield* Effect.catchIf(recentSessions("", from), cannotList, () => Effect.undefined)
    return found === undefined ? undefined : sessionsIn(found, campaign.WebCampaignId, clientIdentifier, from)
  })

  const end = Effect.fnUntraced(function* ({ sessionIds, webSocketUrl }: WebSession) {
    const path = `business/${business}/websession/${encodeURIComponent(sessionIds[0] ?? "")}/end`
    // Repeated like a read, because a session can be ended again.
    const answer = yield* call(Schema.Unknown, { kind: "read", method: "POST", path, body: {} }).pipe(
      Effect.as(true),
      Effect.catchIf(isUnknownSession, () => Effect.succeed(false)),
      Effect.catchIf(cannotBeAsked, () => Effect.succeed("unsupported" as const)),
    )
    if (answer === true || webSocketUrl === undefined) return answer
    return (yield* closeUnopened(webSocketUrl)) || answer
  })

  return { mint, capacity, status, list, end, check: checkWith(call, campaign) }
}
