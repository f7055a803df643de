/**
 * The pages of an instance that has no store: its readiness is false, so that a load balancer sends them to another one when they
 * connect again. They are told to, once in an outage and spread over some seconds, long before their places are given up
 * by the other instances. Where the whole store is away, every instance sends its pages away, which then ask again at growing
 * intervals; when it is back, they are kept present until they had time to return.
 *
 * Only a store that cannot be reached counts: what it refuses, it refuses every instance.
 */
import { Clock, Effect, Fiber, type Scope } from "effect"
import { PushChannel } from "../PushChannel.ts"
import { Settings } from "../Settings.ts"

/** The store must not have been reached for this long (ms), or for a third of the grace where that is less, but at least for: */
export const AWAY_MILLIS = 10_000
const AWAY_LEAST_MILLIS = 2_000
/** So long after a failure the store must have failed again. */
const AGAIN_MILLIS = 900
/** How long pages that were sent away are kept present after the store is back. They ask again every 12 s at the latest. */
export const RETURN_MILLIS = 15_000

/** After which time without store pages are sent away, and within which (ms). */
export const strandedAfter = (graceMillis: number): { readonly after: number; readonly within: number } => {
  const after = Math.max(AWAY_LEAST_MILLIS, Math.min(AWAY_MILLIS, graceMillis / 3))
  return { after, within: after / 2 }
}

export interface Stranded {
  /** Something was asked of the store: whether it was reached. */
  readonly reached: (reached: boolean) => Effect.Effect<void>
  /** Tickets whose pages were sent away and had no time to return yet. */
  readonly tickets: () => ReadonlyArray<string>
}

export const makeStranded: Effect.Effect<Stranded, never, PushChannel | Settings | Scope.Scope> = Effect.gen(
  function* () {
    const { sendAway, tickets } = yield* PushChannel
    const { DisconnectGraceSeconds } = (yield* Settings).Queue
    const scope = yield* Effect.scope
    const clock = yield* Clock.Clock
    const { after, within } = strandedAfter(DisconnectGraceSeconds * 1000)
    /** a clock that nobody sets (ms) */
    const steady = (): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)

    let reachedAt = steady()
    /** since when nothing reached it */
    let failing: number | undefined
    let told = false
    let sending: Fiber.Fiber<void> | undefined
    let gone: ReadonlyArray<string> = []
    let until = 0

    const back = Effect.suspend(() => {
      const fiber = sending
      reachedAt = steady()
      failing = undefined
      sending = undefined
      if (told) until = reachedAt + RETURN_MILLIS
      told = false
      return fiber === undefined ? Effect.void : Fiber.interrupt(fiber)
    })

    const away = Effect.gen(function* () {
      const now = steady()
      failing ??= now
      const millis = now - reachedAt
      // a process that stood still has reached nothing for long, and may reach it the next time
      if (sendAway === undefined || told || millis < after || now - failing < AGAIN_MILLIS) return
      told = true
      gone = yield* tickets
      if (gone.length > 0) {
        yield* Effect.logWarning(
          `The store has been away for ${Math.round(millis / 1000)} s; ${gone.length} waiting pages are sent to other instances.`,
        )
      }
      sending = yield* Effect.forkIn(sendAway(within), scope)
    })

    return {
      reached: (reached) => (reached ? back : away),
      tickets: () => {
        if (!told && steady() > until) gone = []
        return gone
      },
    }
  },
)
