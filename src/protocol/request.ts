/** The body of a session request, and the configuration with which its session is started. */
import { Schema } from "effect"
import { VISIBLE, VISIBLE_EXPECTED } from "../lib/visible-text.ts"

/** The most entries `dynamicVariables` or `metadata` may have. */
export const MAX_VARIABLES = 64
/** The longest name of a variable, in UTF-16 units. */
const MAX_VARIABLE_NAME = 128
/** The longest value of a variable, in UTF-16 units. */
const MAX_VARIABLE_VALUE = 4096

/**
 * Text that is safe in databases, logs and terminals: no control characters (C0, DEL, C1) and no lone surrogates. Values of
 * variables may contain tabs and line breaks. The platform applies the same rule.
 */
export const plainText = Schema.isPattern(/^[^\p{Cc}\p{Cs}]*$/u, { expected: "text without control characters" })
const plainLines = Schema.isPattern(/^[^[\p{Cc}--[\t\n\r]]\p{Cs}]*$/v, {
  expected: "text without control characters other than tab and line break",
})

const Name = Schema.String.check(Schema.isBetweenLength(1, MAX_VARIABLE_NAME), plainText)
const isName = Schema.is(Name)
const names = Schema.isPropertyNames(Name)

/**
 * Names are validated by a check of their own, because a record's key schema would drop keys that do not match. Both checks of the names are
 * the library's in what they say, but not in how they test: that would cost as much as the rest of a body.
 */
export const Variables = Schema.Record(
  Schema.String,
  Schema.String.check(Schema.isMaxLength(MAX_VARIABLE_VALUE), plainLines),
).check(
  Schema.makeFilter(
    (variables) => Object.keys(variables).length <= MAX_VARIABLES,
    Schema.isMaxProperties(MAX_VARIABLES).annotations,
  ),
  Schema.makeFilter(
    (variables, ast, options) =>
      Object.keys(variables).every((name) => isName(name)) ? undefined : names.run(variables, ast, options),
    names.annotations,
  ),
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
  identity: optionalField(
    Schema.String,
    "A signed token that says who calls (`docs/control`); the header `Authorization: Bearer` may carry it instead.",
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
  /** how long the call may last (s), at most `Queue.MaxCallMinutes`; absent where it has no time limit of its own */
  readonly callSeconds?: number
}
