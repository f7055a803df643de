/**
 * Whether a session that its caller may leave and open again, such as a room, had more than one meeting. Keys: one of the session, a text:
 * `one` and its meeting, or `several`.
 */
import type { Db } from "../../../store/rules/db.ts"

const SEVERAL = "several"

export interface Meeting {
  readonly meeting: string
  /** in milliseconds */
  readonly lifetime: number
}

/** Notes a meeting of the session. Returns whether no other is known. */
export const noteMeeting = (
  db: Db,
  keys: ReadonlyArray<string>,
  _now: number,
  { lifetime, meeting }: Meeting,
): boolean => {
  const key = keys[0] ?? ""
  const own = `one ${meeting}`
  const known = db.get(key)
  if (known === undefined) db.set(key, own, lifetime)
  if (known === undefined || known === own) return true
  if (known !== SEVERAL) db.set(key, SEVERAL, lifetime)
  return false
}
