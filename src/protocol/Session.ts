/**
 * The schemas of requests and outcomes, and the gate's typed errors; those of a request are in `refusals.ts`. Independent of HTTP:
 * statuses are chosen in `http/`.
 */
import { DateTime, Schema } from "effect"
import { VISIBLE, VISIBLE_EXPECTED } from "../lib/visible-text.ts"
import { Credential } from "./credential.ts"

/** The most entries `dynamicVariables` or `metadata` may have. */
export const MAX_VARIABLES = 64
/** The longest name of a variable, in UTF-16 units. */
export const MAX_VARIABLE_NAME = 128
/** The longest value of a variable, in UTF-16 units. */
export const MAX_VARIABLE_VALUE = 4096

/**
 * Text that is safe in databases, logs and terminals: no control characters (C0, DEL, C1) and no lone surrogates. Values of
 * variables may contain tabs and line breaks. The platform applies the same rule.
 */
const plainText = Schema.isPattern(/^[^\p{Cc}\p{Cs}]*$/u, { expected: "text without control characters" })
const plainLines = Schema.isPattern(/^[^[\p{Cc}--[\t\n\r]]\p{Cs}]*$/v, {
  expected: "text without control characters other than tab and line break",
})

// names are validated by a separate check: a record's key schema would drop keys that do not match
const Variables = Schema.Record(
  Schema.String,
  Schema.String.check(Schema.isMaxLength(MAX_VARIABLE_VALUE), plainLines),
).check(
  Schema.isMaxProperties(MAX_VARIABLES),
  Schema.isPropertyNames(Schema.String.check(Schema.isBetweenLength(1, MAX_VARIABLE_NAME), plainText)),
)

const PlainId = (maxLength: number) => Schema.String.check(Schema.isMaxLength(maxLength), plainText)

/** Audio encodings of the platform: 1 PCM, 2 WAV, 3 MULAW, 4 ALAW, 5 G722, 6 G729, 7 OPUS, 8 MPEG. */
const EncodingType = Schema.Literals([1, 2, 3, 4, 5, 6, 7, 8])
const SampleRate = Schema.Int.check(Schema.isBetween({ minimum: 8000, maximum: 96000 }))
const BitsPerSample = Schema.Literals([8, 16, 24, 32])

/** A field that may be absent or null. */
const optionalField = <S extends Schema.Top>(schema: S, description: string) =>
  Schema.optionalKey(Schema.NullOr(schema).annotate({ description }))

const ENCODINGS = "1 PCM, 2 WAV, 3 MULAW, 4 ALAW, 5 G722, 6 G729, 7 OPUS, 8 MPEG; PCM by default."

/** The caller's audio format. Defaults for absent or null fields: PCM, 16 kHz, 16 bit. */
export const AudioConfiguration = Schema.Struct({
  inputEncodingType: optionalField(EncodingType, `Encoding of the audio from the caller: ${ENCODINGS}`),
  inputSampleRate: optionalField(SampleRate, "Sample rate of the audio from the caller, in Hz; 16000 by default."),
  inputBitsPerSample: optionalField(BitsPerSample, "Bits per sample of the audio from the caller; 16 by default."),
  outputEncodingType: optionalField(EncodingType, `Encoding of the audio to the caller: ${ENCODINGS}`),
  outputSampleRate: optionalField(SampleRate, "Sample rate of the audio to the caller, in Hz; 16000 by default."),
  outputBitsPerSample: optionalField(BitsPerSample, "Bits per sample of the audio to the caller; 16 by default."),
})
export type AudioConfiguration = typeof AudioConfiguration.Type

/** A ticket's id: at least 128 random bits, base64url. It is the bearer's only credential, so it is never logged. */
export const TicketId = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{22,64}$/))

