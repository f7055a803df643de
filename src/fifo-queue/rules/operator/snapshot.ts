/**
 * A campaign at one moment, for operators: its figures, a page of its slots (by deadline) and a page of its queue. It names tickets
 * by a short hash, because a ticket's id is its bearer's credential.
 */

import { subjectIn } from "../../../caller-names/rules/subject-name.ts"
import type { CampaignSnapshot } from "../../answers.ts"
import type { Pages } from "../../inputs.ts"
import type { HeldSlot, WaitingTicket } from "../../operator/schemas.ts"
import { shortHash } from "../../short-hash.ts"
import { accountFigures } from "../shared/account.ts"
import { resumesAt } from "../shared/awaited-budgets.ts"
import { positionOf } from "../shared/fair-places.ts"
import { isBelowShare, isDisrupted, isParked, isPaused } from "../shared/line.ts"
import { load, loadHolder, loadWaiting } from "../shared/load.ts"
import { isUnpaid } from "../shared/own-budgets.ts"
import { allowedByPlatform } from "../shared/platform-limit.ts"
import { platformState, shownPlatformState } from "../shared/platform-state.ts"
import { knownPresentUntil } from "../shared/presence.ts"
import { meta, type Step } from "../shared/step.ts"
import type { Ticket } from "../shared/ticket.ts"
import { hashOfHolder } from "./audit-log.ts"

const shownState = ({ state, stoppedBy }: Ticket): HeldSlot["state"] => {
  if (state === "live" && stoppedBy !== undefined) return "ending"
  return state === "called" || state === "starting" || state === "live" ? state : "in_doubt"
}

const callerOf = ({ caller = "" }: Ticket): { readonly subject?: string; readonly address?: string } => {
  const subject = subjectIn(caller)
  if (subject !== undefined) return { subject }
  return caller === "" ? {} : { address: caller }
}

const passedOver = (s: Step, id: string, { network }: Ticket): Pick<WaitingTicket, "passedOver" | "resumesAt"> => {
  if (s.context.awaitsOwn === true && isUnpaid(s, id)) {
    const until = s.db.zscore(s.keys.parked, id)
    return until === undefined ? { passedOver: "budget" } : { passedOver: "budget", resumesAt: until }
  }
  if (isParked(s, id)) return { passedOver: "parked" }
  return s.context.share >= 1 || isBelowShare(s, network) ? {} : { passedOver: "network" }
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
        ...(ticket.endsAt === undefined ? {} : { endsAt: ticket.endsAt }),
        ...(ticket.silentUntil === undefined ? {} : { silentUntil: ticket.silentUntil }),
        ...callerOf(ticket),
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
      const presentUntil = knownPresentUntil(s, id)
      const position = positionOf(s, id, first + page.length, ticket)
      page.push({
        ticket: shortHash(id),
        seq: ticket.seq,
        position,
        acceptedAt: ticket.accepted,
        presentUntil,
        ...passedOver(s, id, ticket),
        ...callerOf(ticket),
      })
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
  const heldUntil = resumesAt(s)
  const unpaid = s.context.awaitsOwn === true ? db.zcard(keys.unpaid) : 0
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
    ...(heldUntil === 0 ? {} : { resumesAt: heldUntil }),
    ...(unpaid === 0 ? {} : { unpaid }),
    ...(held.length === 0 ? {} : { slotPage: held }),
    ...(waiting.length === 0 ? {} : { waitingPage: waiting }),
  }
}
