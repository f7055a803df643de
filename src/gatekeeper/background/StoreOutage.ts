/**
 * Moves the connected pages of an instance that has lost the store to other instances. The instance is not ready, so a load
 * balancer sends reconnecting pages elsewhere. Pages are told once per outage to reconnect, spread over some seconds, long
 * before other instances would take their tickets for absent. If the store is down for every instance, pages retry with
 * growing delays; when it is back, their tickets are kept present until the pages had time to return.
 *
 * Only a store that cannot be reached counts: an error that the store answers would be the same on every instance.
 */
import { Clock, Context, Effect, Fiber, Layer } from "effect"
import { PushChannel } from "../../push-channel/PushChannel.ts"
import { Settings } from "../../settings/Settings.ts"

/**
 * Pages are moved after the store was unreachable for this time, or a third of the disconnect grace if shorter, but not before
 * `MIN_OUTAGE_MILLIS` (ms).
 */
export const OUTAGE_MILLIS = 10_000
const MIN_OUTAGE_MILLIS = 2_000
/** The failures must span at least this time (ms). */
const MIN_FAILING_MILLIS = 900
/** How long moved pages are kept present after the store is back (ms). They retry at least every 12 s. */
export const RETURN_MILLIS = 15_000

/** After what time without the store pages are moved, and over what time that is spread (ms). */
export const reconnectTimes = (graceMillis: number): { readonly after: number; readonly within: number } => {
  const after = Math.max(MIN_OUTAGE_MILLIS, Math.min(OUTAGE_MILLIS, graceMillis / 3))
  return { after, within: after / 2 }
}

export class StoreOutage extends Context.Service<
  StoreOutage,
  {
    readonly record: (reached: boolean) => Effect.Effect<void>
    /** Tickets whose pages were moved and may not have returned yet. */
    readonly tickets: () => ReadonlyArray<string>
  }
>()("voicegate/gatekeeper/StoreOutage") {}

/** The tickets that the gatekeeper which this one replaces has moved, when settings are reloaded soon after an outage. */
export const MovedBefore = Context.Reference<ReadonlyArray<string>>("voicegate/gatekeeper/MovedBefore", {
  defaultValue: () => [],
})

export const layer: Layer.Layer<StoreOutage, never, PushChannel | Settings> = Layer.effect(
  StoreOutage,
  Effect.gen(function* () {
    const { sendAway, tickets } = yield* PushChannel
    const { DisconnectGraceSeconds } = (yield* Settings).Queue
    const scope = yield* Effect.scope
    const clock = yield* Clock.Clock
    const { after, within } = reconnectTimes(DisconnectGraceSeconds * 1000)
    /** a monotonic clock (ms) */
    const monotonicMillis = (): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)

    let reachedAt = monotonicMillis()
    /** time of the first failure since the last success */
    let failingSince: number | undefined
    let moving = false
    let mover: Fiber.Fiber<void> | undefined
    let moved = yield* MovedBefore
    let keepUntil = moved.length > 0 ? reachedAt + RETURN_MILLIS : 0

    const onReached = Effect.suspend(() => {
      const fiber = mover
      reachedAt = monotonicMillis()
      failingSince = undefined
      mover = undefined
      if (moving) keepUntil = reachedAt + RETURN_MILLIS
      moving = false
      return fiber === undefined ? Effect.void : Fiber.interrupt(fiber)
    })

    const onUnreachable = Effect.gen(function* () {
      const now = monotonicMillis()
      failingSince ??= now
      const millis = now - reachedAt
      // a process that was suspended may have a long gap and still reach the store on the next try
      if (sendAway === undefined || moving || millis < after || now - failingSince < MIN_FAILING_MILLIS) return
      moving = true
      moved = yield* tickets
      if (moved.length > 0) {
        yield* Effect.logWarning(
          `The store has been unreachable for ${Math.round(millis / 1000)} s; ${moved.length} waiting pages are told to reconnect elsewhere.`,
        )
      }
      mover = yield* Effect.forkIn(sendAway(within), scope)
    })

    return {
      record: (reached) => (reached ? onReached : onUnreachable),
      tickets: () => {
        if (!moving && monotonicMillis() > keepUntil) moved = []
        return moved
      },
    }
  }),
)
