/**
 * What a hub remembers beyond a connection. A negotiated token is a text: the id of the browser that it was negotiated for, later
 * `used`, which is no browser's id. A browser's tickets are a zset by the time of their registration.
 */
import type { Db } from "./db.ts"
import { LOWEST } from "./native.ts"

const USED = "used"

/** What became of a negotiated token; `browser` is there with `ok`. */
export interface ClaimedToken {
  readonly state: "ok" | "used" | "unknown"
  readonly browser?: string
}

/** Uses a token, once; that it is used is known for its `lifetime` (ms). Keys: the token */
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
  /** for how long tickets are remembered (ms) */
  readonly lifetime: number
}

/** Remembers a ticket of a browser. Keys: the browser's tickets */
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

/** Absent where there are none. */
export interface RecalledTickets {
  readonly tickets?: ReadonlyArray<string>
}

/** The last tickets of a browser, the newest first, at most `most`. Keys: the browser's tickets */
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
