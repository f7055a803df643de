/**
 * What budgets promise for which callers wait (`OnLimit: wait`), in plain words:
 *
 * - W1 Nobody is called, and no newcomer is started, for whom they have no time. Who was called or started and does not run yet holds none, and
 *   counts as if it did.
 * - W2 As soon as they have time again, the queue goes on, whichever gate takes the next step: that is I7.
 * - W3 Who finds none at the start waits again, at the own place: that is I2.
 *
 * And for budgets of callers, which each caller has for himself:
 *
 * - W4 Who waits for a budget of his own is not called before its next window begins, or a gate has found that it has time again.
 * - W5 He holds up nobody: while a slot is free, those who wait for no budget of their own are called (I7) and newcomers start.
 * - W6 He keeps his place (I2), and no more than `MAX_UNPAID` wait like that.
 * - W7 When the next window begins, the next sweep of any gate lets him be called.
 * - W8 When his budget has time again before, a gate finds it within seconds, also when another one has died.
 */
import { MAX_UNPAID } from "../../src/fifo-queue/rules/shared/own-budgets.ts"
import { type Change, newlyCalled } from "./change.ts"
import type { QueueState } from "./queue-state.ts"

/** An awaited budget in its present window, in its unit. */
export interface Awaited {
  readonly left: number
  /** what a call may begin with, and what it holds at first where there is more */
  readonly least: number
  readonly block: number
}

/** How many calls may begin by these budgets. */
export const callsPaid = (budgets: ReadonlyArray<Awaited>): number =>
  Math.min(
    ...budgets.map(({ block, least, left }) => (left < least ? 0 : Math.floor((left - least) / block) + 1)),
    Number.POSITIVE_INFINITY,
  )

/** How many callers were called or started, and are not in a call. */
const beginning = ({ leases, meta }: QueueState): number =>
  leases.size - (meta.get("live") ?? 0) - (meta.get("doubts") ?? 0)

/** Whether another caller may be called. @param paid as many calls may begin; undefined where callers wait for no budget */
export const isPaid = (paid: number | undefined, state: QueueState): boolean =>
  paid === undefined || beginning(state) < paid

/** W1, after a step that has called or started somebody. */
export const isOverdrawn = (paid: number | undefined, state: QueueState): boolean =>
  paid !== undefined && beginning(state) > paid

/** W4, W6 and W7, of one step. */
export const wrongUnpaid = (change: Change): ReadonlyArray<string> => {
  const { after, anyway, before, now, pays = [], swept } = change
  const wrong: Array<string> = []
  for (const [id, seq] of after.unpaid) {
    if (after.waiting.get(id) !== seq) wrong.push(`W6: ${id} waits for a budget of its caller, and not at its place`)
    const until = after.parked.get(id)
    if (until === undefined) wrong.push(`W4: ${id} waits for a budget of its caller, and may be called`)
    else if (swept && until < now) wrong.push(`W7: ${id} waits for a budget that has begun anew`)
  }
  if (after.unpaid.size > MAX_UNPAID) wrong.push(`W6: ${after.unpaid.size} wait for budgets of their callers`)
  for (const [id] of newlyCalled(change)) {
    const until = before.unpaid.has(id) ? (before.parked.get(id) ?? Number.POSITIVE_INFINITY) : undefined
    if (until !== undefined && until >= now && !pays.includes(id) && anyway !== true)
      wrong.push(`W4: ${id} is called, and the budget of its caller begins anew only at ${until}`)
  }
  return wrong
}
