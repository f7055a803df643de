/**
 * Admits newcomers: to a free slot when nobody waits but for a budget of their own, else to the end of the queue, else not at all. While an operator
 * has paused the campaign, newcomers queue. While it drains, newcomers are refused and waiting tickets are served.
 * While the platform cannot be reached, or refuses what the operator must mend, one newcomer at a time is started to
 * probe it; in the second case the others are refused where the settings say so.
 *
 * Once half of the places are taken, a network may hold at most its share of those still free; beyond that the queue is
 * full for it. So no number of requests from one network can take the last places from the others.
 *
 * A newcomer that was already withdrawn (`withdraw.ts`) is not admitted, and its quota is given back: its command took
 * longer to arrive than its caller waited.
 */

import { encode, textOf } from "../../store/rules/native.ts"
import type { Admitted, Waiting } from "../answers.ts"
import { START_LEASE_MILLIS, shareOf } from "../bounds.ts"
import type { Newcomer } from "../inputs.ts"
import { callable, withBudgets } from "./shared/awaited-budgets.ts"
import { callNext, isSlotFree, PROBE_MILLIS } from "./shared/call-next.ts"
import { acceptedEntry, pushEntry } from "./shared/events.ts"
import { lastPlacesOf, positionOfNewcomer, saveLastPlaces } from "./shared/fair-places.ts"
import { isPauseOn, pausedAnswer, takeSlot, withSlots } from "./shared/line.ts"
import { clockLagMillis } from "./shared/outage.ts"
import { onlyUnpaidWait } from "./shared/own-budgets.ts"
import { isFullNumber, REJECTED } from "./shared/platform-state.ts"
import { meta, type Step, settle } from "./shared/step.ts"
import type { Ticket } from "./shared/ticket.ts"

/** @param event the number of the event of its acceptance */
export const ticketOf = (
  { caller, holds, network, trace }: Newcomer,
  seq: number,
  now: number,
  event?: number,
): Ticket => ({
  state: "waiting",
  seq,
  accepted: now,
  caller: caller === "" ? undefined : caller,
  holds: caller !== "" && holds === true ? true : undefined,
  network: network === "" ? undefined : network,
  trace: trace === "" ? undefined : trace,
  event,
})

/**
 * Whether the newcomer was withdrawn before it arrived. If so, its quota is given back.
 * @lazy
 */
const wasWithdrawn = (s: Step, newcomer: Newcomer): boolean => {
  if (s.db.zscore(s.keys.forget, newcomer.id) === undefined) return false
  settle(s, "refund", newcomer.id, ticketOf(newcomer, 0, s.now))
  return true
}

const ADMIT_FIELDS: ReadonlyArray<string> = [
  "draining",
  "withdrawnUntil",
  "averageMillis",
  "disrupted",
  "probeUntil",
  "backoffUntil",
  "paused",
  "pausedUntil",
  "seq",
  "sweptAt",
  "platform",
  "live",
  "fairCap",
]

/** The field that counts the waiting tickets of a network. */
const waitingField = (network: string): string => `w${network}`

/** The number of waiting tickets of each newcomer's network, by that field. */
const waitingByNetwork = (s: Step, newcomers: ReadonlyArray<Newcomer>): { [field: string]: number } => {
  const waitingCounts: { [field: string]: number } = {}
  const fields: Array<string> = []
  for (const { network } of newcomers) {
    const field = waitingField(network)
    if (network !== "" && waitingCounts[field] === undefined) {
      waitingCounts[field] = 0
      fields.push(field)
    }
  }
  if (fields.length === 0) return waitingCounts
  const found = s.db.hgetNumbers(s.keys.networks, fields)
  for (let i = 0; i < fields.length; i++) waitingCounts[fields[i] as string] = found[i] as number
  return waitingCounts
}

