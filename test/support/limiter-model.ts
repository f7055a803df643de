/** What the rate limiter must answer, worked out in the plainest way: every request is kept, and counted when asked. */

const HOUR = 3_600_000
const DAY = 86_400_000

export interface Limits {
  readonly hourly: number
  readonly daily: number
  readonly concurrent: number
}

interface Unit {
  readonly token: string
  readonly at: number
}

/**
 * The budgets of one caller. A limit of 0 is none, and a figure without its limit is not defined; what is taken while there
 * is no limit for it does not count when there is one later.
 */
export class LimiterModel {
  /** may change: settings do, from one start of the gate to the next */
  limits: Limits
  private requests: ReadonlyArray<Unit> = []
  private held: ReadonlyArray<Unit> = []

  constructor(limits: Limits) {
    this.limits = limits
  }

  /** The moments of the requests that count in a window, oldest first. */
  private within(window: number, now: number): ReadonlyArray<number> {
    return this.requests
      .filter(({ at }) => at > now - window)
      .map(({ at }) => at)
      .sort((a, b) => a - b)
  }

  private holding(now: number): number {
    return this.held.filter(({ at }) => at > now - DAY).length
  }

  take(token: string, now: number): boolean {
    const { hourly, daily, concurrent } = this.limits
    const refused =
      (hourly > 0 && this.within(HOUR, now).length >= hourly) ||
      (daily > 0 && this.within(DAY, now).length >= daily) ||
      (concurrent > 0 && this.holding(now) >= concurrent)
    if (refused) return false
    if (hourly > 0 || daily > 0) this.requests = [...this.requests, { token, at: now }]
    if (concurrent > 0) this.held = [...this.held, { token, at: now }]
    return true
  }

  refund(token: string): void {
    this.release(token)
    this.requests = this.requests.filter((unit) => unit.token !== token)
  }

  release(token: string): void {
    this.held = this.held.filter((unit) => unit.token !== token)
  }

  /** How much of each budget is used, and when (ms) it has a unit more than now; 0 when nothing is used. */
  figures(now: number) {
    const window = (length: number, limit: number) => {
      const counted = this.within(length, now)
      const oldest = counted[Math.max(0, counted.length - limit)]
      return { used: counted.length, reset: oldest === undefined ? 0 : oldest + length }
    }
    return {
      hour: window(HOUR, this.limits.hourly),
      day: window(DAY, this.limits.daily),
      concurrent: this.holding(now),
    }
  }
}
