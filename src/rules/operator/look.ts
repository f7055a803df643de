/**
 * The figures of a campaign, and a page each of its slots (by deadline) and of its line, of one moment. Tickets go out under a
 * short hash: their ids are their bearers' credentials.
 */
import { isDisrupted } from "../line.ts"
import { load, loadHolder, loadWaiting } from "../load.ts"
import { meta, type Step } from "../step.ts"
import { shortHash } from "../ticket.ts"
import { hashOf } from "./audit-log.ts"

/** A held slot. Times in ms since 1970. */
export interface HeldSlot {
  /** a short hash of the ticket, never its id */
  readonly ticket: string
  /** `in_doubt`: its start may have happened */
  readonly state: "called" | "starting" | "live" | "in_doubt"
  readonly lease: string
  readonly since: number
  readonly deadline: number
  readonly acceptedAt: number
  /** whether a push channel of it was ever open */
  readonly attached: boolean
}

/** A waiting ticket; `seq` is its place for good, `presentUntil` when it is given up unless it shows up. */
export interface WaitingTicket {
  readonly ticket: string
  readonly seq: number
  readonly acceptedAt: number
  readonly presentUntil: number
}

export interface Pages {
  readonly firstSlot: number
  readonly slots: number
  readonly firstPlace: number
  readonly places: number
}

export interface Look {
  readonly waiting: number
  /** those of them whose grace has not passed */
  readonly present: number
  readonly held: number
  readonly live: number
  readonly averageMillis: number
  /** 0, or when the back-off of a full or unreachable platform ends (ms) */
  readonly backoffUntil: number
  /** the platform cannot be reached: one ticket at a time is called to find out */
  readonly disrupted: boolean
  /** 0, or until when nobody else is called to find out (ms) */
  readonly probeUntil: number
  /** slots held for starts that may have happened */
  readonly doubts: number
  readonly paused: boolean
  readonly draining: boolean
  /** tickets accepted since the store began */
  readonly accepted: number
  /** when the first in line came (ms); 0 when nobody waits */
  readonly firstAcceptedAt: number
  readonly slotPage?: ReadonlyArray<HeldSlot>
  readonly linePage?: ReadonlyArray<WaitingTicket>
}

const slotPage = (s: Step, first: number, count: number): ReadonlyArray<HeldSlot> => {
  const page: Array<HeldSlot> = []
  for (const id of s.db.zrange(s.keys.leases, first, count)) {
    const ticket = loadHolder(s, id)
    if (ticket !== undefined) {
      const { state } = ticket
      page.push({
        ticket: hashOf(id, ticket),
        state: state === "called" || state === "starting" || state === "live" ? state : "in_doubt",
        lease: ticket.lease ?? "",
        since: ticket.since ?? 0,
        deadline: s.db.zscore(s.keys.leases, id) ?? 0,
        acceptedAt: ticket.accepted,
        attached: ticket.instance !== undefined,
      })
    }
  }
  return page
}

const linePage = (s: Step, first: number, count: number): ReadonlyArray<WaitingTicket> => {
  const page: Array<WaitingTicket> = []
  for (const id of s.db.zrange(s.keys.waiting, first, count)) {
    const ticket = loadWaiting(s, id)
    if (ticket !== undefined) {
      const presentUntil = s.db.zscore(s.keys.presence, id) ?? 0
      page.push({ ticket: shortHash(id), seq: ticket.seq, acceptedAt: ticket.accepted, presentUntil })
    }
  }
  return page
}

export const look = (s: Step, { firstPlace, firstSlot, places, slots }: Pages): Look => {
  const { db, keys } = s
  const held = slotPage(s, firstSlot, slots)
  const line = linePage(s, firstPlace, places)
  const firstId = db.zrange(keys.waiting, 0, 1)[0]
  const first = firstId === undefined ? undefined : load(s, firstId)
  return {
    waiting: db.zcard(keys.waiting),
    present: db.zcountFrom(keys.presence, s.now),
    held: db.zcard(keys.leases),
    live: meta(s, "live"),
    averageMillis: meta(s, "averageMillis"),
    backoffUntil: meta(s, "backoffUntil"),
    disrupted: isDisrupted(s),
    probeUntil: meta(s, "probeUntil"),
    doubts: meta(s, "doubts"),
    paused: meta(s, "paused") === 1,
    draining: meta(s, "draining") === 1,
    accepted: meta(s, "seq"),
    firstAcceptedAt: first === undefined ? 0 : first.accepted,
    ...(held.length === 0 ? {} : { slotPage: held }),
    ...(line.length === 0 ? {} : { linePage: line }),
  }
}