/** The body of a session request, as the browser sends it. Unknown fields are ignored. */
export const SessionRequest = Schema.Struct({
  campaignId: optionalField(PlainId(256), "A configured campaign; the default campaign when absent."),
  regionId: optionalField(PlainId(256), "One of the campaign's allowed regions; its default region when absent."),
  transportType: optionalField(Schema.Literals([0, 1]), "0 WebSocket (default), 1 WebRTC."),
  clientIdentifier: optionalField(
    Schema.String.check(
      Schema.isBetweenLength(1, 256),
      Schema.isPattern(/^[^/\\]*$/, { expected: "a string without slash or backslash" }),
      Schema.isPattern(VISIBLE, { expected: VISIBLE_EXPECTED }),
    ),
    "The caller's name for the platform. It proves nothing, and the gate makes one when it is absent.",
  ),
  dynamicVariables: optionalField(Variables, "Variables of the agent for this session."),
  metadata: optionalField(Variables, "Data that the platform stores with the session."),
  audioConfiguration: optionalField(AudioConfiguration, "The caller's audio format; PCM, 16 kHz, 16 bit when absent."),
  uniqueRequestId: optionalField(
    PlainId(64),
    "A ticket that the caller already holds. If it is not over, the answer is its state, so a request is idempotent.",
  ),
})
export type SessionRequest = typeof SessionRequest.Type

/**
 * A validated request, resolved against the settings. It is stored with a waiting ticket and sent to the platform when the
 * ticket starts.
 */
export interface SessionConfig {
  readonly campaign: string
  readonly regionId: string
  readonly transportType: 0 | 1
  readonly clientIdentifier?: string
  readonly dynamicVariables: Readonly<Record<string, string>>
  readonly metadata: Readonly<Record<string, string>>
  readonly audio: AudioConfiguration
}

/** The configuration with which a session is started. */
export type StartConfig = SessionConfig & {
  readonly clientIdentifier: string
  /** the gate's own id of the ticket's starts, which reveals nothing of the ticket: vendors keep it with the session */
  readonly correlationId?: string
}

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
})
export type Started = typeof Started.Type

/**
 * A terminal state: how a ticket has ended. An operator `removed` it before its call, or `stopped` its call; a `silent` call has ended
 * because nobody spoke.
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
])
export type EndState = typeof EndState.Type

/** The states of a ticket; those after `live` are terminal. */
export const TicketState = Schema.Literals(["waiting", "called", "starting", "live", ...EndState.literals])
export type TicketState = typeof TicketState.Type

/** A time (ms since 1970) as answers and events say it. */
export const isoTime = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(millis))

/** Whether a ticket in this state is over. */
export const isTerminal = (state: TicketState): boolean =>
  state !== "waiting" && state !== "called" && state !== "starting" && state !== "live"

/** The fields of a place in the queue that several answers share. */
const Place = {
  queuePosition: Schema.Int.annotate({ description: "1 is next; 0 when the ticket is called already." }),
  queueLength: Schema.Int.annotate({ description: "How many wait." }),
  estimatedWaitSeconds: Schema.NullOr(Schema.Int).annotate({
    description: "null while no call has been measured, and while the queue is paused.",
  }),
  disrupted: Schema.Literal(true).annotate({
    description: "The voice agent cannot be reached at the moment; callers keep their places.",
  }),
  paused: Schema.Literal(true).annotate({
    description: "An operator has paused the queue: nobody is called, and callers keep their places.",
  }),
  pausedUntil: Schema.String.annotate({
    description: "When the pause ends by itself, ISO 8601; absent when only an operator ends it.",
  }),
}

/** A call is about to end. */
export const Warning = Schema.Struct({
  reason: Schema.Literal("silence").annotate({ description: "`silence`: nobody has spoken for a while." }),
  endsAt: Schema.String.annotate({ description: "When the call ends unless somebody speaks, ISO 8601." }),
})
export type Warning = typeof Warning.Type

