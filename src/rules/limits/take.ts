/** Takes one unit of every budget, or of none. */
import type { Db } from "../db.ts"
import { HIGHEST, LOWEST, sortNumbers } from "../native.ts"
import { type Budgets, DAY, HOUR, OPEN } from "./units.ts"

export interface Take {
  /** names the unit, so that it can be given back; must be new */
  readonly token: string
  /** the caller of this rule needs the usage only when nothing is taken */
  readonly omitUsage?: true
}

/**
 * Used units after this take. A reset is the time (ms since 1970) when the budget gains a unit, or 0. `openReset` is
 * set only when nothing was taken: the time when the oldest open unit expires by itself.
 */
export interface Usage {
  readonly hour: number
  readonly hourReset: number
  readonly day: number
  readonly dayReset: number
  readonly open: number
  readonly openReset: number
}

/** Which limits the caller is near, after this take. */
export interface Near {
  readonly hour: boolean
  readonly day: boolean
}

export interface Taken {
  readonly taken: boolean
  readonly usage?: Usage
  /** only with `omitUsage`; absent for a caller who is near no limit */
  readonly near?: Near
}

/** A limit that is exhausted. */
export type LimitName = "hour" | "day" | "concurrent"

/** The limit that refused a take with this usage. */
export const exhausted = ({ daily, hourly }: Budgets, { day, hour }: Usage): LimitName => {
  if (daily > 0 && day >= daily) return "day"
  return hourly > 0 && hour >= hourly ? "hour" : "concurrent"
}

const openSince = (db: Db, log: string, ago: number): number => db.zcountFrom(log, OPEN + ago + 1)

/** When the oldest units between two scores were taken (ms), at most `count`. */
const momentsOf = (db: Db, log: string, min: number, max: number, count: number, offset: number): Array<number> => {
  const moments: Array<number> = []
  for (const unit of db.zrangebyscore(log, min, max, count)) moments.push((db.zscore(log, unit) ?? 0) - offset)
  return moments
}

/** When a budget of `limit` units in this window, with `used` units used, gains a unit (ms). */
const resetOf = (
  db: Db,
  log: string,
  now: number,
  window: number,
  limit: number,
  used: number,
  open: number,
): number => {
  if (limit === 0 || used === 0) return 0
  const count = Math.max(used - limit, 0) + 1
  const from = now - window + 1
  if (open === 0) {
    const unit = db.zrangebyscore(log, from, OPEN - 1, 1, count - 1)[0]
    return (unit === undefined ? 0 : (db.zscore(log, unit) ?? 0)) + window
  }
  const moments = momentsOf(db, log, from, OPEN - 1, count, 0)
  for (const moment of momentsOf(db, log, OPEN + from, HIGHEST, count, OPEN)) moments.push(moment)
  return (sortNumbers(moments)[count - 1] ?? 0) + window
}

/** The usage that a take answers with. */
const usageOf = (
  db: Db,
  log: string,
  now: number,
  { daily, hourly }: Budgets,
  {
    day,
    hour,
    open,
    taken,
  }: { readonly hour: number; readonly day: number; readonly open: number; readonly taken: boolean },
): Usage => {
  const oldestOpen = taken || open === 0 ? undefined : momentsOf(db, log, OPEN, HIGHEST, 1, OPEN)[0]
  return {
    hour,
    hourReset: resetOf(db, log, now, HOUR, hourly, hour, open),
    day,
    dayReset: resetOf(db, log, now, DAY, daily, day, open),
    open,
    openReset: oldestOpen === undefined ? 0 : oldestOpen + DAY,
  }
}

export const take = (db: Db, log: string, now: number, budgets: Budgets, { omitUsage, token }: Take): Taken => {
  const { concurrent, daily, hourly, nearDaily = HIGHEST, nearHourly = HIGHEST } = budgets
  let day = db.zcard(log)
  let hour = 0
  let open = 0
  // expired units are counted here too: if there is room even so, no exact count is needed
  const isRoomy =
    omitUsage === true &&
    (hourly === 0 || day < hourly) &&
    (daily === 0 || day < daily) &&
    day + 1 < nearHourly &&
    day + 1 < nearDaily &&
    (concurrent === 0 || day < concurrent || openSince(db, log, now - DAY) < concurrent)
  if (day > 0 && !isRoomy) {
    db.zremrangebyscore(log, LOWEST, now - DAY)
    open = db.zcountFrom(log, OPEN)
    if (open > 0) open -= db.zremrangebyscore(log, OPEN, OPEN + now - DAY)
    day = db.zcard(log)
    hour = db.zcountFrom(log, now - HOUR + 1) - open
    if (open > 0) hour += openSince(db, log, now - HOUR)
  }
  const taken =
    (hourly === 0 || hour < hourly) && (daily === 0 || day < daily) && (concurrent === 0 || open < concurrent)
  if (taken) {
    db.zadd(log, concurrent > 0 ? OPEN + now : now, token)
    db.pexpire(log, DAY)
    if (concurrent > 0) open++
    day++
    hour++
    if (omitUsage === true) {
      const near = { hour: hour >= nearHourly, day: day >= nearDaily }
      return !isRoomy && (near.hour || near.day) ? { taken, near } : { taken }
    }
  }
  return { taken, usage: usageOf(db, log, now, budgets, { hour, day, open, taken }) }
}
