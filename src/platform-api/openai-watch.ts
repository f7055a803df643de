/**
 * Watches calls by their sideband connections. A connection that closes does not prove that the call is over, because it may have broken.
 * A 404 for the next connection does. The call is then hung up all the same, so that none runs without a slot.
 *
 * A call is watched until the maximum length of a call has passed, and is then hung up. Otherwise calls whose connections are refused in
 * another way, as by a proxy without WebSockets, would be watched forever.
 */
import { Clock, Effect, Schedule } from "effect"
import type { PlatformError } from "./errors.ts"
import { Sideband } from "./sideband.ts"

/** The delay before a closed connection is opened again: at first, and at most; doubled while connections do not last (ms). */
export const REOPEN_MILLIS = 1_000
export const MAX_REOPEN_MILLIS = 30_000
/** A connection that was open for this long has lasted (ms). */
const LASTING_MILLIS = 30_000
/** How often connecting to a call that has just begun may be refused before the gate stops watching it. */
const MAX_UNSEEN = 5
/** How often a failed request to hang up is repeated, and the delay between two (ms). */
const HANG_UP = { times: 60, millis: 5_000 }

export interface WatchedCalls {
  /** the address of a call's sideband connection */
  readonly url: (call: string) => string
  readonly headers: Readonly<Record<string, string>>
  /** True when the call is over. */
  readonly hangUp: (call: string) => Effect.Effect<boolean, PlatformError>
}

export const makeCallWatch = ({ hangUp, headers, url }: WatchedCalls) => {
  /** calls whose connection is open in this process */
  const held = new Set<string>()

  const hangUpSurely = (call: string) =>
    Effect.retry(hangUp(call), { times: HANG_UP.times, schedule: Schedule.spaced(HANG_UP.millis) })

  /** Opens a connection, for the scope. Fails with the status of a refusal. */
  const attach = (call: string) => Effect.flatMap(Sideband, (open) => open(url(call), headers))

  /** Holds a connection until it closes. Returns how long (ms), or fails with the status of a refusal. */
  const hold = (call: string): Effect.Effect<number, number> =>
    Effect.scoped(
      Effect.gen(function* () {
        const closed = yield* attach(call)
        const from = yield* Clock.currentTimeMillis
        held.add(call)
        yield* Effect.ensuring(
          closed,
          Effect.sync(() => void held.delete(call)),
        )
        return (yield* Clock.currentTimeMillis) - from
      }),
    )

  const untilOver = Effect.fnUntraced(function* (call: string) {
    let seen = false
    let unseen = 0
    let pause = REOPEN_MILLIS
    for (;;) {
      const result = yield* Effect.match(hold(call), {
        onSuccess: (millis) => ({ millis, status: 101 }),
        onFailure: (status) => ({ millis: 0, status }),
      })
      if (result.status === 101) seen = true
      if (result.status === 404 && seen) return yield* hangUpSurely(call)
      if (result.status === 404 && ++unseen === MAX_UNSEEN) {
        yield* Effect.logWarning(
          "OpenAI does not know a call that it has just begun, so the gate notices its end late.",
        )
        return false
      }
      if (result.millis >= LASTING_MILLIS) pause = REOPEN_MILLIS
      yield* Effect.sleep(pause)
      pause = Math.min(pause * 2, MAX_REOPEN_MILLIS)
    }
  })

  return {
    /** Completes when the call is over, at the latest at `until` (ms since 1970); false if it cannot be watched. */
    watch: (call: string, until: number): Effect.Effect<boolean, PlatformError> =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Effect.timeoutOrElse(untilOver(call), {
          duration: Math.max(0, until - now),
          orElse: () => hangUpSurely(call),
        }),
      ),
    look: (call: string): Effect.Effect<"running" | "over" | "unknown", PlatformError> =>
      Effect.suspend(() => {
        if (held.has(call)) return Effect.succeed("running" as const)
        return Effect.matchEffect(Effect.scoped(attach(call)), {
          onSuccess: () => Effect.succeed("running" as const),
          onFailure: (status) =>
            status === 404 ? Effect.map(hangUp(call), () => "over" as const) : Effect.succeed("unknown" as const),
        })
      }),
  }
}
