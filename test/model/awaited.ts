/**
 * What budgets promise for which callers wait (`OnLimit: wait`), in plain words:
 *
 * - W1 Nobody is called, and no newcomer is started, for whom they have no time. Who was called or started and does not run yet holds none, and
 *   counts as if it did.
 * - W2 As soon as they have time again, the queue goes on, whichever gate takes the next step: that is I7.
 * - W3 Who finds none at the start waits again, at the own place: that is I2.
 */
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
