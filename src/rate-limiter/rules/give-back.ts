/**
 * Settles a caller's units when a ticket ends. `refund` removes the token's unit, unless the caller has used up its
 * refunds of the last hour; a unit that is not removed is no longer open. `missed` takes penalty units while the
 * token's own unit still counts, but never fills the log beyond `fullest` units. Idempotent.
 */

import type { SettlementKind } from "../../protocol/settlements.ts"
import type { Db } from "../../store/rules/db.ts"
import { LOWEST } from "../../store/rules/native.ts"
import type { Run } from "../../store/rules/run.ts"
import { DAY, HOUR, OPEN } from "./units.ts"

export interface GiveBackContext {
  readonly refundsPerHour: number
  /** penalty units of a missed turn, and the number of units up to which they may fill the log */
  readonly missedUnits: number
  readonly fullest: number
  /** maximum open units; 0 is no limit */
  readonly concurrent: number
  /** whether units still count after they are no longer open */
  readonly counted: boolean
  /** on this channel the log's key is published when a caller may be admitted again */
  readonly channel: string
}

export interface GiveBack {
  readonly token: string
  readonly kind: SettlementKind
}

/** Returns the number of changed units. */
export const giveBack = (
  db: Db,
  log: string,
  refunds: string,
  now: number,
  context: GiveBackContext,
  { kind, token }: GiveBack,
): number => {
  const { channel, concurrent, counted, fullest, missedUnits, refundsPerHour } = context
  const at = db.zscore(log, token) ?? -1
  const moment = at >= OPEN ? at - OPEN : at
  const counts = at >= 0 && moment > now - DAY
  if (kind === "refund" && counts) {
    db.zremrangebyscore(refunds, LOWEST, now - HOUR)
    if (db.zcard(refunds) < refundsPerHour) {
      db.zrem(log, token)
      db.zadd(refunds, now, token)
      db.pexpire(refunds, HOUR)
      db.publish(channel, log)
      return 1
    }
  }
  let changed = 0
  if (at >= OPEN) {
    changed = 1
    if (concurrent > 0 && db.zcountFrom(log, OPEN + now - DAY + 1) >= concurrent) db.publish(channel, log)
    if (counted) db.zadd(log, at - OPEN, token)
    else db.zrem(log, token)
  }
  if (kind === "missed" && counts) {
    db.zremrangebyscore(log, LOWEST, now - DAY)
    db.zremrangebyscore(log, OPEN, OPEN + now - DAY)
    for (let n = 1; n <= missedUnits && db.zcard(log) < fullest; n++) {
      const unit = `${token}+${n}`
      if (db.zscore(log, unit) === undefined) {
        db.zadd(log, now, unit)
        changed++
      }
      db.pexpire(log, DAY)
    }
  }
  return changed
}

/** Keys: a caller's log and refunds. */
export const runGiveBack: Run<GiveBackContext, GiveBack, number> = (db, keys, now, context, calls) => {
  const answers: Array<number> = []
  for (const call of calls) answers.push(giveBack(db, keys[0] as string, keys[1] as string, now, context, call))
  return answers
}