/** A ticket as its holder sees it. The place is present only while it waits, the session only while it is live. */
export const TicketStatus = Schema.Struct({
  uniqueRequestId: Started.fields.uniqueRequestId,
  state: TicketState.annotate({ description: "Where the ticket is in its life; final from `ended` on." }),
  queuePosition: Schema.optionalKey(Place.queuePosition),
  queueLength: Schema.optionalKey(Place.queueLength),
  estimatedWaitSeconds: Schema.optionalKey(Place.estimatedWaitSeconds),
  disrupted: Schema.optionalKey(Place.disrupted),
  paused: Schema.optionalKey(Place.paused),
  pausedUntil: Schema.optionalKey(Place.pausedUntil),
  startBefore: Schema.optionalKey(
    Schema.String.annotate({ description: "The time by which the call must be started, ISO 8601; only while called." }),
  ),
  webSocketUrl: Started.fields.webSocketUrl,
  credential: Started.fields.credential,
  sessionId: Schema.optionalKey(Started.fields.sessionId),
  silenceSeconds: Started.fields.silenceSeconds,
  warning: Schema.optionalKey(
    Warning.annotate({ description: "The call is about to end; only while a warning holds." }),
  ),
})
export type TicketStatus = typeof TicketStatus.Type

const startBefore = Schema.String.annotate({ description: "The time by which the call must be started, ISO 8601." })
const eventType = <const Name extends string>(name: Name, description: string) =>
  Schema.Literal(name).annotate({ description })
const forPeople = Schema.String.annotate({ description: "For the caller, in English." })

/** An event that is pushed to a ticket's connection. */
export const PushEvent = Schema.Union([
  Schema.Struct({
    type: eventType("position", "The ticket waits."),
    position: Place.queuePosition,
    queueLength: Place.queueLength,
    estimatedWaitSeconds: Place.estimatedWaitSeconds,
    disrupted: Schema.optionalKey(Place.disrupted),
    paused: Schema.optionalKey(Place.paused),
    pausedUntil: Schema.optionalKey(Place.pausedUntil),
  }),
  Schema.Struct({ type: eventType("start_call", "It is the caller's turn."), startBefore }),
  Schema.Struct({
    type: eventType("session", "The session has started."),
    webSocketUrl: Started.fields.webSocketUrl,
    credential: Started.fields.credential,
    sessionId: Started.fields.sessionId,
    silenceSeconds: Started.fields.silenceSeconds,
  }),
  Schema.Struct({
    type: eventType("warning", "The call is about to end, or no more: the answer to a report of silence."),
    reason: Warning.fields.reason,
    endsAt: Schema.NullOr(Warning.fields.endsAt).annotate({
      description:
        "When the call ends unless somebody speaks, ISO 8601; null when no end is due, as when somebody speaks, or a call may be silent.",
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

/**
 * The ticket waits. It is in the error channel so that the type of a request lists all outcomes. It is not an `Error`, because
 * nothing failed.
 */
export const Queued = Schema.TaggedStruct("Queued", {
  uniqueRequestId: Started.fields.uniqueRequestId,
  queuePosition: Place.queuePosition,
  queueLength: Place.queueLength,
  estimatedWaitSeconds: Place.estimatedWaitSeconds,
  /** the voice agent cannot be reached at the moment; callers keep their places */
  disrupted: Schema.Boolean,
  /** an operator has paused the queue: nobody is called, and callers keep their places */
  paused: Schema.Boolean,
  /** when the pause ends by itself, ISO 8601; null when only an operator ends it */
  pausedUntil: Schema.NullOr(Schema.String),
  /** the ticket is already called and may start at once (a repeated request) */
  called: Schema.Boolean,
})
export type Queued = typeof Queued.Type

/** No ticket has this id, or it ended so long ago that its record has expired. */
export class TicketUnknown extends Schema.TaggedError<TicketUnknown>()("TicketUnknown", { message: Schema.String }) {}

/** The ticket is not called: it waits, or its start is in progress. */
export class NotYourTurn extends Schema.TaggedError<NotYourTurn>()("NotYourTurn", {
  code: Schema.Literals(["not_your_turn", "start_in_progress", "agent_busy", "agent_unavailable"]),
  queuePosition: Schema.optionalKey(Schema.Int.annotate({ description: "1 is next." })),
  message: Schema.String,
}) {}

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

/** A session that began with its page's offer. */
export interface Relayed {
  /** the vendor's SDP answer */
  readonly answer: string
  /** the vendor's own id of the call; absent where the vendor names none */
  readonly callId?: string | undefined
}
