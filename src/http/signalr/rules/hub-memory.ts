/**
 * What the hub stores beyond a connection. A negotiated token is a text: the id of the browser it was issued to, then
 * `used`, which is not a valid browser id. A browser's tickets are a zset by registration time.
 */
import type { Db } from "../../../store/rules/db.ts"
import { LOWEST } from "../../../store/rules/native.ts"

const USED = "used"

/** The state of a negotiated token; `browser` is present with `ok`. */
export interface ClaimedToken {
  readonly state: "ok" | "used" | "unknown"
  readonly browser?: string
}

/** Claims a token; only the first claim succeeds. Later ones see `used` for `lifetime` (ms). Keys: the token */
export const claimToken = (
  db: Db,
  keys: ReadonlyArray<string>,
  _now: number,
  { lifetime }: { readonly lifetime: number },
): ClaimedToken => {
  const token = keys[0] ?? ""
  const browser = db.get(token)
  if (browser === undefined) return { state: "unknown" }
  if (browser === USED) return { state: "used" }
  db.set(token, USED, lifetime)
  return { state: "ok", browser }
}

export interface RememberedTicket {
  readonly ticket: string
  /** how long tickets are remembered (ms) */
  readonly lifetime: number
}

/** Keys: the browser's tickets */
export const rememberTicket = (
  db: Db,
  keys: ReadonlyArray<string>,
  now: number,
  { lifetime, ticket }: RememberedTicket,
): true => {
  const tickets = keys[0] ?? ""
  db.zadd(tickets, now, ticket)
  db.zremrangebyscore(tickets, LOWEST, now - lifetime)
  db.pexpire(tickets, lifetime)
  return true
}

/** Absent when there are none. */
export interface RecalledTickets {
  readonly tickets?: ReadonlyArray<string>
}

/** The latest tickets of a browser, newest first, at most `most`. Keys: the browser's tickets */
export const recallTickets = (
  db: Db,
  keys: ReadonlyArray<string>,
  _now: number,
  { most }: { readonly most: number },
): RecalledTickets => {
  const tickets = keys[0] ?? ""
  const oldestFirst = db.zrange(tickets, Math.max(0, db.zcard(tickets) - most), most)
  if (oldestFirst.length === 0) return {}
  const newestFirst: Array<string> = []
  for (let i = oldestFirst.length - 1; i >= 0; i--) newestFirst.push(oldestFirst[i] as string)
  return { tickets: newestFirst }
}
