/**
 * What must hold of calls with a time limit of their own:
 * - The limit is fixed when the call starts. Nothing moves it, neither a reload nor a late answer to an older start; but a budget with nothing left
 *   for a call ends it earlier, and lets it go on to its limit again when it has more.
 * - Whoever is in such a call is in the list of those that a gate warns and ends, until the call is over. So no call is warned of that is not
 *   ended, and none runs on unseen because a gate has died.
 * - Nobody else is in that list: no end of an older call ends a newer one.
 * - A page is warned at a time that was due, of the end of its own call, and before that end.
 * - A call has been too long only at its limit, and has ended for a budget only where that has nothing left for it.
 */
import type { Change } from "./change.ts"
import type { Record } from "./queue-state.ts"

/** A page's clock and a vendor's may be ahead by this (ms). */
const EARLY_MILLIS = 2_000

/** Contradictions within the state after a step. */
export const unlimited = ({ after: state, now: asked, skew = 0, time = asked }: Change): ReadonlyArray<string> => {
  const wrong: Array<string> = []
  // another gate may have found that the end has come; the clock of this one may have stood still
  const now = Math.max(asked, time) + skew
  for (const id of state.limits.keys()) {
    const ticket = state.tickets.get(id)
    if (ticket?.state !== "live" || ticket.endsAt === 0)
      wrong.push(`L3: ${id} is to be ended, and has no call with a limit`)
  }
  for (const [id, { endsAt, state: s }] of state.tickets) {
    if (endsAt === 0) continue
    if (s !== "live") wrong.push(`${id} is ${s} and has a limit`)
    // where the platform cannot be asked, nothing more is due at the end
    else if (endsAt > now && !state.limits.has(id)) wrong.push(`L2: the call of ${id} has a limit that nobody enforces`)
    const due = state.limits.get(id) ?? 0
    if (endsAt > now && due > endsAt)
      wrong.push(`L1: the call of ${id} is looked at ${due - endsAt} ms after its limit`)
  }
  return wrong
}

/** The tickets whose pages this step warned, with the ends of their calls. */
export const newlyWarned = ({ after, before, now }: Change): ReadonlyArray<readonly [id: string, endsAt: number]> =>
  [...before.limits].flatMap(([id, due]) => {
    const endsAt = before.tickets.get(id)?.endsAt ?? 0
    const isMoved = (after.limits.get(id) ?? 0) > due && after.tickets.get(id)?.endsAt === endsAt
    return due <= now && now < endsAt && isMoved ? [[id, endsAt] as const] : []
  })

/** The calls whose ends a budget has moved, with their new ends; 0 for none. Their pages are told. */
export const newlyMoved = ({ after, before }: Change): ReadonlyArray<readonly [id: string, endsAt: number]> =>
  [...before.tickets].flatMap(([id, { endsAt, state }]) => {
    const then = after.tickets.get(id)
    return state === "live" && then?.state === "live" && then.endsAt !== endsAt ? [[id, then.endsAt] as const] : []
  })

/** Whether a budget may have moved the end of a call so: it is earlier than the time limit, or that again. */
const isMovedByBudget = (was: Record, is: Record): boolean => {
  const limit = was.spent ? was.limitedAt : was.endsAt
  if (!is.spent) return was.spent && is.endsAt === limit
  return is.limitedAt === limit && (limit === 0 || is.endsAt < limit)
}

/** Violations from one step to the next. */
export const movedLimits = ({ after, before, now, skew = 0 }: Change): ReadonlyArray<string> => {
  const wrong: Array<string> = []
  for (const [id, was] of before.tickets) {
    const { endsAt, lease, spent, state } = was
    const then = after.tickets.get(id)
    if (then === undefined || state !== "live") continue
    if (then.state === "live" && then.endsAt !== endsAt && !isMovedByBudget(was, then))
      wrong.push(`the limit of the call of ${id} (lease ${lease}) moved from ${endsAt} to ${then.endsAt}`)
    if (then.state === "too_long" && (endsAt === 0 || endsAt - EARLY_MILLIS > now + skew))
      wrong.push(`L3: the call of ${id} was too long before its limit ${endsAt}`)
    if (then.state === "budget" && (!spent || endsAt - EARLY_MILLIS > now + skew))
      wrong.push(`L3: the call of ${id} has ended for a budget before its end ${endsAt}`)
  }
  return wrong
}
