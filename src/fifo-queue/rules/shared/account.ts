/**
 * The capacity that the campaigns of an account share. After each step, a campaign writes into the account's record what it
 * holds and whether it waits for a slot of the account. Before each step, that record says how many slots it may hold:
 *
 * - The campaigns of an account never hold more than its `cap` together. After the cap shrinks, none of them takes a
 *   slot until they hold fewer than the cap.
 * - What is reserved for a campaign is never given to another one, so a campaign with reserved slots is not starved.
 * - The other slots go to the campaign whose oldest caller has waited longest: a campaign leaves one slot free for each other
 *   campaign whose oldest caller has waited longer. The answer of the step names the campaigns for which a slot is free, so
 *   that they take it at once.
 *
 * No slot is left free for a campaign that has written nothing for `WANT_MILLIS`: its gates have died. The slots that it holds still count.
 */

import { namesIn, numberOf, textOf, wordsOf } from "../../../store/rules/native.ts"
import type { AccountFigures } from "../../operator/schemas.ts"
import { callable } from "./awaited-budgets.ts"
import { isBackingOff, isDisrupted, isPaused } from "./line.ts"
import { loadWaiting } from "./load.ts"
import { isUnpaid } from "./own-budgets.ts"
import { ownSlots } from "./platform-limit.ts"
import type { Account, Step } from "./step.ts"

/** How long a slot is left free for a campaign after it last wrote that it waits (ms). A gate sweeps each campaign every second. */
export const WANT_MILLIS = 3_000
/** The interval at which a waiting campaign writes that it still waits (ms). */
const RENEW_MILLIS = 500

/**
 * What a campaign of the account holds; since when its oldest caller waits for a slot of the account, or 0; when the campaign wrote this.
 */
interface Entry {
  readonly id: string
  readonly held: number
  readonly since: number
  readonly at: number
}

const entryOf = (id: string, text: string): Entry => {
  const words = wordsOf(text)
  return { id, held: Math.max(0, numberOf(words[0])), since: numberOf(words[1]), at: numberOf(words[2]) }
}

const entriesOf = (s: Step): ReadonlyArray<Entry> => {
  const flat = s.db.hgetall(s.keys.account)
  const entries: Array<Entry> = []
  for (let i = 0; i + 1 < flat.length; i += 2) entries.push(entryOf(flat[i] as string, flat[i + 1] as string))
  return entries
}

const reservedOf = ({ reserved }: Account, id: string): number => reserved[id] ?? 0

/** How many slots the other campaigns hold or have reserved. */
const takenByOthers = (account: Account, entries: ReadonlyArray<Entry>, own: string): number => {
  let taken = 0
  for (const id of namesIn(account.reserved)) if (id !== own) taken += reservedOf(account, id)
  for (const { held, id } of entries) if (id !== own) taken += Math.max(0, held - reservedOf(account, id))
  return taken
}

const isWanting = (s: Step, { at, since }: Entry): boolean => since > 0 && Math.abs(s.now - at) <= WANT_MILLIS

/** 0 when nobody waits but for a budget of their own. */
const oldestAcceptedAt = (s: Step): number => {
  const skips = s.context.awaitsOwn === true ? s.db.zcard(s.keys.unpaid) : 0
  for (const id of s.db.zrange(s.keys.waiting, 0, skips + 1)) {
    if (skips === 0 || !isUnpaid(s, id)) {
      const ticket = loadWaiting(s, id)
      return ticket === undefined ? 0 : ticket.accepted
    }
  }
  return 0
}

/**
 * Sets how many slots the campaign may hold in this step.
 * @lazy
 */
export const limitByAccount = (s: Step, account: Account): void => {
  const entries = entriesOf(s)
  const most = Math.max(0, account.cap - takenByOthers(account, entries, account.id))
  let wanting = 0
  let own = 0
  for (const entry of entries) {
    if (entry.id !== account.id && isWanting(s, entry)) {
      if (own === 0) own = oldestAcceptedAt(s)
      // a newcomer is younger than all who wait
      if (own === 0) own = s.now + 1
      if (entry.since < own || (entry.since === own && entry.id < account.id)) wanting++
    }
  }
  const left = Math.max(Math.min(most, reservedOf(account, account.id)), most - wanting)
  s.mostSlots = Math.min(s.context.slots, left)
  s.slots = s.mostSlots
}

/** Since when the campaign waits for a slot that only the account withholds; 0 when it does not. */
const wantsSince = (s: Step, held: number): number => {
  if (held < s.slots || held >= ownSlots(s)) return 0
  if (s.db.zcard(s.keys.waiting) <= s.db.zcard(s.keys.parked)) return 0
  if (isPaused(s) || isBackingOff(s) || isDisrupted(s) || callable(s, 1) === 0) return 0
  return oldestAcceptedAt(s)
}

/** The other campaigns that wait for a slot of the account, and for which one is free. */
const wantingOthers = (s: Step, account: Account, entries: ReadonlyArray<Entry>): ReadonlyArray<string> => {
  const ids: Array<string> = []
  for (const entry of entries) {
    if (entry.id !== account.id && isWanting(s, entry)) {
      if (account.cap - takenByOthers(account, entries, entry.id) > entry.held) ids.push(entry.id)
    }
  }
  return ids
}

export const accountFigures = (s: Step, account: Account): AccountFigures => {
  const own = s.db.zcard(s.keys.leases)
  let held = own
  for (const entry of entriesOf(s)) if (entry.id !== account.id) held += entry.held
  return { held, cap: account.cap, reserved: reservedOf(account, account.id), free: Math.max(0, s.slots - own) }
}

/**
 * Writes what the campaign holds after this step, and whether it waits for a slot of the account.
 * @lazy
 */
export const noteInAccount = (s: Step, account: Account): void => {
  const { db, keys, now } = s
  const held = db.zcard(keys.leases)
  const since = wantsSince(s, held)
  const text = db.hget(keys.account, account.id)
  if (held === 0 && since === 0) {
    if (text !== undefined) db.hdel(keys.account, account.id)
  } else {
    const last = entryOf(account.id, text ?? "")
    const isOld = since > 0 && Math.abs(now - last.at) >= RENEW_MILLIS
    if (isOld || last.held !== held || last.since !== since) {
      db.hset(keys.account, account.id, `${textOf(held)} ${textOf(since)} ${textOf(now)}`)
    }
  }
  const wanting = wantingOthers(s, account, entriesOf(s))
  if (wanting.length > 0) s.wanting = wanting
}
