/**
 * How often somebody may do something: counts in windows of one minute, in this process. Several processes count apart, so
 * together they allow as many times more; what must be exact (the account's calls at once) is not counted here.
 */
import { boundedCache } from "../bounded-cache.ts"

/** The length of a window, in milliseconds. */
export const WINDOW_MILLIS = 60_000

/** What is left after a use, and when the window ends. */
export interface Left {
  readonly allowed: boolean
  readonly remaining: number
  readonly resetSeconds: number
}

export interface Budget {
  /** Uses one, when there is one. */
  readonly use: (who: string, now: number) => Left
  /** What a use would find. */
  readonly look: (who: string, now: number) => Left
}

/**
 * A budget of `limit` uses a minute; 0 is no limit. It remembers the `kept` latest who used it: whoever is forgotten begins
 * anew, so the memory is bounded under a flood of new callers.
 */
export const makeBudget = (limit: number, kept = 10_000): Budget => {
  const windows = boundedCache<{ used: number; endsAt: number }>(kept)
  const unlimited: Left = { allowed: true, remaining: Number.MAX_SAFE_INTEGER, resetSeconds: 0 }
  const left = (used: number, endsAt: number, now: number): Left => ({
    allowed: used <= limit,
    remaining: Math.max(0, limit - used),
    resetSeconds: Math.max(1, Math.ceil((endsAt - now) / 1000)),
  })
  const windowOf = (who: string, now: number) => {
    const window = windows.get(who)
    return window !== undefined && window.endsAt > now ? window : { used: 0, endsAt: now + WINDOW_MILLIS }
  }
  return {
    use: (who, now) => {
      if (limit === 0) return unlimited
      const window = windowOf(who, now)
      window.used = Math.min(window.used + 1, limit + 1)
      windows.set(who, window)
      return left(window.used, window.endsAt, now)
    },
    look: (who, now) => {
      if (limit === 0) return unlimited
      const { endsAt, used } = windowOf(who, now)
      return left(used + 1, endsAt, now)
    },
  }
}
