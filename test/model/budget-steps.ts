/**
 * What a step may do to the book of a campaign or of a caller, in plain words:
 *
 * - A slot that is free owes what its call has used, once: its length by the clock of the steps, or as the vendor has said it. Time beyond the
 *   call's limit in which no gate swept is not owed. A start that came to nothing owes nothing, and its hold is given back. What is owed stays
 *   owed until it is charged.
 * - A hold belongs to one slot. It is made once, with enough to begin with, in the windows of its beginning; it grows, and stays in these windows. While
 *   its slot is held, nobody settles it.
 * - It is settled once, with what is owed, rounded once. Afterwards only the vendor's report changes it, once for each thing that is said.
 * - A step changes no hold but its own.
 */
import type { HoldCall } from "../../src/budgets/rules/hold.ts"
import { holdName } from "../../src/fifo-queue/rules/shared/charges.ts"
import type { Charge } from "../../src/protocol/settlements.ts"
import type { Budget } from "../../src/settings/groups/budgets.ts"
import type { Change } from "./change.ts"
import { isDoubt, type QueueState, type Record } from "./queue-state.ts"

/** What a hold has of a budget in a window; of a settled one, what it was charged. */
export interface BookPart {
  readonly name: string
  readonly from: number
  readonly shared: boolean
  /** in millionths; 0 for a budget of minutes */
  readonly perMinute: number
  readonly amount: number
}

export interface BookRecord {
  readonly seconds: number
  readonly roundUp: number
  readonly minimum: number
  readonly settled: boolean
  readonly corrected: string
  readonly parts: ReadonlyArray<BookPart>
}

export type BookRecords = ReadonlyMap<string, BookRecord>

const partIn = (text: string): BookPart => {
  const [name = "", from, whose, perMinute, , amount] = text.split(" ")
  return { name, from: Number(from), shared: whose === "shared", perMinute: Number(perMinute), amount: Number(amount) }
}

/** The holds among the fields and values of a hash. */
export const recordsIn = (all: ReadonlyArray<string>): BookRecords => {
  const records = new Map<string, BookRecord>()
  for (let i = 0; i < all.length; i += 2) {
    const [id = "", text = "{}"] = [all[i], all[i + 1]]
    // by which the vendor's report finds it, and reports that came before the charge
    if (id.startsWith("@") || id.startsWith("?")) continue
    const { corrected = "", minimum, parts = [], roundUp, seconds, settled } = JSON.parse(text)
    records.set(id, { seconds, roundUp, minimum, settled, corrected, parts: parts.map(partIn) })
  }
  return records
}

const HOUR_MILLIS = 3_600_000
const DAY_MILLIS = 24 * HOUR_MILLIS

/** The window of a moment by a clock that is always so far ahead of UTC (ms): when it begins. */
export const windowAt = (per: Budget["Per"], aheadMillis: number, moment: number): number => {
  const shown = moment + aheadMillis
  if (per === "hour") return shown - (shown % HOUR_MILLIS) - aheadMillis
  if (per === "day") return shown - (shown % DAY_MILLIS) - aheadMillis
  const date = new Date(shown)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth()) - aheadMillis
}

/** What so many billed seconds cost of a budget. */
export const priceOf = (billed: number, { perMinute }: Pick<BookPart, "perMinute">): number =>
  perMinute === 0 ? billed : Math.ceil((billed * perMinute) / 60)

/** The billed seconds of a call of this length; none of one that has not begun. */
export const billedOf = (seconds: number, { minimum, roundUp }: Pick<BookRecord, "minimum" | "roundUp">): number =>
  seconds === 0 ? 0 : Math.max(minimum, Math.ceil(seconds / roundUp) * roundUp)

/** What is owed of a hold: its call's length, and whether nobody had the call. */
export interface Owed {
  readonly seconds: number
  readonly doubt: boolean
}

/** Who holds each slot, by its lease. */
const slots = ({ leases, tickets }: QueueState): ReadonlyMap<string, readonly [id: string, Record]> => {
  const held = new Map<string, readonly [string, Record]>()
  for (const id of leases.keys()) {
    const record = tickets.get(id)
    if (record !== undefined) held.set(record.lease, [id, record])
  }
  return held
}

export const holdOf = (id: string, { lease, ticket }: Pick<Record, "lease" | "ticket">): string =>
  holdName(ticket === "" ? id : ticket, lease)

/** The lengths that the call in a slot may be said to have, which this step has freed. */
const lengths = (
  id: string,
  { billed, endsAt, limitedAt, since, spent }: Record,
  { absences = [], before, now }: Change,
  reported: number | undefined,
): ReadonlyArray<number> => {
  const limits = [spent ? limitedAt : endsAt, before.leases.get(id) ?? 0].filter((limit) => limit > 0)
  const measured = (from: number): number => {
    const limit = Math.max(from, Math.min(now, ...limits))
    const unseen = absences.map(([since, until]) => Math.max(0, Math.min(until, now) - Math.max(since, limit)))
    const used = unseen.reduce((rest, each) => rest - each, now - from)
    return Math.ceil(Math.max(0, used) / 1000)
  }
  if (billed > 0) return [reported ?? measured(billed)]
  // the session of a start in doubt may have run since its slot was taken, or for a moment
  return isDoubt(id) ? [0, 1, measured(since)] : [0]
}

