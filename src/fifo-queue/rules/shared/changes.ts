/**
 * What has changed in the queue, so that a gate asks only for those of its tickets that are concerned. `changed` (meta) counts the
 * changes; `changes` has the ids of the last ones by that counter, each once. An id is noted when its ticket begins to wait again or
 * ceases to wait, and when the gate that holds its connection must look at its presence. A newcomer is not: no gate knows it yet. Ids are
 * forgotten after some minutes, so that a queue in which nothing happens takes no memory for what has happened in it.
 *
 * Older gates note nothing. A gate finds their changes by the first places and by how many tickets it holds (`../heartbeat.ts`).
 */
import { HIGHEST, LOWEST } from "../../../store/rules/native.ts"
import type { Step } from "./step.ts"

/**
 * How many ids are kept; a gate that is further behind asks for all of its tickets. More than a gate holds: otherwise each gate that stops or dies
 * would make all others ask for all of theirs.
 */
export const MAX_CHANGES = 30_000
/** How often older ids are removed: once in so many changes. */
const TRIM_EVERY = 250
/** Ids are kept for at least so long (ms), and for twice as long at most. */
export const CHANGES_MILLIS: number = 10 * 60_000
/** The most ids that one step returns. */
export const MAX_CHANGES_PER_STEP = 500

export const noteChange = (s: Step, id: string): void => {
  const changed = s.db.hincrby(s.keys.meta, "changed", 1)
  s.db.zadd(s.keys.changes, changed, id)
  if (changed % TRIM_EVERY !== 0) return
  // damaged: later than the last change
  s.db.zremrangebyscore(s.keys.changes, changed + 1, HIGHEST)
  s.db.zkeepLast(s.keys.changes, MAX_CHANGES)
}

/** Whether the last sweep was in an earlier period than this step. */
export const isForgettingDue = (s: Step, sweptAt: number): boolean =>
  sweptAt > 0 && Math.floor(s.now / CHANGES_MILLIS) > Math.floor(sweptAt / CHANGES_MILLIS)

/**
 * Forgets the ids of the period before the last one.
 * @lazy
 */
export const forgetChanges = (s: Step): void => {
  const [changed = 0, before = 0] = s.db.hgetNumbers(s.keys.meta, ["changed", "changedBefore"])
  s.db.zremrangebyscore(s.keys.changes, LOWEST, before)
  s.db.hsetMany(s.keys.meta, ["changesFrom", `${before}`, "changedBefore", `${changed}`])
}

/** The changes after `since`. */
export interface Changes {
  /** the last change among them */
  readonly until: number
  /** there are more after it */
  readonly more: boolean
  readonly ids: ReadonlyArray<string>
  /** some are not known any more */
  readonly lost: boolean
}

export const changesSince = (s: Step, since: number): Changes => {
  const [changed = 0, from = 0] = s.db.hgetNumbers(s.keys.meta, ["changed", "changesFrom"])
  // the counter is behind when the store has lost it
  if (changed < since || since < from || changed - since > MAX_CHANGES) {
    return { until: changed, more: false, ids: [], lost: true }
  }
  if (changed === since) return { until: changed, more: false, ids: [], lost: false }
  const ids = s.db.zrangebyscore(s.keys.changes, since + 1, changed, MAX_CHANGES_PER_STEP)
  const last = ids[MAX_CHANGES_PER_STEP - 1]
  const until = last === undefined ? changed : (s.db.zscore(s.keys.changes, last) ?? changed)
  return { until, more: until < changed, ids, lost: false }
}
