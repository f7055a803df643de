/**
 * Drops the events of a campaign that no gate has events of any more: it was removed from the settings, or its `Events` were. They are kept as long as
 * those of other campaigns, since both may come back. What is left in the end is `state`, so that a cursor before the dropped events is told.
 */
import type { Db } from "../../store/rules/db.ts"
import { numberOf } from "../../store/rules/native.ts"
import type { Faded } from "../answers.ts"
import { dropOld, type Kept } from "./keep.ts"
import { logOf } from "./shared/log.ts"

export interface Fade extends Kept {
  /** nothing is done while a gate has served the campaign within this time (ms); absent where the asking gate serves it */
  readonly unservedMillis?: number
}

export const fadeEvents = (
  db: Db,
  keys: ReadonlyArray<string>,
  now: number,
  { unservedMillis, ...kept }: Fade,
): Faded => {
  const log = logOf(db, keys, now)
  const { chains, deliveries, due, events, failed, meta, pending } = log.keys
  const sweptAt = unservedMillis === undefined ? 0 : numberOf(db.hget(meta, "sweptAt"))
  if (sweptAt > now - (unservedMillis ?? 0)) return { stored: db.zcard(events), more: false }
  const more = dropOld(log, kept)
  const stored = db.zcard(events)
  if (stored === 0) for (const key of [pending, chains, due, deliveries, failed]) db.del(key)
  return { stored, more }
}
