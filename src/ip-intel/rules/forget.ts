/** Forgets a value that is kept in the store, or says whether there is one. */
import type { Db } from "../../store/rules/db.ts"

/** Keys: the value's. Returns how many there were. */
export const forgetValue = (
  db: Db,
  keys: ReadonlyArray<string>,
  _now: number,
  { remove }: { readonly remove?: true },
): number => {
  const key = keys[0] ?? ""
  if (db.get(key) === undefined) return 0
  if (remove === true) db.del(key)
  return 1
}
