/**
 * One line of the log as text. `log.ts` writes lines by Effect's loggers; this file does not need them, so that an import of the package
 * does not load them.
 */
import { Formatter } from "effect"
import type { TraceFields } from "./spans.ts"

export type Format = "json" | "text"

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

/** Ends with a line feed. In text, the `cause` follows on lines of its own. */
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
