/**
 * One line of JSON for every request: method, path, status, outcome, address, milliseconds. A ticket's id in a path is its
 * bearer's credential, so it is not written. Lines are gathered and written a few times a second.
 */
import { Clock, Context, DateTime, Effect, Layer } from "effect"

export interface Entry {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly outcome: string
  readonly address: string
  readonly millis: number
}

const FLUSH_MILLIS = 250

const TICKET = /^\/api\/session\/(?!request$)[^/]+/
/** What could be a ticket's id wherever it stands, as when a proxy in front has the wrong path. */
const SECRET = /[A-Za-z0-9_-]{22,}/g
/** The longest path that is written, in UTF-16 units. */
const MAX_PATH = 256

export interface AccessLogService {
  readonly now: () => number
  readonly write: (entry: Entry) => void
}

/** Where requests are logged; nowhere unless a layer says so, since a host has a log of its own. */
export const AccessLog = Context.Reference<AccessLogService>("voicegate/http/AccessLog", {
  defaultValue: () => ({ now: () => 0, write: () => {} }),
})

/** Writes to a sink such as standard output. */
export const layer = (sink: (lines: string) => void): Layer.Layer<never> =>
  Layer.effect(
    AccessLog,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      let lines = ""
      const flush = Effect.sync(() => {
        if (lines === "") return
        sink(lines)
        lines = ""
      })
      yield* flush.pipe(Effect.delay(FLUSH_MILLIS), Effect.forever, Effect.forkScoped)
      yield* Effect.addFinalizer(() => flush)
      return {
        now: () => clock.currentTimeMillisUnsafe(),
        write: ({ address, method, millis, outcome, path, status }) => {
          lines += `${JSON.stringify({
            time: DateTime.formatIso(DateTime.makeUnsafe(clock.currentTimeMillisUnsafe())),
            method,
            path: path.replace(TICKET, "/api/session/{ticket}").replace(SECRET, "{ticket}").slice(0, MAX_PATH),
            status,
            outcome,
            address,
            millis,
          })}\n`
        },
      }
    }),
  )
