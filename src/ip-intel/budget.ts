/**
 * A budget of lookups: never more than `perMinute` in any 60 seconds of this process. Remembers when each of the last
 * `perMinute` lookups was made, so unlike a fixed window it lets no double burst through at a boundary.
 */
const WINDOW_MILLIS = 60_000

/** Takes one lookup at the time `now` (milliseconds); false when the budget is used up. */
export type Budget = (now: number) => boolean

export const makeBudget = (perMinute: number): Budget => {
  const taken = new Float64Array(Math.max(0, perMinute)).fill(Number.NEGATIVE_INFINITY)
  let oldest = 0
  return (now) => {
    const at = taken[oldest]
    if (at === undefined || now - at < WINDOW_MILLIS) return false
    taken[oldest] = now
    oldest = (oldest + 1) % taken.length
    return true
  }
}