const chargeIn = (entry: string): Owed & { readonly hold: string } => {
  const [hold = "", seconds, doubt] = entry.split(" ")
  return { hold, seconds: Number(seconds), doubt: doubt === "1" }
}

/** What a step owes anew, by hold. */
export const newlyOwed = ({ after, before }: Change): ReadonlyMap<string, Owed> =>
  new Map(
    [...after.charges.keys()].flatMap((entry) => {
      const { hold, ...owed } = chargeIn(entry)
      return before.charges.has(entry) ? [] : [[hold, owed] as const]
    }),
  )

/**
 * What is wrong with what a step owes to budgets.
 *
 * @param reported how long the call was, if the step says what the vendor has said
 * @param charged the charges that the step removes because they were carried out
 */
export const wronglyOwed = (
  change: Change,
  reported: number | undefined,
  charged: ReadonlyArray<Charge>,
): ReadonlyArray<string> => {
  const { after, before } = change
  const wrong: Array<string> = []
  const owed = new Map(newlyOwed(change))
  const held = slots(after)
  for (const [lease, [id, record]] of slots(before)) {
    if (held.has(lease) || record.billed < 0) continue
    const hold = holdOf(id, record)
    const { doubt = false, seconds = -1 } = owed.get(hold) ?? {}
    const right = lengths(id, record, change, reported)
    // a late answer may show that the ticket had the call after all
    const becomes = before.tickets.get(record.ticket)?.state === "waiting" && after.tickets.get(record.ticket)?.state
    const isOfDoubt = isDoubt(id) && becomes !== "failed"
    if (!owed.has(hold)) wrong.push(`B5: the slot of ${id} is free, and its call is not owed`)
    else if (!right.includes(seconds) || doubt !== isOfDoubt)
      wrong.push(`B4: ${seconds} s are owed of the call of ${id}, which lasted ${right.join(" or ")} s`)
    owed.delete(hold)
  }
  for (const hold of owed.keys()) wrong.push(`B5: ${hold} is owed, and no slot of it is free`)
  const holds = new Set(charged.map(({ hold }) => hold))
  for (const entry of before.charges.keys())
    if (!after.charges.has(entry) && !holds.has(chargeIn(entry).hold)) wrong.push(`B5: the charge ${entry} is lost`)
  return wrong
}

/** Holds other than `own` that differ. */
export const changedOthers = (before: BookRecords, after: BookRecords, own: string): ReadonlyArray<string> =>
  [...new Set([...before.keys(), ...after.keys()])].filter(
    (id) => id !== own && JSON.stringify(before.get(id)) !== JSON.stringify(after.get(id)),
  )

/** What is wrong with a hold that was made or has grown. `ahead`: by how much the clock of the budgets is ahead of UTC (ms). */
export const wrongHold = (
  { books, id, least, roundUp }: HoldCall,
  now: number,
  granted: number,
  was: BookRecord | undefined,
  is: BookRecord | undefined,
  budgets: ReadonlyMap<string, Budget>,
  ahead: number,
): ReadonlyArray<string> => {
  if (is === undefined || is.settled || is.seconds !== granted)
    return [`B1: ${granted} s were granted to ${id}, and ${is?.settled === false ? is.seconds : "no"} s are held`]
  const wrong: Array<string> = []
  const named = books.flatMap(({ entries = [] }) => entries.map(({ name }) => name))
  if (was === undefined && granted < least) wrong.push(`B8: ${id} begins with ${granted} s, less than ${least}`)
  if (granted % roundUp !== 0) wrong.push(`B4: ${id} holds ${granted} s, in steps of ${roundUp}`)
  for (const part of is.parts) {
    const { Per, OnLimit } = budgets.get(part.name) ?? {}
    const before = was?.parts.filter(({ name }) => name === part.name)
    const from = before?.[0]?.from ?? windowAt(Per ?? "hour", ahead, now)
    if (part.from !== from || is.parts.filter(({ name }) => name === part.name).length > 1)
      wrong.push(`B3: ${id} counts in the window of ${part.name} from ${part.from}, and began in that from ${from}`)
    // a budget that is not in the settings any more counts the call on, as one that only refuses new calls does
    if (
      OnLimit !== "refuse" &&
      OnLimit !== "wait" &&
      named.includes(part.name) &&
      part.amount !== priceOf(granted, part)
    )
      wrong.push(`B1: ${id} holds ${part.amount} of ${part.name} for ${granted} s`)
  }
  for (const name of named)
    if (!is.parts.some((part) => part.name === name)) wrong.push(`B1: ${id} holds nothing of ${name}`)
  return wrong
}

/** What is wrong with a hold that was settled for so many seconds. */
export const wrongSettlement = (
  id: string,
  seconds: number,
  was: BookRecord,
  is: BookRecord | undefined,
): ReadonlyArray<string> => {
  const billed = billedOf(seconds, was)
  if (is?.settled !== true || is.seconds !== billed)
    return [`B4: ${id} lasted ${seconds} s and is billed ${is?.seconds} s, not ${billed} s`]
  return is.parts.flatMap((part, n) =>
    part.amount === priceOf(billed, part) && part.from === was.parts[n]?.from
      ? []
      : [`B3: ${id} is charged ${part.amount} of ${part.name} from ${part.from} for ${billed} s`],
  )
}
