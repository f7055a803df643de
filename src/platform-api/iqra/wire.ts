/**
 * Request and response bodies of the platform's API. Shapes from reference/platform-api.md; both generations of the answer to
 * a start are accepted.
 */

import { DateTime, Schema, SchemaTransformation } from "effect"
import type { StartConfig } from "../../protocol/request.ts"

/** Length of one frame of the agent's audio, in milliseconds; the platform allows 20 to 150. */
const FRAME_DURATION_MILLIS = 30

const PCM = 1
const DEFAULT_SAMPLE_RATE = 16_000
const DEFAULT_BITS_PER_SAMPLE = 16

/** The body of websession/initiate. */
export const startBody = (webCampaignId: string, config: StartConfig) => ({
  transportType: config.transportType,
  webCampaignId,
  regionId: config.regionId,
  clientIdentifier: config.clientIdentifier,
  audioInputConfiguration: {
    sampleRate: config.audio.inputSampleRate ?? DEFAULT_SAMPLE_RATE,
    bitsPerSample: config.audio.inputBitsPerSample ?? DEFAULT_BITS_PER_SAMPLE,
    audioEncodingType: config.audio.inputEncodingType ?? PCM,
    audioEncodingFallbackMode: 0,
  },
  audioOutputConfiguration: {
    sampleRate: config.audio.outputSampleRate ?? DEFAULT_SAMPLE_RATE,
    bitsPerSample: config.audio.outputBitsPerSample ?? DEFAULT_BITS_PER_SAMPLE,
    audioEncodingType: config.audio.outputEncodingType ?? PCM,
    audioEncodingFallbackMode: 0,
    frameDurationMs: FRAME_DURATION_MILLIS,
  },
  dynamicVariables: config.dynamicVariables,
  metadata: config.metadata,
})

const Id = Schema.NullOr(Schema.String.check(Schema.isMaxLength(256)))

const SessionUrl = Schema.String.check(
  Schema.makeFilter(
    (url) => {
      const protocol = URL.canParse(url) ? new URL(url).protocol : ""
      return ["ws:", "wss:", "http:", "https:"].includes(protocol)
    },
    { expected: "a ws, wss, http or https address" },
  ),
)

/** `data` of websession/initiate: `{sessionId}` of the first generation, two ids of the second. */
export const StartData = Schema.Struct({
  sessionId: Schema.optionalKey(Id),
  webSessionId: Schema.optionalKey(Id),
  conversationSessionId: Schema.optionalKey(Id),
  sessionWebSocketURL: SessionUrl,
})

/** The distinct ids of a started session, the web session's first (the first generation's `sessionId` is that one). */
export const sessionIdsOf = (data: typeof StartData.Type): ReadonlyArray<string> => {
  const ids = [data.webSessionId, data.sessionId, data.conversationSessionId]
  return [...new Set(ids.flatMap((id) => (id ? [id] : [])))]
}

/** A quantity, which may arrive as 3, 3.0, "3" or "3.0". */
const Quantity = Schema.Union([
  Schema.Finite,
  Schema.String.check(Schema.isPattern(/^\s*\d+(\.\d+)?\s*$/)).pipe(
    Schema.decodeTo(Schema.Finite, SchemaTransformation.transform({ decode: Number, encode: String })),
  ),
]).check(Schema.isGreaterThanOrEqualTo(0))

const optionally = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** `data` of user/billing/usage. A platform that has counted nothing yet may omit any field. */
export const UsageData = Schema.Struct({
  currentUsage: optionally(Schema.Struct({ Call_Concurrency: optionally(Quantity) })),
})
/** `data` of user/billing/featuresactivequantity. */
export const FeaturesData = Schema.Struct({ Call_Concurrency: Quantity })

const OptionalTime = Schema.optionalKey(Schema.NullOr(Schema.Union([Schema.String, Schema.Number])))

/** `data` of websession/history/{webSessionId}; the status is a number or a name, because .NET may write an enum either way. */
export const HistoryData = Schema.Struct({
  status: Schema.Union([Schema.Number, Schema.String]),
  endedAt: OptionalTime,
  completedAt: OptionalTime,
  joinedAt: OptionalTime,
  id: Schema.optionalKey(Schema.Unknown),
  webSessionId: Schema.optionalKey(Schema.Unknown),
  queueId: Schema.optionalKey(Schema.Unknown),
  sessionId: Schema.optionalKey(Schema.Unknown),
  conversationSessionId: Schema.optionalKey(Schema.Unknown),
})

