/**
 * A campaign at one moment, for operators: its figures, a page of its slots (by deadline) and a page of its queue. It names tickets
 * by a short hash, because a ticket's id is its bearer's credential.
 */
import { type AccountFigures, accountFigures } from "../shared/account.ts"
import { isDisrupted, isPaused } from "../shared/line.ts"
import { load, loadHolder, loadWaiting } from "../shared/load.ts"
import { allowedByPlatform } from "../shared/platform-limit.ts"
import { type PlatformState, platformState, shownPlatformState } from "../shared/platform-state.ts"
import { meta, type Step } from "../shared/step.ts"
import { shortHash, type Ticket } from "../shared/ticket.ts"
import { hashOfHolder } from "./audit-log.ts"

/** A held slot. Times in ms since 1970. */
export interface HeldSlot {
  /** a short hash of the ticket, never its id */
  readonly ticket: string
  /**
   * `in_doubt`: it is not known whether its session has started; `ending`: an operator has ended its session, and the platform has not
   * confirmed the end
   */
  readonly state: "called" | "starting" | "live" | "ending" | "in_doubt"
  readonly lease: string
  readonly since: number
  readonly deadline: number
  readonly acceptedAt: number
  /** whether it has ever opened a push channel */
  readonly attached: boolean
  /** of a running call in which nobody speaks: when it ends unless somebody does */
  readonly silentUntil?: number
}

/** A waiting ticket. `seq` never changes. After `presentUntil` (ms since 1970) it counts as absent. */
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

export interface CampaignSnapshot {
  readonly waiting: number
  /** waiting tickets that are not absent */
  readonly present: number
  readonly held: number
  readonly live: number
  readonly averageMillis: number
  /** when the backoff ends (ms); 0 when there is none */
  readonly backoffUntil: number
  /** the platform cannot be reached; one ticket at a time is called as a probe */
  readonly disrupted: boolean
  /** why the platform serves nobody; absent while it works */
  readonly platform?: PlatformState
  /** when the next probe may be called (ms); 0 when at once */
  readonly probeUntil: number
  /** slots held for starts in doubt */
  readonly doubts: number
  readonly paused: boolean
  /** when the pause ends by itself (ms); absent without such a time */
  readonly pausedUntil?: number
  readonly draining: boolean
  /** tickets accepted since the campaign was created in the store */
  readonly accepted: number
  /** when the oldest waiting ticket was accepted (ms); 0 when nobody waits */
  readonly firstAcceptedAt: number
  /** how many slots the platform has allowed, where nobody knows how many there are; absent before it has refused a start */
  readonly allowed?: number
  /** its account; absent without one */
  readonly account?: AccountFigures
  readonly slotPage?: ReadonlyArray<HeldSlot>
  readonly waitingPage?: ReadonlyArray<WaitingTicket>
}

const shownState = ({ state, stoppedBy }: Ticket): HeldSlot["state"] => {
  if (state === "live" && stoppedBy !== undefined) return "ending"
  return state === "called" || state === "starting" || state === "live" ? state : "in_doubt"
}

const slotPage = (s: Step, first: number, count: number): ReadonlyArray<HeldSlot> => {
  const page: Array<HeldSlot> = []
  for (const id of s.db.zrange(s.keys.leases, first, count)) {
    const ticket = loadHolder(s, id)
    if (ticket !== undefined) {
      page.push({
        ticket: hashOfHolder(id, ticket),
        state: shownState(ticket),
        lease: ticket.lease ?? "",
        since: ticket.since ?? 0,
        deadline: s.db.zscore(s.keys.leases, id) ?? 0,
        acceptedAt: ticket.accepted,
        attached: ticket.instance !== undefined,
        ...(ticket.silentUntil === undefined ? {} : { silentUntil: ticket.silentUntil }),
      })
    }
  }
  return page
}

const waitingPage = (s: Step, first: number, count: number): ReadonlyArray<WaitingTicket> => {
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

export const campaignSnapshot = (s: Step, { firstPlace, firstSlot, places, slots }: Pages): CampaignSnapshot => {
  const { db, keys } = s
  const paused = isPaused(s)
  const platform = shownPlatformState(s, platformState(s))
  const pausedUntil = meta(s, "pausedUntil")
  const held = slotPage(s, firstSlot, slots)
  const waiting = waitingPage(s, firstPlace, places)
  const firstId = db.zrange(keys.waiting, 0, 1)[0]
  const first = firstId === undefined ? undefined : load(s, firstId)
  const allowed = allowedByPlatform(s)
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
    paused,
    draining: meta(s, "draining") === 1,
    accepted: meta(s, "seq"),
    firstAcceptedAt: first === undefined ? 0 : first.accepted,
    ...(allowed === undefined ? {} : { allowed }),
    ...(s.context.account === undefined ? {} : { account: accountFigures(s, s.context.account) }),
    ...(platform === undefined ? {} : { platform }),
    ...(paused && pausedUntil > 0 ? { pausedUntil } : {}),
    ...(held.length === 0 ? {} : { slotPage: held }),
    ...(waiting.length === 0 ? {} : { waitingPage: waiting }),
  }
}
