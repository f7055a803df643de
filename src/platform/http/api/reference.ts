/**
 * The names of the reference's public document for what this platform names otherwise: filters, and further fields of sessions,
 * conversations and pages. Numbers of states are the reference's.
 */
import { Schema } from "effect"
import { described, FilterTime, Id, OptionalTime, pageOf, Time } from "./shapes.ts"

/** Each entry is a parameter of a query. */
const MAX_ENTRIES = 100

const listed = <S extends Schema.Constraint>(entry: S, description: string) =>
  described(
    Schema.optionalKey(Schema.NullOr(Schema.Array(entry).check(Schema.isMaxLength(MAX_ENTRIES)))),
    `${description}; null and an empty list do not filter`,
  )
const DateFilter = Schema.optionalKey(Schema.NullOr(FilterTime.schema))
const since = (what: string) => described(DateFilter, `${what} then or later`)
const until = (what: string) => described(DateFilter, `${what} then or earlier`)
const numberOf = (last: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: last }))

export const sessionFilters = <S extends Schema.Constraint>(clientIdentifier: S) => ({
  startCreatedDate: since("created"),
  endCreatedDate: until("created"),
  startCompletedAtDate: since("ended"),
  endCompletedAtDate: until("ended"),
  queueStatusTypes: listed(numberOf(6), "with one of these statuses"),
  webCampaignIds: listed(Id, "of one of these web campaigns"),
  clientIdentifiers: listed(clientIdentifier, "of one of these clients"),
})

export const conversationFilters = {
  startStartedDate: since("started"),
  endStartedDate: until("started"),
  sessionStates: listed(numberOf(7), "3 running, 6 ended; no conversation here has another state"),
  sessionInitiationTypes: listed(Schema.Literals([0, 1]), "0 call, 1 web session"),
  sessionEndTypes: listed(numberOf(10), "every conversation here has 0"),
}

const Variables = Schema.optionalKey(Schema.Record(Schema.String, Schema.String))

/** The reference's further fields of a web session. */
export const sessionFields = {
  queueId: described(Schema.String, "webSessionId"),
  sessionId: described(Schema.NullOr(Schema.String), "conversationSessionId; null until the conversation exists"),
  sessionStatus: described(Schema.NullOr(Schema.Literals([3, 6])), "of the conversation: 3 running, 6 ended"),
  sessionEndType: described(Schema.Null, "always null: why a conversation ended is not recorded"),
  processingStartedAt: described(Schema.Null, "always null: sessions do not wait in a queue"),
  completedAt: described(OptionalTime, "endedAt"),
  dynamicVariables: described(Variables, "only for keys with the permission `read`"),
  metadata: described(Variables, "only for keys with the permission `read`"),
}

const party = {
  joinedAt: Time,
  leftAt: OptionalTime,
  leaveReason: described(Schema.Null, "not recorded"),
  audioUrl: described(Schema.Null, "not recorded"),
}

/** The reference's further fields of a conversation. */
export const conversationFields = {
  id: described(Schema.String, "conversationSessionId"),
  queueId: described(Schema.String, "sourceId"),
  status: described(Schema.Literals([3, 6]), "3 running, 6 ended"),
  startTime: described(Schema.String, "startedAt"),
  endTime: described(OptionalTime, "endedAt"),
  endType: described(Schema.Literal(0), "always 0, not set: why a conversation ended is not recorded"),
  clients: Schema.Array(
    Schema.Struct({
      clientId: Schema.Literal("caller"),
      clientType: described(Schema.Literals([1, 2]), "1 telephone, 2 web"),
      ...party,
    }),
  ),
  agents: Schema.Array(
    Schema.Struct({
      agentId: Schema.Literal("agent"),
      agentType: described(Schema.Literal(1), "1 AI"),
      ...party,
    }),
  ),
  logs: described(Schema.Array(Schema.Never), "always empty"),
}

/** The reference's form of a conversation's turns. */
export const Message = Schema.Struct({
  senderId: Schema.Literals(["caller", "agent"]),
  role: described(Schema.Literals([1, 2]), "1 client, 2 agent"),
  content: Schema.String,
  timestamp: Time,
})

/** A page with the reference's further fields. */
export const countedPageOf = <S extends Schema.Constraint>(item: S) =>
  Schema.Struct({
    ...pageOf(item).fields,
    hasNextPage: Schema.Boolean,
    hasPreviousPage: Schema.Boolean,
    pageSize: described(Schema.Int, "the limit of the request, or its default"),
    totalCount: described(Schema.Int, "the number of entries on all pages"),
  })
