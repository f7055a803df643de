/**
 * Goes through the calls of a campaign for which time must be held now. The time of a call that runs is `ahead`'s; what is held for one that
 * is over is settled by its last step (`fifo-queue/rules/shared/charges.ts`), and here where that was lost, as in a failover.
 */
import { Effect } from "effect"
import { Budgets, type DueCall } from "../../budgets/Budgets.ts"
import { FifoQueue } from "../../fifo-queue/FifoQueue.ts"
import type { CampaignContext } from "../../fifo-queue/step.ts"
import { boundedCache } from "../../lib/bounded-cache.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import { Store } from "../../store/Store.ts"
import { Steps } from "../Steps.ts"

/** How long a gate has to extend a hold, before another one may (ms). */
export const CLAIM_MILLIS = 5_000
/** How soon a call is looked at again that has not begun, or whose ticket is over and whose charge is still owed (ms). */
const AGAIN_MILLIS = 15_000
/** How long a ticket must have been over until what its call holds is settled here (ms): its own charge is owed longer than a dead process needs. */
export const LOST_MILLIS = 60_000
const MAX_SEEN_OVER = 10_000

/** @param ahead holds more time for a call that runs since then (ms since 1970) */
export type HoldDue = (
  where: CampaignContext,
  ahead: (call: DueCall, since: number) => Effect.Effect<void, StoreUnavailable>,
) => Effect.Effect<void, StoreUnavailable>

export const makeHoldDue = Effect.gen(function* () {
  const budgets = yield* Budgets
  const { callTimes } = yield* FifoQueue
  const store = yield* Store
  const { step } = yield* Steps
  /** when this gate has first seen that the ticket of a hold is over (ms) */
  const seenOver = boundedCache<number>(MAX_SEEN_OVER)

  const settleLost = Effect.fnUntraced(function* (key: string, { hold }: DueCall, now: number) {
    const since = seenOver.get(hold) ?? now
    seenOver.set(hold, since)
    if (now - since < LOST_MILLIS) return yield* budgets.postpone({ key }, hold, now + AGAIN_MILLIS)
    yield* budgets.settleUnknown(key, hold)
    seenOver.delete(hold)
  })

  const holdDue: HoldDue = Effect.fnUntraced(function* (where, ahead) {
    const key = where.campaign
    const due = yield* budgets.due({ key }, CLAIM_MILLIS)
    if (due.length === 0) return
    const now = yield* store.now
    const slots = due.map(({ lease, ticket }) => ({ ticket, lease }))
    const times =
      callTimes === undefined
        ? due.map(() => ({ since: -1, spent: undefined }))
        : yield* step(where, callTimes(where, slots))
    yield* Effect.forEach(
      due,
      (call, n): Effect.Effect<void, StoreUnavailable> => {
        const { since, spent } = times[n] ?? { since: -1 }
        if (since === -1) return settleLost(key, call, now)
        if (since === 0) return budgets.postpone({ key }, call.hold, now + AGAIN_MILLIS)
        return ahead(spent === undefined ? call : { ...call, spent }, since)
      },
      { concurrency: 10, discard: true },
    )
  })
  return holdDue
})