/** Answers each newcomer as if they had arrived one after the other. */
export const admit = (s: Step, newcomers: ReadonlyArray<Newcomer>): ReadonlyArray<Admitted> => {
  const { context, db, keys, now, slots } = s
  const { maxLength, share } = context
  // it also clears a pause that is over; while no slot is free, the next sweep does that
  if (isSlotFree(s)) callNext(s)
  const answers: Array<Admitted> = []
  const [
    draining,
    withdrawnUntil = 0,
    averageMillis = 0,
    disruption,
    probeUntil = 0,
    backoffUntil = 0,
    paused = 0,
    pausedUntil = 0,
    seq = 0,
    sweptAt = 0,
    platform = 0,
    live = 0,
    fairCap = 0,
  ] = db.hgetNumbers(keys.meta, ADMIT_FIELDS)
  const hasWithdrawals = withdrawnUntil > 0
  if (draining === 1) {
    for (const newcomer of newcomers) {
      if (hasWithdrawals) wasWithdrawn(s, newcomer)
      answers.push({ _tag: "draining" })
    }
    return answers
  }
  const disrupted = disruption === 1
  const served = isFullNumber(platform) ? Math.max(0, live) : undefined
  const pauseOn = isPauseOn(s, paused, pausedUntil)
  const latest = now + clockLagMillis(s, sweptAt)
  const lengthBefore = db.zcard(keys.waiting)
  let length = lengthBefore
  let free = 0
  let deadline = 0
  const unpaid = context.awaitsOwn === true ? db.zcard(keys.unpaid) : 0
  const overtakesNobody = length === 0 || (unpaid > 0 && onlyUnpaidWait(s, length))
  if (overtakesNobody && !pauseOn && backoffUntil <= now && !(disrupted && probeUntil > now)) {
    free = Math.max(0, slots - db.zcard(keys.leases))
    if (disrupted) free = Math.min(free, 1)
    free = callable(s, free)
    if (free > 0) deadline = latest + START_LEASE_MILLIS
  }
  const waitingCounts = newcomers.length > free ? waitingByNetwork(s, newcomers) : {}
  const places = share < 1 ? lastPlacesOf(s, fairCap, length) : undefined
  let accepted = 0
  const changed: Array<string> = []
  const isChanged: { [field: string]: boolean } = {}
  const records: Array<string> = []
  const dataEntries: Array<string> = []
  const waitingEntries: Array<number | string> = []
  const presenceEntries: Array<number | string> = []
  const presentUntil = textOf(latest + context.graceMillis)
  /** the number of the last event; undefined while the campaign reports none */
  let event = context.events === true ? meta(s, "events") : undefined
  const eventEntries: Array<number | string> = []
  for (const newcomer of newcomers) {
    const { data, id, network } = newcomer
    const field = waitingField(network)
    const room = maxLength - length
    if (hasWithdrawals && wasWithdrawn(s, newcomer)) {
      answers.push({ _tag: "draining" })
    } else if (free > 0) {
      free--
      accepted++
      if (event !== undefined) {
        event++
        pushEntry(eventEntries, event, acceptedEntry(s, id, event, newcomer.about ?? "", newcomer.caller))
      }
      if (disrupted) db.hset(keys.meta, "probeUntil", `${now + PROBE_MILLIS}`)
      const lease = takeSlot(s, id, ticketOf(newcomer, seq + accepted, now, event), "starting", deadline)
      dataEntries.push(id)
      dataEntries.push(data)
      answers.push({ _tag: "starting", lease })
    } else if (platform === REJECTED && context.refuses === true) {
      answers.push({ _tag: "rejected" })
    } else if (
      room <= 0 ||
      (network !== "" && share < 1 && length >= room && (waitingCounts[field] ?? 0) >= shareOf(share, room))
    ) {
      answers.push({ _tag: "full", length, averageMillis })
    } else {
      accepted++
      if (event !== undefined) {
        event++
        pushEntry(eventEntries, event, acceptedEntry(s, id, event, newcomer.about ?? "", newcomer.caller))
      }
      const waitsBefore = waitingCounts[field] ?? 0
      const ticketSeq = textOf(seq + accepted)
      const position = positionOfNewcomer(s, places, newcomer, seq + accepted, length, waitsBefore, unpaid)
      length++
      // one at a time: in Lua, pushing several at once creates a table
      records.push(id)
      records.push(encode(ticketOf(newcomer, seq + accepted, now, event)))
      dataEntries.push(id)
      dataEntries.push(data)
      waitingEntries.push(ticketSeq)
      waitingEntries.push(id)
      presenceEntries.push(presentUntil)
      presenceEntries.push(id)
      if (network !== "") {
        if (!isChanged[field]) changed.push(field)
        isChanged[field] = true
        waitingCounts[field] = waitsBefore + 1
      }
      const waiting: Waiting = { _tag: "waiting", position, length, averageMillis, disrupted }
      const place = withBudgets(s, withSlots(s, waiting, served))
      answers.push(pauseOn ? pausedAnswer(place, pausedUntil) : place)
    }
  }
  if (accepted > 0) db.hincrby(keys.meta, "seq", accepted)
  if (dataEntries.length > 0) db.hsetMany(keys.data, dataEntries)
  if (eventEntries.length > 0) {
    db.hincrby(keys.meta, "events", accepted)
    db.zaddMany(keys.events, eventEntries)
  }
  if (length === lengthBefore) return answers
  db.hsetMany(keys.tickets, records)
  db.zaddMany(keys.waiting, waitingEntries)
  db.zaddMany(keys.presence, presenceEntries)
  if (places !== undefined) saveLastPlaces(s, places)
  const counts: Array<string> = []
  for (const field of changed) {
    counts.push(field)
    counts.push(`${waitingCounts[field] ?? 0}`)
  }
  if (counts.length > 0) db.hsetMany(keys.networks, counts)
  return answers
}
