/**
 * How old something is by a clock that may be set back. A moment that lies in the future is not young: what was kept then is looked up
 * again, what was counted then is over.
 */
import { Clock, Effect } from "effect"

/** The time since `at` in milliseconds; Infinity when that is in the future. */
export const ageOf = (at: number, now: number): number => (now < at ? Number.POSITIVE_INFINITY : now - at)

/** Whether a window of this length that ends at `endsAt` is open now. */
export const isOpen = (endsAt: number, length: number, now: number): boolean => endsAt > now && endsAt - now <= length

/** The time of the monotonic clock in milliseconds, for what only this process measures. */
export const monotonicMillis: Effect.Effect<number> = Effect.map(
  Clock.monotonicTimeNanos,
  (nanos) => Number(nanos / 1_000n) / 1_000,
)
