/**
 * The log: one stream and one format for log statements and the access log. Every line has a time (UTC, ISO 8601), a level and
 * a message, and keeps annotations, spans, the trace and the cause of a failure. A line is readable text on a terminal, else one JSON
 * object.
 */
import { Cause, DateTime, Formatter, type Layer, Logger, References } from "effect"
import { type TraceFields, traceFieldsOf } from "./spans.ts"

/** The format of a line. */
export type Format = "json" | "text"

/** The format for a stream: text on a terminal, JSON elsewhere. */
export const formatFor = (stream: { readonly isTTY?: boolean }): Format => (stream.isTTY === true ? "text" : "json")

/** Fields of a line besides time, level and message. */
export type Fields = Readonly<Record<string, unknown>>

/** What a log statement carries besides its message; a field is absent when there is nothing. */
export interface LogDetails extends Partial<TraceFields> {
  readonly annotations?: Readonly<Record<string, unknown>>
  /** milliseconds since the start of each span */
  readonly spans?: Readonly<Record<string, number>>
  /** the cause of a failure, with its stack */
  readonly cause?: string
}

const escapeCharacter = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/** Characters that JSON does not escape but that end a line or control a terminal. */
const CONTROL_CHARACTERS = /[\p{Cc}\u2028\u2029]/gu
/** The same for text, which may contain line feeds and tabs. */
const UNSAFE_CONTROL_CHARACTERS = /(?![\n\t])[\p{Cc}\u2028\u2029]/gu

const formatValue = (value: unknown): string =>
  typeof value === "string" ? (/^[^\s"=]+$/.test(value) ? value : JSON.stringify(value)) : Formatter.formatJson(value)

/** One line, with its line feed. In text, the `cause` follows on lines of its own. */
export const formatLine = (
  format: Format,
  time: string,
  level: string,
  message: string,
  fields: Fields | LogDetails,
): string => {
  if (format === "json")
    return `${Formatter.formatJson({ time, level, message, ...fields }).replace(CONTROL_CHARACTERS, escapeCharacter)}\n`
  const { cause, ...rest }: Fields = { ...fields }
  const words = Object.entries(rest).map(([name, value]) => ` ${name}=${formatValue(value)}`)
  const text = `${time} ${level.toUpperCase().padEnd(5)} ${message}${words.join("")}${cause === undefined ? "" : `\n${cause}`}`
  return `${text.replace(UNSAFE_CONTROL_CHARACTERS, escapeCharacter)}\n`
}

const joinParts = (message: unknown): string =>
  (Array.isArray(message) ? message : [message])
    .map((part) => (typeof part === "string" ? part : Formatter.format(part)))
    .join(" ")

/** Annotations, spans and cause of a log statement. */
export const detailsOf = ({ cause, date, fiber }: Logger.Options<unknown>): LogDetails => {
  const annotations = fiber.getRef(References.CurrentLogAnnotations)
  const spans = fiber.getRef(References.CurrentLogSpans)
  return {
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    ...(spans.length === 0
      ? {}
      : { spans: Object.fromEntries(spans.map(([name, since]) => [name, date.getTime() - since])) }),
    ...traceFieldsOf(fiber),
    ...(cause.reasons.length === 0 ? {} : { cause: Cause.pretty(cause) }),
  }
}

/** The message of a log statement as one text. */
export const messageOf = ({ message }: Logger.Options<unknown>): string => joinParts(message)

/** Replaces Effect's loggers by one that writes to a sink in this format. */
export const layer = (sink: (lines: string) => void, format: Format): Layer.Layer<never> =>
  Logger.layer([
    Logger.make<unknown, void>((options) => {
      const time = DateTime.formatIso(DateTime.makeUnsafe(options.date))
      sink(formatLine(format, time, options.logLevel.toLowerCase(), messageOf(options), detailsOf(options)))
    }),
  ])

export const toStandardOutput = (lines: string): void => {
  process.stdout.write(lines)
}

/** Logs to standard output, as text on a terminal and as JSON elsewhere. */
export const layerStandardOutput: Layer.Layer<never> = layer(toStandardOutput, formatFor(process.stdout))
