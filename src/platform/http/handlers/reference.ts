/** Translates between the names of the reference's public document and this platform's. */
import type { DateTime } from "effect"
import type { Conversation, ConversationFilter, Turn } from "../../calls/Conversations.ts"
import type { SessionFilter, WebSession } from "../../calls/WebSessions.ts"
import { DEFAULT_PAGE, type Page, type PageRequest } from "../../data/page.ts"
import { iso, isoOrNull, mapPage, millisOf } from "../api/shapes.ts"

/** Numbers of a conversation's state. */
const ACTIVE = 3
const ENDED = 6
/** The number of an end of which the reason is not recorded. */
const NOT_SET = 0
const KINDS = ["call", "web"] as const

type Time = DateTime.Utc | null | undefined
type Entries<A> = ReadonlyArray<A> | null | undefined

interface Times {
  readonly from?: DateTime.Utc
  readonly to?: DateTime.Utc
}

const latest = (a: number | undefined, b: number | undefined) =>
  a === undefined || b === undefined ? (a ?? b) : Math.max(a, b)
const earliest = (a: number | undefined, b: number | undefined) =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b)
const from = (time: Time) => millisOf(time ?? undefined)
/** Ends of the reference's ranges are included, ours are not. */
const to = (time: Time) => (time == null ? undefined : (from(time) ?? 0) + 1)

/** A list of a filter; the reference does not filter by an empty one. */
const entries = <A>(list: Entries<A>): ReadonlyArray<A> | undefined =>
  list == null || list.length === 0 ? undefined : list

interface SentSessionFilter extends Times, Pick<SessionFilter, "webCampaignId" | "clientIdentifier" | "running"> {
  readonly startCreatedDate?: Time
  readonly endCreatedDate?: Time
  readonly startCompletedAtDate?: Time
  readonly endCompletedAtDate?: Time
  readonly queueStatusTypes?: Entries<number>
  readonly webCampaignIds?: Entries<string>
  readonly clientIdentifiers?: Entries<string>
}

/** Filters under both names narrow together. */
export const sessionFilterOf = (sent: SentSessionFilter | null | undefined): SessionFilter => ({
  webCampaignId: sent?.webCampaignId,
  clientIdentifier: sent?.clientIdentifier,
  running: sent?.running,
  webCampaignIds: entries(sent?.webCampaignIds),
  clientIdentifiers: entries(sent?.clientIdentifiers),
  statuses: entries(sent?.queueStatusTypes),
  from: latest(from(sent?.from), from(sent?.startCreatedDate)),
  to: earliest(from(sent?.to), to(sent?.endCreatedDate)),
  endedFrom: from(sent?.startCompletedAtDate),
  endedTo: to(sent?.endCompletedAtDate),
})

interface SentConversationFilter extends Times, Pick<ConversationFilter, "kind" | "clientIdentifier"> {
  readonly startStartedDate?: Time
  readonly endStartedDate?: Time
  readonly sessionStates?: Entries<number>
  readonly sessionInitiationTypes?: Entries<0 | 1>
  readonly sessionEndTypes?: Entries<number>
}

/** Filters under both names narrow together. */
export const conversationFilterOf = (sent: SentConversationFilter | null | undefined): ConversationFilter => {
  const states = entries(sent?.sessionStates) ?? [ACTIVE, ENDED]
  const [active, ended] = [states.includes(ACTIVE), states.includes(ENDED)]
  const matchesNone = !(active || ended) || entries(sent?.sessionEndTypes)?.includes(NOT_SET) === false
  return {
    kind: sent?.kind,
    kinds: matchesNone ? [] : entries(sent?.sessionInitiationTypes)?.map((type) => KINDS[type]),
    running: active && ended ? undefined : active,
    clientIdentifier: sent?.clientIdentifier,
    from: latest(from(sent?.from), from(sent?.startStartedDate)),
    to: earliest(from(sent?.to), to(sent?.endStartedDate)),
  }
}

export const sessionFieldsOf = (session: WebSession) => ({
  queueId: session.webSessionId,
  sessionId: session.joinedAt === null ? null : session.conversationSessionId,
  sessionStatus: session.joinedAt === null ? null : stateOf(session.endedAt),
  sessionEndType: null,
  processingStartedAt: null,
  completedAt: isoOrNull(session.endedAt),
})

const stateOf = (endedAt: number | null): typeof ACTIVE | typeof ENDED => (endedAt === null ? ACTIVE : ENDED)

export const conversationFieldsOf = ({ endedAt, id, kind, sourceId, startedAt }: Conversation) => {
  const party = { joinedAt: iso(startedAt), leftAt: isoOrNull(endedAt), leaveReason: null, audioUrl: null }
  return {
    id,
    queueId: sourceId,
    status: stateOf(endedAt),
    startTime: iso(startedAt),
    endTime: isoOrNull(endedAt),
    endType: NOT_SET,
    clients: [{ clientId: "caller", clientType: kind === "web" ? 2 : 1, ...party }],
    agents: [{ agentId: "agent", agentType: 1, ...party }],
    logs: [],
  } as const
}

export const messageOf = ({ at, role, text }: Turn) =>
  ({ senderId: role, role: role === "agent" ? 2 : 1, content: text, timestamp: iso(at) }) as const

/** A page in the reference's form; `totalCount` is the number of entries on all pages. */
export const countedPage = <A, B>(page: Page<A>, { limit }: PageRequest, totalCount: number, show: (item: A) => B) => ({
  ...mapPage(page, show),
  hasNextPage: page.nextCursor !== null,
  hasPreviousPage: page.previousCursor !== null,
  pageSize: limit ?? DEFAULT_PAGE,
  totalCount,
})
