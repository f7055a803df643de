/** How the wire answers a session request that succeeds: a started session, or a place in the queue. How it is refused: `refusals.ts`. */
import { DateTime, Schema } from "effect"
import { Credential } from "./credential.ts"
import { offersField } from "./offers.ts"

/** A time (ms since 1970) as answers and events say it. */
export const isoTime = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(millis))

/** A session that the platform has started: the default platform's has a `webSocketUrl`, another vendor's a `credential`. */
export const Started = Schema.Struct({
  uniqueRequestId: Schema.String.annotate({ description: "The ticket: its bearer's only credential." }),
  webSocketUrl: Schema.optionalKey(
    Schema.String.annotate({
      description:
        "Opens one WebSocket of the session; good for about five minutes. Absent where the campaign's `Platform` is another vendor.",
    }),
  ),
  credential: Schema.optionalKey(
    Credential.annotate({
      description: "What the vendor's SDK needs to join the session. Absent on the default platform.",
    }),
  ),
  sessionId: Schema.String.annotate({ description: "The platform's id of the session." }),
  silenceSeconds: Schema.optionalKey(
    Schema.Int.annotate({
      description:
        "How long nobody may speak in the call; its page reports silence (`PushCommand`). Absent where a call may be silent.",
    }),
  ),
  endsAt: Schema.optionalKey(
    Schema.String.annotate({
      description:
        "When the call ends, ISO 8601: the time limit of this call (`MaxCallSeconds`), fixed at its start. Absent where it has none of its own.",
    }),
  ),
})
export type Started = typeof Started.Type

/** The fields of a place in the queue that several answers share. */
export const placeFields = {
  queuePosition: Schema.Int.annotate({ description: "1 is next; 0 when the ticket is called already." }),
  queueLength: Schema.Int.annotate({ description: "How many wait." }),
  estimatedWaitSeconds: Schema.NullOr(Schema.Int).annotate({
    description: "null while no call has been measured, and while an operator has paused the queue.",
  }),
  disrupted: Schema.Literal(true).annotate({
    description: "The voice agent cannot be reached at the moment; callers keep their places.",
  }),
  paused: Schema.Literal(true).annotate({
    description:
      "The caller is not called, and keeps the place: an operator has paused the queue, or a budget is used up (`resumesAt`).",
  }),
  pausedUntil: Schema.String.annotate({
    description: "When the pause ends by itself, ISO 8601; absent when only an operator ends it.",
  }),
  resumesAt: Schema.String.annotate({
    description:
      "A budget is used up, of all or of this caller alone: when it has more again at the latest, ISO 8601. Absent otherwise, and where an operator alone has paused the queue.",
  }),
}

/**
 * The ticket waits. It is in the error channel so that the type of a request lists all outcomes. It is not an `Error`, because
 * nothing failed.
 */
export const Queued = Schema.TaggedStruct("Queued", {
  uniqueRequestId: Started.fields.uniqueRequestId,
  /** 1 is next; 0 when the ticket has already been called */
  queuePosition: placeFields.queuePosition,
  queueLength: placeFields.queueLength,
  /** null while no call has been measured, and while an operator has paused the queue */
  estimatedWaitSeconds: placeFields.estimatedWaitSeconds,
  /** the voice agent cannot be reached at the moment; callers keep their places */
  disrupted: Schema.Boolean,
  /** the caller is not called, and keeps the place: an operator has paused the queue, or a budget is used up, of all or of this caller alone */
  paused: Schema.Boolean,
  /** when the pause ends by itself, ISO 8601; null when only an operator ends it */
  pausedUntil: Schema.NullOr(Schema.String),
  /** when a budget that is used up has more again at the latest, ISO 8601; null otherwise */
  resumesAt: Schema.NullOr(Schema.String),
  /** the ticket is already called and may start at once (a repeated request) */
  called: Schema.Boolean,
  /** other ways, if the wait is long (`Overflow`) */
  offers: offersField,
})
export type Queued = typeof Queued.Type

/** A session that began with its page's offer. */
export interface Relayed {
  /** the vendor's SDP answer */
  readonly answer: string
  /** the vendor's own id of the call; absent where the vendor names none */
  readonly callId?: string | undefined
}
