/**
 * Standard output as the sink of the log. The program outlives it: lines that the output refuses (a full disk, a closed pipe), and those
 * that its reader does not take in time, are counted and left out, and the next line that can be written says how many. Memory is
 * bounded: at most `MAX_BACKLOG` characters wait for a slow reader.
 */
import { fstatSync, writeSync } from "node:fs"
import type { Writable } from "node:stream"
import { isatty } from "node:tty"
import { isMainThread } from "node:worker_threads"
import { DateTime } from "effect"
import { type Format, formatLine } from "./log-line.ts"
import { type LossReason, noteOmittedUnsafe } from "./log-loss.ts"

/** Characters that may wait for the reader of a pipe or socket. */
export const MAX_BACKLOG = 1_048_576

/** What the log is written to. A write that fails reports it to `failed`, and never throws. */
export interface Output {
  readonly write: (lines: string, failed: (code: string) => void) => void
  /** characters that wait to be written */
  readonly backlog: () => number
}

type Stream = Pick<Writable, "write" | "on" | "writable" | "writableLength">

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : String(error)

/** A pipe, a socket or a terminal. Once it is broken it stays so. */
export const streamOutput = (stream: Stream): Output => {
  let broken = ""
  // without a listener the first error would end the process
  stream.on("error", (error) => {
    broken ||= codeOf(error)
  })
  return {
    write: (lines, failed) => {
      if (!stream.writable) return failed(broken || "EPIPE")
      stream.write(lines, (error) => {
        if (error !== null && error !== undefined) failed(codeOf(error))
      })
    },
    backlog: () => stream.writableLength,
  }
}

/** What writes to a file descriptor, and returns how many bytes it has written. */
type WriteBytes = (fd: number, bytes: Uint8Array) => number

/**
 * A file. Its stream would be destroyed by the first error; a descriptor can be written again when the disk has room. A line of which only
 * a part was written is ended before the next one.
 */
export const fileOutput = (fd: number, writeBytes: WriteBytes = writeSync): Output => {
  let cut = false
  return {
    write: (lines, failed) => {
      let rest = Buffer.from(cut ? `\n${lines}` : lines)
      try {
        while (rest.length > 0) {
          const written = writeBytes(fd, rest)
          cut = rest[written - 1] !== 10
          rest = rest.subarray(written)
        }
      } catch (error) {
        failed(codeOf(error))
      }
    },
    backlog: () => 0,
  }
}

/** Whether it is written as a file; also a device such as `/dev/null`, and not a terminal. A worker thread has an output of its own. */
const isFile = (fd: number): boolean => {
  try {
    if (!isMainThread || isatty(fd)) return false
    const stat = fstatSync(fd)
    return stat.isFile() || stat.isCharacterDevice()
  } catch {
    return false
  }
}

/** Standard output: as a file if it is one. */
export const standardOutput = (): Output => (isFile(1) ? fileOutput(1) : streamOutput(process.stdout))

const countLines = (lines: string): number => lines.split("\n").length - 1

/** A sink that counts the lines it cannot write, and tells their number with the next ones that it can. */
export const boundedSink = (
  output: Output,
  format: Format,
  fields: Readonly<Record<string, unknown>> = {},
  now: () => number = Date.now,
): ((lines: string) => void) => {
  let lost = 0
  let why = ""
  const lose = (lines: string, reason: LossReason, because: string): void => {
    const count = countLines(lines)
    lost += count
    why = because
    noteOmittedUnsafe(reason, count)
  }
  return (lines) => {
    if (output.backlog() + lines.length > MAX_BACKLOG)
      return lose(lines, "backlog", "the reader of the log is too slow")
    const count = lost
    const notice =
      count === 0
        ? ""
        : formatLine(format, DateTime.formatIso(DateTime.makeUnsafe(now())), "warn", "lines of the log left out", {
            count,
            why,
            ...fields,
          })
    lost = 0
    output.write(notice + lines, (code) => {
      lost += count
      lose(lines, "unwritable", `the log could not be written: ${code}`)
    })
  }
}