/** The valid ids in an answer of the history. */
export const historyIdsOf = (data: typeof HistoryData.Type): ReadonlyArray<string> => idsOf(data)

/**
 * The histories of the reference name a web session's id `queueId`, and its conversation's `sessionId`, which is null until there is
 * one. The web session's comes first, because the history is asked by it.
 */
type Ids = Pick<typeof HistoryData.Type, "id" | "webSessionId" | "queueId" | "sessionId" | "conversationSessionId">
const idsOf = (data: Ids): ReadonlyArray<string> => {
  const ids = [data.id, data.webSessionId, data.queueId, data.sessionId, data.conversationSessionId]
  return [...new Set(ids.filter(isId))]
}

const Listed = Schema.Struct({
  webCampaignId: Schema.optionalKey(Schema.NullOr(Schema.String)),
  clientIdentifier: Schema.NullOr(Schema.String),
  createdAt: Schema.DateTimeUtcFromString,
  id: Schema.optionalKey(Schema.Unknown),
  webSessionId: Schema.optionalKey(Schema.Unknown),
  queueId: Schema.optionalKey(Schema.Unknown),
  sessionId: Schema.optionalKey(Schema.Unknown),
  conversationSessionId: Schema.optionalKey(Schema.Unknown),
})
export type ListedSession = typeof Listed.Type

/** `data` of websession/history: the newest sessions of the business first. */
export const HistoryPage = Schema.Struct({
  items: Schema.Array(Listed),
  nextCursor: Schema.optionalKey(Schema.NullOr(Schema.String)),
})

/** The ids of each session of one client in a web campaign that began at `from` (ms, by the platform's clock) or later. */
export const sessionsIn = (
  sessions: ReadonlyArray<ListedSession>,
  webCampaignId: string,
  clientIdentifier: string,
  from: number,
): ReadonlyArray<ReadonlyArray<string>> =>
  sessions
    .filter(
      (session) =>
        session.clientIdentifier === clientIdentifier &&
        DateTime.toEpochMillis(session.createdAt) >= from &&
        (session.webCampaignId ?? webCampaignId) === webCampaignId,
    )
    .map(idsOf)
    .filter((ids) => ids.length > 0)

const isId = (id: unknown): id is string => typeof id === "string" && id !== "" && id.length <= 256

/** Failed, Canceled, Expired: by number and by name. */
const OVER = new Set(["4", "5", "6", "failed", "canceled", "cancelled", "expired"])

/**
 * Whether a session has ended: it failed, was cancelled or expired, or has an end time. Status 3 (ProcessedBackend) alone
 * means only that the call was handed to a server, so it counts as running.
 */
export const statusOf = (data: typeof HistoryData.Type): "running" | "over" =>
  OVER.has(String(data.status).toLowerCase()) || hasTime(data.endedAt) || hasTime(data.completedAt) ? "over" : "running"

/** Whether somebody has opened a session; absent where the platform does not tell, as the reference platform. */
export const openedOf = ({ joinedAt }: typeof HistoryData.Type): { readonly opened?: boolean } =>
  joinedAt === undefined ? {} : { opened: hasTime(joinedAt) }

/** .NET writes an unset time as its minimum value, in the year 1. */
const hasTime = (time: string | number | null | undefined): boolean =>
  time !== null && time !== undefined && time !== "" && time !== 0 && !String(time).startsWith("0001-")

/** `data` of business/{businessId}, as far as `verify` uses it. */
export const BusinessData = Schema.Struct({ name: Schema.optionalKey(Schema.NullOr(Schema.String)) })

/** `data` of business/{businessId}/webcampaigns/{webCampaignId}; `sessionEnded` is absent when the platform does not report it. */
export const WebCampaignData = Schema.Struct({
  name: Schema.optionalKey(Schema.NullOr(Schema.String)),
  sessionEnded: Schema.optionalKey(Schema.NullOr(Schema.Struct({ url: Schema.String }))),
})

/** `data` of regions. */
export const RegionsData = Schema.Array(Schema.Struct({ id: Schema.String }))
