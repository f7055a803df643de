/** Takes one unit of every budget, or of none. */

import type { Db } from "../../store/rules/db.ts"
import { HIGHEST, LOWEST, sortNumbers, textOf } from "../../store/rules/native.ts"
import type { Run } from "../../store/rules/run.ts"
import type { LimitName, Taken, Usage } from "../answers.ts"
import { type Budgets, DAY, HOUR, OPEN } from "./units.ts"

export interface Take {
  /** names the unit, so that it can be given back; must be new */
  readonly token: string
  /** the caller of this rule needs the usage only when nothing is taken */
  readonly omitUsage?: true
}

/** The limit that refused a take with this usage. */
export const exhausted = ({ daily, hourly }: Budgets, { day, hour }: Usage): LimitName => {
  if (daily > 0 && day >= daily) return "day"
  return hourly > 0 && hour >= hourly ? "hour" : "concurrent"
}

/** @lazy */
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

/** The units of a caller that count now. */
interface Used {
  readonly hour: number
  readonly day: number
  readonly open: number
}

const NONE: Used = { hour: 0, day: 0, open: 0 }

/** Counts the units exactly, and removes the expired ones. */
const countUnits = (db: Db, log: string, now: number): Used => {
  db.zremrangebyscore(log, LOWEST, now - DAY)
  let open = db.zcountFrom(log, OPEN)
  if (open > 0) open -= db.zremrangebyscore(log, OPEN, OPEN + now - DAY)
  const hour = db.zcountFrom(log, now - HOUR + 1) - open
  return { hour: open > 0 ? hour + openSince(db, log, now - HOUR) : hour, day: db.zcard(log), open }
}

const usageOf = (
  db: Db,
  log: string,
  now: number,
  { daily, hourly }: Budgets,
  { day, hour, open }: Used,
  taken: boolean,
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

/** What all takes of a step from the same budgets share. */
export interface Taking {
  readonly now: number
  readonly budgets: Budgets
  /** the score of a new unit, in its stored form */
  readonly score: string
}

export const takingOf = (now: number, budgets: Budgets): Taking => ({
  now,
  budgets,
  score: textOf(budgets.concurrent > 0 ? OPEN + now : now),
})

/** Whether there is room even if the expired units counted, and the caller is near no limit. Then no exact count is needed. */
const isRoomy = (db: Db, log: string, { budgets, now }: Taking, units: number): boolean => {
  const { concurrent, daily, hourly, nearDaily = HIGHEST, nearHourly = HIGHEST } = budgets
  return (
    (hourly === 0 || units < hourly) &&
    (daily === 0 || units < daily) &&
    units + 1 < nearHourly &&
    units + 1 < nearDaily &&
    (concurrent === 0 || units < concurrent || openSince(db, log, now - DAY) < concurrent)
  )
}

const addUnit = (db: Db, log: string, { score }: Taking, token: string): void => {
  db.zaddMany(log, [score, token])
  db.pexpire(log, DAY)
}

export const TAKEN: Taken = { taken: true }

/**
 * Takes a unit after an exact count.
 * @param units those in the log, some of which may be expired
 * @lazy
 */
const takeCounted = (db: Db, log: string, taking: Taking, token: string, omitUsage: boolean, units: number): Taken => {
  const { budgets, now } = taking
  const { concurrent, daily, hourly, nearDaily = HIGHEST, nearHourly = HIGHEST } = budgets
  const used = units === 0 ? NONE : countUnits(db, log, now)
  const isFree =
    (hourly === 0 || used.hour < hourly) &&
    (daily === 0 || used.day < daily) &&
    (concurrent === 0 || used.open < concurrent)
  if (!isFree) return { taken: false, usage: usageOf(db, log, now, budgets, used, false) }
  addUnit(db, log, taking, token)
  const counted = { hour: used.hour + 1, day: used.day + 1, open: concurrent > 0 ? used.open + 1 : used.open }
  if (!omitUsage) return { taken: true, usage: usageOf(db, log, now, budgets, counted, true) }
  const near = { hour: counted.hour >= nearHourly, day: counted.day >= nearDaily }
  return near.hour || near.day ? { taken: true, near } : TAKEN
}

/**
 * @param token names the unit, so that it can be given back; must be new
 * @param omitUsage the caller of this rule needs the usage only when nothing is taken
 */
export const take = (db: Db, log: string, taking: Taking, token: string, omitUsage: boolean): Taken => {
  const units = db.zcard(log)
  if (!omitUsage || !isRoomy(db, log, taking, units)) return takeCounted(db, log, taking, token, omitUsage, units)
  addUnit(db, log, taking, token)
  return TAKEN
}

/** Keys: the log of each caller. */
export const runTake: Run<Budgets, Take, Taken> = (db, keys, now, budgets, calls) => {
  const answers: Array<Taken> = []
  const taking = takingOf(now, budgets)
  for (let i = 0; i < calls.length; i++) {
    const { omitUsage, token } = calls[i] as Take
    answers.push(take(db, keys[i] as string, taking, token, omitUsage === true))
  }
  return answers
}
