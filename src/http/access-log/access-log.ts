/**
 * The access log: one line for each request with id, method, path, status, outcome, address, milliseconds, and where there are any
 * campaign, ticket and subject. Ticket ids are credentials, so they are masked in paths, and a ticket appears as its short hash. Lines are buffered
 * and written a few times a second. Their number is limited (`log-limit.ts`), and omitted ones are counted.
 */

import { Clock, Context, DateTime, Effect, Layer, Schedule } from "effect"
import { shortHash } from "../../fifo-queue/short-hash.ts"
import { type Fields, type Format, formatLine } from "../../lib/log-line.ts"
import { type LossReason, noteOmittedUnsafe } from "../../lib/log-loss.ts"
import type { TraceFields } from "../../lib/spans.ts"
import { type LogLimit, makeLogLimit, REFUSED, SERVED } from "./log-limit.ts"

export interface Entry {
  /** the request's id; empty where there is none */
  readonly id: string
  readonly method: string
  readonly path: string
  readonly status: number
  readonly outcome: string
  readonly address: string
  readonly millis: number
  /** the id of the ticket that the request is about, which the line shows as its hash */
  readonly ticket?: string | undefined
  /** the name of the campaign that the request is about, where that is known */
  readonly campaign?: string | undefined
  /** who calls, where a signed token has said so: percent-encoded or hashed, as the console shows it */
  readonly subject?: string | undefined
  /** the request's span, where it has one that is sampled */
  readonly trace?: TraceFields | undefined
}

const FLUSH_MILLIS = 250
/** How often the numbers of omitted lines are logged, if there are any (ms). */
const COUNT_MILLIS = 1_000
/** The buffer is also written when it has this many characters, to bound its size under load. */
const FLUSH_LENGTH = 16_384

const TICKET = /^\/api\/session\/(?!request$)[^/]+/
/** Anything that may be a ticket's id, anywhere in the path and also percent-encoded, as behind a misconfigured proxy. */
const SECRET = /(?:[A-Za-z0-9_-]|%[0-9a-f]{2}){22,}/gi
/** The most frequent path, which contains no ticket. */
const REQUEST_PATH = "/api/session/request"
/** Longer paths are truncated, in UTF-16 units. */
const MAX_PATH = 256

const maskedPath = (path: string): string =>
  path === REQUEST_PATH
    ? path
    : path.replace(TICKET, "/api/session/{ticket}").replace(SECRET, "{ticket}").slice(0, MAX_PATH)

const REQUEST_PATH_JSON = JSON.stringify(REQUEST_PATH)
const jsonPath = (path: string): string =>
  path === REQUEST_PATH ? REQUEST_PATH_JSON : JSON.stringify(maskedPath(path))

export interface AccessLogService {
  /** The monotonic time in whole milliseconds, for `millis` of an entry. */
  readonly now: () => number
  readonly write: (entry: Entry) => void
}

/** The access log. By default it writes nothing, because a host has its own. */
export const AccessLog = Context.Reference<AccessLogService>("voicegate/http/AccessLog", {
  defaultValue: () => ({ now: () => 0, write: () => {} }),
})

/** Paths that monitoring polls; they are not logged. */
export const isQuiet = (path: string): boolean => path.startsWith("/health/") || path === "/metrics"

/** What an open console reads every few seconds: a line for each would bury the others. Refusals and actions have theirs. */
const isPolled = ({ method, path, status }: Entry): boolean =>
  status === 200 && method === "GET" && /\/console\/api\/(?:view|campaigns|history|addresses|budgets)$/.test(path)

/**
 * Writes to a sink such as standard output.
 * @param common fields of every line
 */
export const layer = (sink: (lines: string) => void, form: Format = "json", common: Fields = {}): Layer.Layer<never> =>
  Layer.effect(
    AccessLog,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      let lines = ""
      let second = Number.NaN
      let upToSecond = ""
      const timeAt = (millis: number): string => {
        const milliseconds = millis % 1000
        if (millis - milliseconds !== second) {
          second = millis - milliseconds
          upToSecond = DateTime.formatIso(DateTime.makeUnsafe(second)).slice(0, -"000Z".length)
        }
        return `${upToSecond}${String(milliseconds).padStart(3, "0")}Z`
      }
      const refused = makeLogLimit(REFUSED)
      const served = makeLogLimit(SERVED)
      const logOmittedOf = (limit: LogLimit, reason: LossReason): void => {
        const count = limit.takeOmitted()
        if (count === 0) return
        noteOmittedUnsafe(reason, count)
        const time = timeAt(clock.currentTimeMillisUnsafe())
        lines += formatLine(form, time, "info", `${reason} left out`, { count, ...common })
      }
      const logOmitted = (): void => {
        logOmittedOf(refused, "refusals")
        logOmittedOf(served, "requests")
      }
      /** the end of a line of JSON */
      const rest = JSON.stringify(common).slice(1)
      const end = rest === "}" ? "}\n" : `,${rest}\n`
      const writeOut = (): void => {
        if (lines === "") return
        const all = lines
        lines = ""
        sink(all)
      }
      const flush = Effect.sync(writeOut)
      yield* flush.pipe(Effect.schedule(Schedule.spaced(FLUSH_MILLIS)), Effect.forkScoped)
      yield* Effect.sync(logOmitted).pipe(Effect.schedule(Schedule.spaced(COUNT_MILLIS)), Effect.forkScoped)
      yield* Effect.addFinalizer(() => Effect.andThen(Effect.sync(logOmitted), flush))
      return {
        now: () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n),
        write: (entry) => {
          if (isPolled(entry)) return
          const { address, campaign, id, method, millis, outcome, path, status, subject, ticket, trace } = entry
          const now = clock.currentTimeMillisUnsafe()
          const limit = status >= 400 || status === 0 ? refused : served
          if (!limit.admits(address, now)) return
          const time = timeAt(now)
          if (form === "json" && trace === undefined) {
            // hot path: only a path may have characters that JSON escapes
            lines +=
              `{"time":"${time}","level":"info","message":"request","id":"${id}","method":"${method}","path":${jsonPath(path)},` +
              `"status":${status},"outcome":"${outcome}","address":"${address}","millis":${millis}` +
              (campaign === undefined ? "" : `,"campaign":${JSON.stringify(campaign)}`) +
              (ticket === undefined ? "" : `,"ticket":"${shortHash(ticket)}"`) +
              (subject === undefined ? "" : `,"subject":${JSON.stringify(subject)}`) +
              end
          } else {
            const fields = {
              ...{ id, method, path: maskedPath(path), status, outcome, address, millis },
              ...(campaign === undefined ? {} : { campaign }),
              ...(ticket === undefined ? {} : { ticket: shortHash(ticket) }),
              ...(subject === undefined ? {} : { subject }),
              ...trace,
              ...common,
            }
            lines += formatLine(form, time, "info", "request", fields)
          }
          if (lines.length >= FLUSH_LENGTH) writeOut()
        },
      }
    }),
  )
