/**
 * What a step owes by what it changed: a signal for each ticket that it called or ended, and a settlement for each caller whose units it
 * decided on. Both are compared as text.
 */

import { UNATTENDED_MILLIS } from "../../src/fifo-queue/rules/shared/unattended.ts"
import type { Settlement } from "../../src/protocol/settlements.ts"
import type { Signal } from "../../src/protocol/signals.ts"
import { type Change, newlyCalled, newlyOver, withdrawn } from "./change.ts"
import { newlyMoved, newlyWarned } from "./lengths.ts"
import { isDoubt, type Record } from "./queue-state.ts"

/** A signal as text, independent of the order of its fields. */
export const signalText = ({ kind, ticket }: Signal): string => {
  switch (kind._tag) {
    case "called":
      return `${ticket} called ${kind.startBefore} ${kind.lease}`
    case "ended":
      return `${ticket} ended ${kind.state}`
    case "warning":
      return `${ticket} warned ${kind.endsAt}`
  }
}

/** The same for a settlement. */
export const settlementText = ({ caller, kind, ticket }: Settlement): string => `${kind} ${ticket} ${caller}`

/** The signals that a step owes, in the format of `signalText`: one for each ticket it called, warned or ended. */
export const expectedSignals = (change: Change): ReadonlyArray<string> =>
  expectedNews(change).filter((text) => !text.endsWith(" ended left"))

/** What a step must tell the gate that asks, in the same format: every call, every warning and every end, also of a caller who has left. */
export const expectedNews = (change: Change): ReadonlyArray<string> =>
  [
    ...newlyCalled(change).map(([id, { lease }]) => `${id} called ${change.after.leases.get(id)} ${lease}`),
    ...newlyOver(change)
      .filter(([id]) => !isDoubt(id))
      .map(([id, { state }]) => `${id} ended ${state}`),
    ...newlyWarned(change).map(([id, endsAt]) => `${id} warned ${endsAt}`),
    ...newlyMoved(change)
      .filter(([id]) => !isDoubt(id))
      .map(([id, endsAt]) => `${id} warned ${endsAt === 0 ? undefined : endsAt}`),
  ].toSorted()

/** Whether a called ticket was left so late that it costs more than a call; not if the store was down meanwhile. */
export const leftLate = (change: Change, id: string): boolean => {
  const { before, now, window } = change
  const swept = before.meta.get("sweptAt") ?? 0
  const away = change.away ?? (swept > 0 && now - swept > UNATTENDED_MILLIS)
  if (before.meta.get("disrupted") === 1) return false
  const ticket = before.tickets.get(id)
  const began = (before.leases.get(id) ?? 0) - window * (ticket?.extended === true ? 2 : 1)
  return ticket?.state === "called" && !away && now - began > 5_000
}

const isGracePeriod = ({ after, away, before, now }: Change): boolean => {
  const swept = before.meta.get("sweptAt") ?? 0
  const unattended = away ?? (swept > 0 && now - swept > UNATTENDED_MILLIS)
  const grace = Math.max(before.meta.get("graceUntil") ?? 0, after.meta.get("graceUntil") ?? 0)
  return unattended || grace > now
}

/** Whether the session of a ticket had not begun, and no outage kept its page from making its offer. */
const missedOffer = (change: Change, id: string): boolean =>
  change.before.tickets.get(id)?.state !== "live" || !isGracePeriod(change)

/** Whether a session was left before its offer, so late that it costs more than a call; not during an outage. */
const leftOfferLate = (change: Change, id: string): boolean => {
  const { before, now } = change
  const { offerBefore = 0, since = 0 } = before.tickets.get(id) ?? {}
  return offerBefore > 0 && before.meta.get("disrupted") !== 1 && !isGracePeriod(change) && now - since > 5_000
}

/** Whether an ended ticket leaves its units to its start, which is in doubt. */
export const leftToDoubt = ({ after, before, clears }: Change, { lease }: Record): boolean =>
  (clears === true ? before : after).tickets.get(`?${lease}`)?.state === "doubt"

/** What the resolution of doubts owes the callers whose tickets ended before it. */
const decided = ({ after, before, clears }: Change): ReadonlyArray<string> =>
  [...before.tickets].flatMap(([id, { caller, holds, lease, state, ticket }]) => {
    if (state !== "doubt" || after.tickets.get(id)?.state === "doubt") return []
    // a removed campaign's ticket may end in the same step
    const then = after.tickets.get(ticket)
    const holder = caller !== "" || clears !== true ? { caller, holds } : then
    const isOver = holder !== then || (then?.lease === lease && then.state === "removed")
    return holder?.holds === true && isOver ? [`release ${ticket} ${holder.caller}`] : []
  })

/** The settlements that a step causes, in the format of `settlementText`. */
export const expectedSettlements = (change: Change): ReadonlyArray<string> => {
  const [late = "", taker = ""] = change.admits ?? []
  const tooLate = taker !== "" && withdrawn(change.before, late)
  return newlyOver(change)
    .filter(([, ticket]) => !leftToDoubt(change, ticket))
    .flatMap(([id, { caller, holds, state }]) => {
      const refund =
        (state === "failed" && change.refused !== true) ||
        (state === "budget" && change.before.tickets.get(id)?.state !== "live") ||
        (state === "left" && change.withdraws === true) ||
        (state === "removed" && change.clears === true) ||
        state === "closed"
      const missed =
        (state === "missed" && missedOffer(change, id)) ||
        (state === "left" && leftLate(change, id)) ||
        (state === "ended" && leftOfferLate(change, id))
      const kind = refund ? "refund" : missed ? "missed" : "release"
      return caller === "" || (kind === "release" && !holds) ? [] : [`${kind} ${id} ${caller}`]
    })
    .concat(tooLate ? [`refund ${late} ${taker}`] : [], decided(change))
    .toSorted()
}
