/**
 * One line of the log for every request: its id, method, path, status, outcome, address, milliseconds. A ticket's id in a path is its
 * bearer's credential, so it is not written. Lines are gathered and written a few times a second, or when there are many. How many
 * lines refusals may take is bounded (`refusal-bound.ts`), and what is left out is counted.
 */
import { Clock, Context, DateTime, Effect, Layer } from "effect"
import type { CallerNames } from "../CallerNames.ts"
import { type Format, formatLine } from "../log.ts"
import { makeRefusalBound } from "./refusal-bound.ts"

export interface Entry {
  /** the request's id; empty where there is none */
  readonly id: string
  readonly method: string
  readonly path: string
  readonly status: number
  readonly outcome: string
  readonly address: string
  readonly millis: number
}

const FLUSH_MILLIS = 250
/** How often it is written how many refusals were left out, if any were. */
const COUNT_MILLIS = 1_000
/** So many characters are written at once, so that lines do not grow old in memory when there are many. */
const FLUSH_LENGTH = 16_384

const TICKET = /^\/api\/session\/(?!request$)[^/]+/
/** What could be a ticket's id wherever it stands, as when a proxy in front has the wrong path; encoded too. */
const SECRET = /(?:[A-Za-z0-9_-]|%[0-9a-f]{2}){22,}/gi
/** The path that is asked for most, which holds no ticket. */
const REQUEST_PATH = "/api/session/request"
/** The longest path that is written, in UTF-16 units. */
const MAX_PATH = 256

const shown = (path: string): string =>
  path === REQUEST_PATH
    ? path
    : path.replace(TICKET, "/api/session/{ticket}").replace(SECRET, "{ticket}").slice(0, MAX_PATH)

export interface AccessLogService {
  readonly now: () => number
  readonly write: (entry: Entry) => void
}

/** Where requests are logged; nowhere unless a layer says so, since a host has a log of its own. */
export const AccessLog = Context.Reference<AccessLogService>("voicegate/http/AccessLog", {
  defaultValue: () => ({ now: () => 0, write: () => {} }),
})

/** The same log, with callers by the names that they have in what is stored. */
export const withNames = (log: AccessLogService, names: CallerNames["Service"]): AccessLogService =>
  names.ready === undefined
    ? log
    : { now: log.now, write: (entry) => log.write({ ...entry, address: names.shown(entry.address) }) }

/** Paths that machines ask for all the time, which nobody looks for in a log. */
export const isQuiet = (path: string): boolean => path.startsWith("/health/") || path === "/metrics"

/** Writes to a sink such as standard output. */
export const layer = (sink: (lines: string) => void, form: Format = "json"): Layer.Layer<never> =>
  Layer.effect(
    AccessLog,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      let lines = ""
      let second = Number.NaN
      let upToSecond = ""
      const timeAt = (millis: number): string => {
        const rest = millis % 1000
        if (millis - rest !== second) {
          second = millis - rest
          upToSecond = DateTime.formatIso(DateTime.makeUnsafe(second)).slice(0, -"000Z".length)
        }
        return `${upToSecond}${String(rest).padStart(3, "0")}Z`
      }
      const bound = makeRefusalBound()
      const countLeftOut = (): void => {
        const count = bound.takeLeftOut()
        if (count > 0) {
          lines += formatLine(form, timeAt(clock.currentTimeMillisUnsafe()), "info", "refusals left out", { count })
        }
      }
      const writeOut = (): void => {
        if (lines === "") return
        const all = lines
        lines = ""
        sink(all)
      }
      const flush = Effect.sync(writeOut)
      yield* flush.pipe(Effect.delay(FLUSH_MILLIS), Effect.forever, Effect.forkScoped)
      yield* Effect.sync(countLeftOut).pipe(Effect.delay(COUNT_MILLIS), Effect.forever, Effect.forkScoped)
      yield* Effect.addFinalizer(() => Effect.andThen(Effect.sync(countLeftOut), flush))
      return {
        now: () => clock.currentTimeMillisUnsafe(),
        write: ({ address, id, method, millis, outcome, path, status }) => {
          const now = clock.currentTimeMillisUnsafe()
          if ((status >= 400 || status === 0) && !bound.admits(address, now)) return
          const time = timeAt(now)
          const fields = { id, method, path: shown(path), status, outcome, address, millis }
          // the one line that is written for every request: its texts hold nothing that `line` would escape further
          lines +=
            form === "json"
              ? `${JSON.stringify({ time, level: "info", message: "request", ...fields })}\n`
              : formatLine(form, time, "info", "request", fields)
          if (lines.length >= FLUSH_LENGTH) writeOut()
        },
      }
    }),
  )
