/**
 * The log: one format on one stream, for what the gate says and for its access log alike. Every line has its time (UTC, ISO 8601), its
 * level and a message; annotations, spans and the cause of a failure are kept. On a terminal a line is for people, else it is one
 * JSON object.
 */
import { Cause, DateTime, Formatter, type Layer, Logger, References } from "effect"

/** How lines are written. */
export type Form = "json" | "text"

/** The form for a stream: text on a terminal, JSON elsewhere. */
export const formOf = (stream: { readonly isTTY?: boolean }): Form => (stream.isTTY === true ? "text" : "json")

/** What stands beside time, level and message. */
export type Fields = Readonly<Record<string, unknown>>

/** What a log statement says beside its message; absent where there is nothing. */
export interface Said {
  readonly annotations?: Readonly<Record<string, unknown>>
  /** milliseconds since each span began */
  readonly spans?: Readonly<Record<string, number>>
  /** of a failure, with its stack */
  readonly cause?: string
}

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/** Characters that JSON leaves as they are, and that end a line or steer a terminal all the same. */
const STEERING = /[\p{Cc}\u2028\u2029]/gu
/** The same of a text, which may have several lines. */
const STEERING_TEXT = /(?![\n\t])[\p{Cc}\u2028\u2029]/gu

const shown = (value: unknown): string =>
  typeof value === "string" ? (/^[^\s"=]+$/.test(value) ? value : JSON.stringify(value)) : Formatter.formatJson(value)

/** One line with its end. `cause`, when there is one, follows a text on lines of its own. */
export const line = (form: Form, time: string, level: string, message: string, fields: Fields | Said): string => {
  if (form === "json")
    return `${Formatter.formatJson({ time, level, message, ...fields }).replace(STEERING, escaped)}\n`
  const { cause, ...rest }: Fields = { ...fields }
  const words = Object.entries(rest).map(([name, value]) => ` ${name}=${shown(value)}`)
  const text = `${time} ${level.toUpperCase().padEnd(5)} ${message}${words.join("")}${cause === undefined ? "" : `\n${cause}`}`
  return `${text.replace(STEERING_TEXT, escaped)}\n`
}

const wordsOf = (message: unknown): string =>
  (Array.isArray(message) ? message : [message])
    .map((part) => (typeof part === "string" ? part : Formatter.format(part)))
    .join(" ")

/** Takes it from a log statement. */
export const fieldsOf = ({ cause, date, fiber }: Logger.Options<unknown>): Said => {
  const annotations = fiber.getRef(References.CurrentLogAnnotations)
  const spans = fiber.getRef(References.CurrentLogSpans)
  return {
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    ...(spans.length === 0
      ? {}
      : { spans: Object.fromEntries(spans.map(([name, since]) => [name, date.getTime() - since])) }),
    ...(cause.reasons.length === 0 ? {} : { cause: Cause.pretty(cause) }),
  }
}

/** The message of a log statement as one text. */
export const messageOf = ({ message }: Logger.Options<unknown>): string => wordsOf(message)

/** Writes what Effect's log functions say to a sink, in this form, instead of the loggers that there are. */
export const layer = (sink: (lines: string) => void, form: Form): Layer.Layer<never> =>
  Logger.layer([
    Logger.make<unknown, void>((options) => {
      const time = DateTime.formatIso(DateTime.makeUnsafe(options.date))
      sink(line(form, time, options.logLevel.toLowerCase(), messageOf(options), fieldsOf(options)))
    }),
  ])

/** The process's standard output. */
export const toStandardOutput = (lines: string): void => {
  process.stdout.write(lines)
}

/** The log of a process: standard output, in the form that fits what it is. */
export const layerStandardOutput: Layer.Layer<never> = layer(toStandardOutput, formOf(process.stdout))
