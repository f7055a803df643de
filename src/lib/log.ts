/**
 * The log: one stream and one format for log statements and the access log. Every line has a time (UTC, ISO 8601), a level and
 * a message, and keeps annotations, spans, the trace and the cause of a failure. A line is readable text on a terminal, else one JSON
 * object.
 */
import cluster from "node:cluster"
import { Cause, DateTime, Formatter, type Layer, Logger, References } from "effect"
import { type Fields, type Format, formatLine, type LogDetails } from "./log-line.ts"
import { boundedSink, standardOutput } from "./log-output.ts"
import { traceFieldsOf } from "./spans.ts"

/** The format for a stream: text on a terminal, JSON elsewhere. */
export const formatFor = (stream: { readonly isTTY?: boolean }): Format => (stream.isTTY === true ? "text" : "json")

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

/**
 * Replaces Effect's loggers by one that writes to a sink in this format.
 * @param fields of every line
 */
export const layer = (sink: (lines: string) => void, format: Format, fields: Fields = {}): Layer.Layer<never> =>
  Logger.layer([
    Logger.make<unknown, void>((options) => {
      const time = DateTime.formatIso(DateTime.makeUnsafe(options.date))
      sink(
        formatLine(format, time, options.logLevel.toLowerCase(), messageOf(options), {
          ...detailsOf(options),
          ...fields,
        }),
      )
    }),
  ])

export const standardFormat: Format = formatFor(process.stdout)

/** Fields of every line on standard output: the processes of `--processes` write to the same one. A terminal is spared the number. */
export const processFields: Fields = standardFormat === "json" || cluster.isWorker ? { pid: process.pid } : {}

let sink: ((lines: string) => void) | undefined
/** Writes to standard output, which is opened with the first lines: a program that only imports this keeps its own. */
export const toStandardOutput = (lines: string): void => {
  sink ??= boundedSink(standardOutput(), standardFormat, processFields)
  sink(lines)
}

/** Logs to standard output, as text on a terminal and as JSON elsewhere. */
export const layerStandardOutput: Layer.Layer<never> = layer(toStandardOutput, standardFormat, processFields)
