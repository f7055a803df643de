/** The log of a test: what was logged while it runs, by level. */
import { Logger, References } from "effect"

interface Line {
  readonly level: string
  readonly text: string
  readonly annotations: Readonly<Record<string, unknown>>
}

export interface RecordedLog {
  /** the lines of a level so far */
  readonly at: (level: "INFO" | "WARN" | "ERROR") => ReadonlyArray<string>
  /** the annotations of the first line with this text */
  readonly annotated: (text: string) => Line["annotations"]
}

/** A logger that keeps every line, and the lines. */
export const recordingLogger = (): { readonly log: RecordedLog; readonly logger: Logger.Logger<unknown, void> } => {
  const lines: Array<Line> = []
  const levels: Readonly<Record<string, string>> = { Info: "INFO", Warn: "WARN", Error: "ERROR" }
  const logger = Logger.make<unknown, void>(({ fiber, logLevel, message }) => {
    const text = Array.isArray(message) ? message.map(String).join(" ") : String(message)
    lines.push({
      level: levels[logLevel] ?? logLevel,
      text,
      annotations: fiber.getRef(References.CurrentLogAnnotations),
    })
  })
  return {
    logger,
    log: {
      at: (level) => lines.filter((line) => line.level === level).map(({ text }) => text),
      annotated: (text) => lines.find((line) => line.text === text)?.annotations ?? {},
    },
  }
}
