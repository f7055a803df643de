/**
 * Admits newcomers: to a slot while one is free and nobody waits, else to the end of the queue, else not at all. While an
 * operator has paused the campaign newcomers queue; while it drains they are sent away and those who wait are served. While the
 * platform cannot be reached, one of them at a time is let in to find out.
 *
 * From the moment when half of the places are taken, a network that has as many places as its share of those still free gets no
 * further one: for it the queue is full. So no number of requests of one network takes the last places from the others.
 *
 * A newcomer that was withdrawn already (`withdraw.ts`) is not admitted, and what it took since is given back: its command was on
 * the way for longer than anybody waited for it.
 */
import { callNext, PROBE_MILLIS } from "../call-next.ts"
import { takeSlot, type Waiting } from "../line.ts"
import { encode, numberOf, textOf } from "../native.ts"
import { behindMillis } from "../outage.ts"
import { metaMany, type Step, settle } from "../step.ts"
import { shareOf, type Ticket } from "../ticket.ts"

/** How long a start may take before its slot passes on; longer than the platform client waits. */
export const START_LEASE_MILLIS = 30_000

export interface Newcomer {
  readonly id: string
  /** the rate limiter's key; absent where there is none */
  readonly caller?: string
  /** the caller holds a concurrent unit until the ticket is over */
  readonly holds?: true
  /** whose share of slots and places the ticket counts to, without blanks; absent for none */
  readonly network?: string
  /** comes back at its start */
  readonly data: string
}

export type Admitted =
  | { readonly _tag: "starting"; readonly lease: string }
  | Waiting
  | { readonly _tag: "full"; readonly length: number; readonly averageMillis: number }
  /** an operator lets no newcomer in, or this one was withdrawn */
  | { readonly _tag: "draining" }

const ticketOf = ({ caller, holds, network }: Newcomer, seq: number, now: number): Ticket => {
  const ticket: Ticket = { state: "waiting", seq, accepted: now }
  if (caller !== undefined) ticket.caller = caller
  if (holds === true) ticket.holds = true
  if (network !== undefined) ticket.network = network
  return ticket
}

/** Whether the newcomer was withdrawn before it came. What it took is given back. */
const wasWithdrawn = (s: Step, newcomer: Newcomer): boolean => {
  if (s.db.zscore(s.keys.forget, newcomer.id) === undefined) return false
  settle(s, "refund", newcomer.id, ticketOf(newcomer, 0, s.now))
  return true
}

const META: ReadonlyArray<string> = [
  "draining",
  "withdrawnUntil",
  "averageMillis",
  "disrupted",
  "probeUntil",
  "backoffUntil",
  "paused",
  "seq",
]

/** The field that counts the waiting tickets of a network. */
const waitsField = (network: string): string => `w${network}`

/** How many tickets of the newcomers' networks wait, by that field. */
const waitingByNetwork = (s: Step, newcomers: ReadonlyArray<Newcomer>): { [field: string]: number } => {
  const waits: { [field: string]: number } = {}
  const fields: Array<string> = []
  for (const { network } of newcomers) {
    const field = network === undefined ? "" : waitsField(network)
    if (field !== "" && waits[field] === undefined) {
      waits[field] = 0
      fields.push(field)
    }
  }
  if (fields.length === 0) return waits
  const found = s.db.hgetMany(s.keys.networks, fields)
  for (let i = 0; i < fields.length; i++) waits[fields[i] as string] = numberOf(found[i])
  return waits
}

/** Answers each, as if they had come one after the other. */
export const admit = (s: Step, newcomers: ReadonlyArray<Newcomer>): ReadonlyArray<Admitted> => {
  const { context, db, keys, now } = s
  const { maxLength, share, slots } = context
  callNext(s)
  const answers: Array<Admitted> = []
  const [
    draining,
    withdrawnUntil = 0,
    averageMillis = 0,
    isDisrupted,
    probeUntil = 0,
    backoffUntil = 0,
    paused,
    seq = 0,
  ] = metaMany(s, META)
  const withdraws = withdrawnUntil > 0
  if (draining === 1) {
    for (const newcomer of newcomers) {
      if (withdraws) wasWithdrawn(s, newcomer)
      answers.push({ _tag: "draining" })
    }
    return answers
  }
  const disrupted = isDisrupted === 1
  const before = db.zcard(keys.waiting)
  let length = before
  let free = 0
  let deadline = 0
  if (length === 0 && paused !== 1 && backoffUntil <= now && !(disrupted && probeUntil > now)) {
    free = Math.max(0, slots - db.zcard(keys.leases))
    if (disrupted) free = Math.min(free, 1)
    if (free > 0) deadline = now + START_LEASE_MILLIS + behindMillis(s)
  }
  const waits = newcomers.length > free ? waitingByNetwork(s, newcomers) : {}
  let accepted = 0
  const changed: Array<string> = []
  const isChanged: { [field: string]: boolean } = {}
  const records: Array<string> = []
  const datas: Array<string> = []
  const line: Array<number | string> = []
  const seen: Array<number | string> = []
  const presentUntil = textOf(now + context.graceMillis)
  for (const newcomer of newcomers) {
    const { data, id, network } = newcomer
    const field = network === undefined ? "" : waitsField(network)
    const room = maxLength - length
    if (withdraws && wasWithdrawn(s, newcomer)) {
      answers.push({ _tag: "draining" })
    } else if (free > 0) {
      free--
      accepted++
      if (disrupted) db.hset(keys.meta, "probeUntil", `${now + PROBE_MILLIS}`)
      const lease = takeSlot(s, id, ticketOf(newcomer, seq + accepted, now), "starting", deadline)
      datas.push(id, data)
      answers.push({ _tag: "starting", lease })
    } else if (
      room <= 0 ||
      (field !== "" && share < 1 && length >= room && (waits[field] ?? 0) >= shareOf(share, room))
    ) {
      answers.push({ _tag: "full", length, averageMillis })
    } else {
      accepted++
      length++
      const place = seq + accepted
      records.push(id, encode(ticketOf(newcomer, place, now)))
      datas.push(id, data)
      line.push(textOf(place), id)
      seen.push(presentUntil, id)
      if (field !== "") {
        if (!isChanged[field]) changed.push(field)
        isChanged[field] = true
        waits[field] = (waits[field] ?? 0) + 1
      }
      answers.push({ _tag: "waiting", position: length, length, averageMillis, disrupted })
    }
  }
  if (accepted > 0) db.hincrby(keys.meta, "seq", accepted)
  if (datas.length > 0) db.hsetMany(keys.data, datas)
  if (length === before) return answers
  db.hsetMany(keys.tickets, records)
  db.zaddMany(keys.waiting, line)
  db.zaddMany(keys.presence, seen)
  const counts: Array<string> = []
  for (const field of changed) counts.push(field, `${waits[field] ?? 0}`)
  if (counts.length > 0) db.hsetMany(keys.networks, counts)
  return answers
}
