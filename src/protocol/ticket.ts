/** A ticket: its id, its states, what its holder is told of it, and why an action on it is refused. */
import { Schema } from "effect"
import { offersField } from "./offers.ts"
import { placeFields, Started } from "./session-answers.ts"

/** A ticket's id: at least 128 random bits, base64url. It is the bearer's only credential, so it is never logged. */
export const TicketId = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{22,64}$/))

/**
 * A terminal state: how a ticket has ended. An operator `removed` it before its call, or `stopped` its call; a `silent` call has ended
 * because nobody spoke, one that was `too_long` at the time limit of its call, and one that ended for a `budget` when that had no more for
 * it. A `closed` one has waited for longer than its campaign is open.
 */
export const EndState = Schema.Literals([
  "ended",
  "left",
  "abandoned",
  "missed",
  "failed",
  "reclaimed",
  "removed",
  "stopped",
  "silent",
  "closed",
  "too_long",
  "budget",
])
export type EndState = typeof EndState.Type

/** The states of a ticket; those after `live` are terminal. */
export const TicketState = Schema.Literals(["waiting", "called", "starting", "live", ...EndState.literals])
export type TicketState = typeof TicketState.Type

/** Whether a ticket in this state is over. */
export const isTerminal = (state: TicketState): boolean =>
  state !== "waiting" && state !== "called" && state !== "starting" && state !== "live"

/** A call is about to end. */
export const Warning = Schema.Struct({
  reason: Schema.Literals(["silence", "length", "budget"]).annotate({
    description:
      "`silence`: nobody has spoken for a while. `length`: the time limit of the call is near. `budget`: a budget has no more for it.",
  }),
  endsAt: Schema.String.annotate({
    description: "When the call ends, ISO 8601; after `silence`, unless somebody speaks.",
  }),
})
export type Warning = typeof Warning.Type

/** A ticket as its holder sees it. The place is present only while it waits, the session only while it is live. */
export const TicketStatus = Schema.Struct({
  uniqueRequestId: Started.fields.uniqueRequestId,
  state: TicketState.annotate({ description: "Where the ticket is in its life; final from `ended` on." }),
  queuePosition: Schema.optionalKey(placeFields.queuePosition),
  queueLength: Schema.optionalKey(placeFields.queueLength),
  estimatedWaitSeconds: Schema.optionalKey(placeFields.estimatedWaitSeconds),
  disrupted: Schema.optionalKey(placeFields.disrupted),
  paused: Schema.optionalKey(placeFields.paused),
  pausedUntil: Schema.optionalKey(placeFields.pausedUntil),
  resumesAt: Schema.optionalKey(placeFields.resumesAt),
  offers: offersField,
  startBefore: Schema.optionalKey(
    Schema.String.annotate({ description: "The time by which the call must be started, ISO 8601; only while called." }),
  ),
  webSocketUrl: Started.fields.webSocketUrl,
  credential: Started.fields.credential,
  sessionId: Schema.optionalKey(Started.fields.sessionId),
  silenceSeconds: Started.fields.silenceSeconds,
  endsAt: Started.fields.endsAt,
  warning: Schema.optionalKey(
    Warning.annotate({ description: "The call is about to end; only while a warning holds." }),
  ),
})
export type TicketStatus = typeof TicketStatus.Type

/** No ticket has this id, or it ended so long ago that its record has expired. */
export class TicketUnknown extends Schema.TaggedError<TicketUnknown>()("TicketUnknown", { message: Schema.String }) {}

/** The ticket is not called: it waits, or its start is in progress. */
export class NotYourTurn extends Schema.TaggedError<NotYourTurn>()("NotYourTurn", {
  code: Schema.Literals(["not_your_turn", "start_in_progress", "agent_busy", "agent_unavailable"]),
  queuePosition: Schema.optionalKey(Schema.Int.annotate({ description: "1 is next." })),
  message: Schema.String,
}) {}

/** The platform has not started the called ticket, which keeps its place and will be called again. */
export type CalledAgain = NotYourTurn & { readonly code: "agent_busy" | "agent_unavailable" }

/** The ticket is over; `state` is its terminal state. */
export class TicketOver extends Schema.TaggedError<TicketOver>()("TicketOver", {
  state: TicketState.annotate({ description: "The ticket's final state." }),
  message: Schema.String,
}) {}

/** A page's offer is refused: its credential is not the ticket's (`credential_refused`), or has been used (`credential_used`). */
export class CredentialRefused extends Schema.TaggedError<CredentialRefused>()("CredentialRefused", {
  code: Schema.Literals(["credential_refused", "credential_used"]),
  message: Schema.String,
}) {}
