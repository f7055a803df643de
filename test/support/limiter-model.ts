/** A reference model of the rate limiter: it stores every unit and counts them on each query. */

const HOUR = 3_600_000
const DAY = 86_400_000

export interface Limits {
  readonly hourly: number
  readonly daily: number
  readonly concurrent: number
  /** refunds per hour; 10 when absent, as in the settings */
  readonly refunds?: number
  /** units that a missed turn costs in all; 1 when absent, as in the settings */
  readonly missed?: number
}

interface Unit {
  readonly token: string
  readonly at: number
  /** its ticket has not ended */
  readonly open: boolean
}

/** The budgets of one caller. A limit of 0 is no limit, and a figure without its limit is undefined. */
export class LimiterModel {
  /** may change, as settings do from one start of the gate to the next */
  limits: Limits
  private units: ReadonlyArray<Unit> = []
  /** when units were given back */
  private refunds: ReadonlyArray<number> = []

  constructor(limits: Limits) {
    this.limits = limits
  }

  /** The times of the units that count in a window, oldest first. */
  private within(window: number, now: number): ReadonlyArray<number> {
    return this.units
      .filter(({ at }) => at > now - window)
      .map(({ at }) => at)
      .sort((a, b) => a - b)
  }

  private open(now: number): number {
    return this.units.filter(({ at, open }) => open && at > now - DAY).length
  }

  take(token: string, now: number): boolean {
    const { concurrent, daily, hourly } = this.limits
    const refused =
      (hourly > 0 && this.within(HOUR, now).length >= hourly) ||
      (daily > 0 && this.within(DAY, now).length >= daily) ||
      (concurrent > 0 && this.open(now) >= concurrent)
    if (refused) return false
    this.units = [...this.units, { token, at: now, open: concurrent > 0 }]
    return true
  }

  private without(token: string): ReadonlyArray<Unit> {
    return this.units.filter((unit) => unit.token !== token)
  }

  refund(token: string, now: number): void {
    // expired units are dropped
    const known = this.units.some((unit) => unit.token === token && unit.at > now - DAY)
    const recent = this.refunds.filter((at) => at > now - HOUR).length
    if (known && recent < (this.limits.refunds ?? 10)) {
      this.units = this.without(token)
      this.refunds = [...this.refunds, now]
    } else {
      this.release(token)
    }
  }

  release(token: string): void {
    const { daily, hourly } = this.limits
    const unit = this.units.find((each) => each.token === token)
    if (unit?.open !== true) return
    this.units = [...this.without(token), ...(hourly > 0 || daily > 0 ? [{ ...unit, open: false }] : [])]
  }

  missed(token: string, now: number): void {
    const { daily, hourly } = this.limits
    const taken = this.units.some((unit) => unit.token === token && unit.at > now - DAY)
    this.release(token)
    if (!taken || (hourly === 0 && daily === 0)) return
    const fullest = daily > 0 ? daily : hourly * 24
    for (let n = 1; n < (this.limits.missed ?? 1) && this.within(DAY, now).length < fullest; n++) {
      const known = this.units.some((unit) => unit.token === `${token}+${n}` && unit.at > now - DAY)
      if (!known) this.units = [...this.units, { token: `${token}+${n}`, at: now, open: false }]
    }
  }

  /** How much of each budget is used, and when (ms) it gains a unit; 0 when nothing is used. */
  figures(now: number) {
    const window = (length: number, limit: number) => {
      const counted = this.within(length, now)
      const oldest = counted[Math.max(0, counted.length - limit)]
      return { used: counted.length, reset: oldest === undefined ? 0 : oldest + length }
    }
    return {
      hour: window(HOUR, this.limits.hourly),
      day: window(DAY, this.limits.daily),
      concurrent: this.open(now),
    }
  }
}
