/**
 * Watches calls by their sideband connections. A connection that closes does not prove that the call is over, because it may have broken.
 * A 404 for the next connection does. The call is then hung up all the same, so that none runs without a slot.
 *
 * A call is watched until the maximum length of a call has passed, and is then hung up. Otherwise calls whose connections are refused in
 * another way, as by a proxy without WebSockets, would be watched forever.
 */
import { Clock, Effect, Schedule } from "effect"
import { monotonicMillis } from "../../lib/age.ts"
import { type PlatformError, unavailable } from "../errors.ts"
import type { Hears } from "../model.ts"
import { type Listening, Sideband, type SidebandConnection } from "../shared/sideband.ts"

/** The delay before a closed connection is opened again: at first, and at most; doubled while connections do not last (ms). */
const REOPEN_MILLIS = 1_000
const MAX_REOPEN_MILLIS = 30_000
/** A connection that was open for this long has lasted (ms). */
const LASTING_MILLIS = 30_000
/** How often connecting to a call that has just begun may be refused before the gate stops watching it. */
const MAX_UNSEEN = 5
/** How often a failed request to hang up is repeated, and the delay between two (ms). */
const HANG_UP = { times: 60, millis: 5_000 }

/** How long a call that was asked to end may take (ms). */
const CLOSE_MILLIS = 5_000

export interface WatchedCalls {
  /** the address of a call's sideband connection */
  readonly url: (call: string) => string
  readonly headers: Readonly<Record<string, string>>
  /** what its events say of who speaks */
  readonly speech: Listening["events"]
  /**
   * How a call is ended: by a request, which is true when the call is over, or by an event on its connection, which the event `over`
   * confirms.
   */
  readonly ending:
    | { readonly request: (call: string) => Effect.Effect<boolean, PlatformError> }
    | { readonly event: string; readonly over: string }
}

export const makeCallWatch = ({ ending, headers, speech, url }: WatchedCalls) => {
  /** the connections that this process has open, by their calls */
  const held = new Map<string, SidebandConnection>()
  const over = "over" in ending ? ending.over : undefined

  /** Opens a connection, for the scope. Fails with the status of a refusal. */
  const attach = (call: string, hears?: Hears) =>
    Effect.flatMap(Sideband, (open) => open(url(call), headers, over, hears && { events: speech, hears }))

  /** Ends a call by an event on its connection. True when it is over; false if the vendor does not say so in time. */
  const closeBy = (event: string, call: string): Effect.Effect<boolean, PlatformError> =>
    Effect.gen(function* () {
      const { closed, send } = held.get(call) ?? (yield* attach(call))
      yield* send({ type: event })
      return yield* Effect.timeoutOrElse(closed, {
        duration: CLOSE_MILLIS,
        orElse: () => Effect.succeed(false),
      })
    }).pipe(
      Effect.scoped,
      Effect.catch((status) =>
        status === 404
          ? Effect.succeed(true)
          : Effect.fail(unavailable("unreachable", false, "OpenAI does not accept a connection to the call")),
      ),
    )

  /** True when it is over. Idempotent. */
  const hangUp = (call: string): Effect.Effect<boolean, PlatformError> =>
    "request" in ending ? ending.request(call) : closeBy(ending.event, call)

  const hangUpSurely = (call: string) =>
    Effect.retry(hangUp(call), { times: HANG_UP.times, schedule: Schedule.spaced(HANG_UP.millis) })

  /** Holds a connection until it closes: for how long (ms), and whether it said that the call is over. Fails with the status of a refusal. */
  const hold = (
    call: string,
    hears: Hears | undefined,
  ): Effect.Effect<{ readonly millis: number; readonly isOver: boolean }, number> =>
    Effect.scoped(
      Effect.gen(function* () {
        const connection = yield* attach(call, hears)
        const from = yield* monotonicMillis
        held.set(call, connection)
        const isOver = yield* Effect.ensuring(
          connection.closed,
          Effect.sync(() => void held.delete(call)),
        )
        return { millis: (yield* monotonicMillis) - from, isOver }
      }),
    )

  const untilOver = Effect.fnUntraced(function* (call: string, hears: Hears | undefined) {
    let seen = false
    let unseen = 0
    let pause = REOPEN_MILLIS
    for (;;) {
      const result = yield* Effect.match(hold(call, hears), {
        onSuccess: (ended) => ({ ...ended, status: 101 }),
        onFailure: (status) => ({ millis: 0, isOver: false, status }),
      })
      if (result.isOver) return true
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
    hangUp,
    /** Completes when the call is over, at the latest at `until` (ms since 1970); false if it cannot be watched. */
    watch: (call: string, until: number, hears?: Hears): Effect.Effect<boolean, PlatformError> =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Effect.timeoutOrElse(untilOver(call, hears), {
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
