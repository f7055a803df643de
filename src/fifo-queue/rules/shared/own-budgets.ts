/**
 * Waiting tickets whose callers have too little left of a budget of their own (`OnLimit: wait`, `Of: caller`). Such a ticket keeps its place
 * and is `parked`: until the last of the budgets that have too little begins anew, or until a gate finds that they have enough again
 * (`../unpaid.ts`). Meanwhile those behind it are called and newcomers start, and it counts in nobody's place.
 *
 * `unpaid` has these tickets by their order of acceptance, at most `MAX_UNPAID` of a campaign: each search for the next ticket to call skips
 * them one by one. When no gate's settings have such a budget any more, they are all called (`releaseUnpaid`). While one still has it, as during
 * a reload of several gates, they wait on: otherwise that gate would refuse their starts, and they would be called again and again.
 *
 * A step asks for them only with `awaitsOwn`, so that without such budgets none of this costs a command, but for one of each sweep. Without
 * `awaitsOwn` nobody counts as one of them.
 */
import { ALL, LOWEST, textOf } from "../../../store/rules/native.ts"
import type { Hindrances } from "../../answers.ts"
import { noteChange } from "./changes.ts"
import { meta, type Step } from "./step.ts"

/** How many callers of a campaign may wait for budgets of their own. */
export const MAX_UNPAID = 100
/** So long after a gate last said that callers wait for budgets of their own, no gate's settings have them (ms). A gate sweeps each second. */
export const OWN_TOLD_MILLIS = 5_000

/** A gate says that callers wait for budgets of their own. */
const tellOwn = (s: Step): void => s.db.hset(s.keys.meta, "ownBudgetsAt", `${s.now}`)

/**
 * Whether the ticket waits for a budget of its caller.
 * @lazy
 */
export const isUnpaid = (s: Step, id: string): boolean => s.db.zscore(s.keys.unpaid, id) !== undefined

/**
 * How many of them are older than this waiting ticket.
 * @lazy
 */
export const unpaidBefore = (s: Step, id: string): number => {
  const count = s.db.zcard(s.keys.unpaid)
  return count === 0 ? 0 : count - s.db.zcountFrom(s.keys.unpaid, s.db.zscore(s.keys.waiting, id) ?? 0)
}

/**
 * Whether another ticket may wait for a budget of its caller.
 * @lazy
 */
export const mayAwaitOwn = (s: Step): boolean => s.db.zcard(s.keys.unpaid) < MAX_UNPAID

/**
 * The waiting ticket is not called until then, unless its caller's budgets have enough before.
 * @lazy
 */
export const awaitOwn = (s: Step, id: string, seq: number, until: number): void => {
  s.db.zadd(s.keys.parked, until, id)
  s.db.zadd(s.keys.unpaid, seq, id)
  tellOwn(s)
  noteChange(s, id)
}

/**
 * The ticket may be called again, at its own place.
 * @lazy
 */
export const payFor = (s: Step, id: string): void => {
  s.db.zrem(s.keys.unpaid, id)
  s.db.zrem(s.keys.parked, id)
  noteChange(s, id)
}

/** When the budgets of a waiting ticket's caller have more again at the latest, and how long that is from now (ms). */
interface Resumption {
  readonly resumesAt?: number
  readonly heldMillis?: number
}

/**
 * Empty for a ticket that does not wait for them.
 * @lazy
 */
export const ownResumption = (s: Step, id: string): Resumption => {
  const at = isUnpaid(s, id) ? s.db.zscore(s.keys.parked, id) : undefined
  return at === undefined ? {} : { resumesAt: at, heldMillis: Math.max(0, at - s.now) }
}

/**
 * Adds to an answer about a waiting ticket until when it waits for a budget of its caller.
 * @lazy
 */
export const withOwnBudget = <A extends Hindrances>(s: Step, id: string, answer: A): A => {
  const own = ownResumption(s, id)
  return (own.resumesAt ?? 0) <= (answer.resumesAt ?? 0) ? answer : { ...answer, ...own }
}

/**
 * Lets those be called whose time has come, and those that are not parked any more, as by a gate of an older version; all of them when no gate
 * has such budgets any more.
 * @lazy
 */
export const releaseUnpaid = (s: Step): void => {
  if (s.context.awaitsOwn === true) tellOwn(s)
  const isRemoved = Math.abs(s.now - meta(s, "ownBudgetsAt")) > OWN_TOLD_MILLIS
  for (const id of s.db.zrange(s.keys.unpaid, 0, ALL)) {
    const until = s.db.zscore(s.keys.parked, id) ?? 0
    if (isRemoved || until < s.now) payFor(s, id)
  }
}

/**
 * Has all be called again that are parked until then, but for those that wait for budgets of their callers.
 * @lazy
 */
export const unparkOthers = (s: Step, until: number): void => {
  const kept: Array<number | string> = []
  for (const id of s.db.zrange(s.keys.unpaid, 0, ALL)) {
    const at = s.db.zscore(s.keys.parked, id)
    if (at !== undefined && at <= until) {
      kept.push(textOf(at))
      kept.push(id)
    }
  }
  s.db.zremrangebyscore(s.keys.parked, LOWEST, until)
  if (kept.length > 0) s.db.zaddMany(s.keys.parked, kept)
}

/**
 * Whether nobody waits but for budgets of their own: then a newcomer may start before them.
 * @param length how many wait
 * @lazy
 */
export const onlyUnpaidWait = (s: Step, length: number): boolean => {
  if (length > s.db.zcard(s.keys.unpaid)) return false
  for (const id of s.db.zrange(s.keys.waiting, 0, length)) if (!isUnpaid(s, id)) return false
  return true
}

/**
 * `seq` of the first tickets that wait for no budget of their callers, in order.
 * @lazy
 */
export const firstPaidSeqs = (s: Step, count: number): ReadonlyArray<number> => {
  const unpaid: { [seq: string]: boolean } = {}
  for (const seq of s.db.zscoresByRank(s.keys.unpaid, 0, MAX_UNPAID)) unpaid[textOf(seq)] = true
  const first: Array<number> = []
  for (const seq of s.db.zscoresByRank(s.keys.waiting, 0, count + MAX_UNPAID)) {
    if (unpaid[textOf(seq)] !== true && first.length < count) first.push(seq)
  }
  return first
}
