/** What goes over the connection of a ticket: events to its page, and the page's commands and reports. */
import { Schema } from "effect"
import { accessOf } from "./credential.ts"
import { type Offer, Offers } from "./offers.ts"
import { isoTime, placeFields, Started } from "./session-answers.ts"
import * as texts from "./texts.ts"
import { type TicketState, Warning } from "./ticket.ts"

const startBefore = Schema.String.annotate({ description: "The time by which the call must be started, ISO 8601." })
const eventType = <const Name extends string>(name: Name, description: string) =>
  Schema.Literal(name).annotate({ description })
const forPeople = Schema.String.annotate({ description: "For the caller, in English." })

/** An event that is pushed to a ticket's connection. */
export const PushEvent = Schema.Union([
  Schema.Struct({
    type: eventType("position", "The ticket waits."),
    position: placeFields.queuePosition,
    queueLength: placeFields.queueLength,
    estimatedWaitSeconds: placeFields.estimatedWaitSeconds,
    disrupted: Schema.optionalKey(placeFields.disrupted),
    paused: Schema.optionalKey(placeFields.paused),
    pausedUntil: Schema.optionalKey(placeFields.pausedUntil),
    resumesAt: Schema.optionalKey(placeFields.resumesAt),
  }),
  Schema.Struct({
    type: eventType(
      "offer",
      "The ticket waits for long, and the caller may be heard in other ways; once a connection.",
    ),
    offers: Offers,
  }),
  Schema.Struct({ type: eventType("start_call", "It is the caller's turn."), startBefore }),
  Schema.Struct({
    type: eventType("session", "The session has started."),
    webSocketUrl: Started.fields.webSocketUrl,
    credential: Started.fields.credential,
    sessionId: Started.fields.sessionId,
    silenceSeconds: Started.fields.silenceSeconds,
    endsAt: Started.fields.endsAt,
  }),
  Schema.Struct({
    type: eventType(
      "warning",
      "The call is about to end: of its length and of a budget 60 s and 10 s before, of a budget also when the end moves; of silence as the answer to a report, also when no end is due any more.",
    ),
    reason: Warning.fields.reason,
    endsAt: Schema.NullOr(Warning.fields.endsAt).annotate({
      description:
        "When the call ends, ISO 8601; of silence unless somebody speaks. Null when no end is due: of silence as when somebody speaks, or a call may be silent; of a budget when it has more again.",
    }),
  }),
  Schema.Struct({
    type: eventType("ended", "The ticket is over."),
    reason: Schema.String.annotate({ description: "The final state of the ticket." }),
    message: forPeople,
  }),
  Schema.Struct({
    type: eventType("error", "A command was refused; the ticket is not over."),
    code: Schema.String.annotate({ description: "Stable; for programs." }),
    message: forPeople,
  }),
  Schema.Struct({ type: eventType("reconnect", "This instance stops: connect again."), message: forPeople }),
])
export type PushEvent = typeof PushEvent.Type

export const endedEvent = (state: TicketState): Extract<PushEvent, { type: "ended" }> => ({
  type: "ended",
  reason: state,
  message: texts.ended(state),
})

/** The event for a ticket that the store no longer knows, for instance after a restart without persistence. */
export const lostEvent: PushEvent = {
  type: "ended",
  reason: "unknown",
  message: texts.placeLost,
}

export const offerEvent = (offers: ReadonlyArray<Offer>): PushEvent => ({ type: "offer", offers })

/** The slot is reserved until `startBefore` (ms since 1970). */
export const startCallEvent = (startBefore: number): Extract<PushEvent, { type: "start_call" }> => ({
  type: "start_call",
  startBefore: isoTime(startBefore),
})

/** The call reaches its time limit at `endsAt` (ms since 1970), or a budget has no more for it; undefined when no end is due any more. */
export const lengthWarningEvent = (
  endsAt: number | undefined,
  reason: "length" | "budget" = "length",
): Extract<PushEvent, { type: "warning" }> => ({
  type: "warning",
  reason,
  endsAt: endsAt === undefined ? null : isoTime(endsAt),
})

export const sessionEvent = ({
  endsAt,
  sessionId,
  silenceSeconds,
  ...session
}: Started): Extract<PushEvent, { type: "session" }> => ({
  type: "session",
  ...accessOf(session),
  sessionId,
  ...(silenceSeconds === undefined ? {} : { silenceSeconds }),
  ...(endsAt === undefined ? {} : { endsAt }),
})

export const MAX_SILENCE_SECONDS = 86_400

/** How long nobody has spoken in the call of a ticket, as its page hears it. */
export const SilenceReport = Schema.Struct({
  seconds: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: MAX_SILENCE_SECONDS })).annotate({
    description: `How long nobody has spoken, neither the caller nor the agent, 0 to ${MAX_SILENCE_SECONDS}; 0: somebody speaks.`,
  }),
})
export type SilenceReport = typeof SilenceReport.Type

/** What a report of silence does: when the call ends unless somebody speaks, ISO 8601; null when no end is due. */
export const SilenceAnswer = Schema.Struct({
  endsAt: Schema.NullOr(Schema.String).annotate({
    description: "When the call ends unless somebody speaks, ISO 8601; null when no end is due.",
  }),
})
export type SilenceAnswer = typeof SilenceAnswer.Type

/** A command that a ticket's holder sends over its connection. */
export const PushCommand = Schema.Union([
  Schema.Struct({
    type: Schema.Literals(["start", "leave", "hidden"]).annotate({
      description:
        "`start` starts the call of a called ticket, `leave` gives the place up or ends the call, `hidden` says that it is the caller's turn while the page is hidden.",
    }),
  }),
  Schema.Struct({
    type: Schema.Literal("silence").annotate({
      description:
        "The page of a running call reports silence, or that somebody speaks. A silence is answered by `warning`.",
    }),
    ...SilenceReport.fields,
  }),
])
