/**
 * Holds time ahead for running calls, block by block. A call whose budgets have no more ends when what it holds is used up; its page is
 * warned. What is held for a call that is over is settled by its last step (`fifo-queue/rules/shared/charges.ts`); where that was lost, as in
 * a failover, this settles it when the ticket has been over for a while.
 *
 * The store gives each call to one gate at a time. If that gate dies, another one is given it after `CLAIM_MILLIS`, so the work is that of
 * calls by blocks, whatever the number of gates.
 */
import { Effect, Layer } from "effect"
import { type BudgetedCampaign, Budgets, type DueCall } from "../../budgets/Budgets.ts"
import * as metrics from "../../budgets/metrics.ts"
import type { BilledCalls } from "../../fifo-queue/answers.ts"
import { FifoQueue } from "../../fifo-queue/FifoQueue.ts"
import { boundedCache } from "../../lib/bounded-cache.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import type { Campaign } from "../../settings/Settings.ts"
import { Store } from "../../store/Store.ts"
import { runForEachCampaign } from "../background/run-every.ts"
import { Steps } from "../Steps.ts"

export const HOLD_CHECK_MILLIS = 2_000
/** How long a gate has to extend a hold, before another one may (ms). */
export const CLAIM_MILLIS = 5_000
/** How soon a call is looked at again that has not begun, or whose ticket is over and whose charge is still owed (ms). */
const AGAIN_MILLIS = 15_000
/** How long a ticket must have been over until what its call holds is settled here (ms): its own charge is owed longer than a dead process needs. */
export const LOST_MILLIS = 60_000
/** How often running calls are looked for whose holds the store has lost (ms). */
export const RESTORE_MILLIS = 60_000
/** How often the metrics of the balances are set (ms). */
const SHOW_MILLIS = 15_000
const MAX_SEEN_OVER = 10_000

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const budgets = yield* Budgets
    const queue = yield* FifoQueue
    const store = yield* Store
    const { at, step } = yield* Steps
    const { callTimes, endAtBudget } = queue
    /** when this gate has first seen that the ticket of a hold is over (ms) */
    const seenOver = boundedCache<number>(MAX_SEEN_OVER)

    const settleLost = Effect.fnUntraced(function* (of: BudgetedCampaign, { hold }: DueCall, now: number) {
      const since = seenOver.get(hold) ?? now
      seenOver.set(hold, since)
      if (now - since < LOST_MILLIS) return yield* budgets.postpone(of, hold, now + AGAIN_MILLIS)
      yield* budgets.settleUnknown(of.key, hold)
      seenOver.delete(hold)
    })

    /** @param since when the call began (ms) */
    const extend = Effect.fnUntraced(function* (of: BudgetedCampaign, call: DueCall, since: number) {
      const held = yield* budgets.extend(of, call, since)
      if (held._tag === "over" || endAtBudget === undefined || !(held.last || call.spent)) return
      const where = at(of.campaign)
      const endsAt = held.last ? budgets.endsAt(of, since, held.seconds) : undefined
      yield* step(where, endAtBudget(where, call.ticket, call.lease, endsAt))
    })

    const holdAhead = Effect.fnUntraced(function* (campaign: Campaign) {
      const where = at(campaign)
      const of = { campaign, key: where.campaign }
      const due = yield* budgets.due(of, CLAIM_MILLIS)
      if (due.length === 0) return
      const now = yield* store.now
      const times =
        callTimes === undefined
          ? due.map(() => ({ since: -1, spent: undefined }))
          : yield* step(
              where,
              callTimes(
                where,
                due.map(({ lease, ticket }) => ({ ticket, lease })),
              ),
            )
      yield* Effect.forEach(
        due,
        (call, n): Effect.Effect<void, StoreUnavailable> => {
          const { since, spent } = times[n] ?? { since: -1 }
          if (since === -1) return settleLost(of, call, now)
          if (since === 0) return budgets.postpone(of, call.hold, now + AGAIN_MILLIS)
          return extend(of, spent === undefined ? call : { ...call, spent }, since)
        },
        { concurrency: 10, discard: true },
      )
    })
    /** A failover of the store may have lost what was held for a call that runs. */
    const restoreLost = Effect.fnUntraced(function* (campaign: Campaign) {
      const where = at(campaign)
      const of = { campaign, key: where.campaign }
      let first: number | undefined = 0
      while (first !== undefined && queue.billedCalls !== undefined) {
        const page: BilledCalls = yield* step(where, queue.billedCalls(where, first))
        const lost = yield* budgets.restore(of, page.calls ?? [])
        if (lost > 0)
          yield* Effect.logWarning(
            `The store had lost what budgets held for ${lost} running calls. It is held again.`,
          ).pipe(Effect.annotateLogs({ campaign: campaign.name }))
        first = page.next
      }
    })
    const showBalances = Effect.fnUntraced(function* (campaign: Campaign) {
      if (!budgets.has(campaign)) return
      const balances = yield* budgets.balances({ campaign, key: at(campaign).campaign })
      for (const { adjusted, budget, held, settled } of balances) {
        yield* metrics.show("settled", campaign.name, budget.Name, settled)
        yield* metrics.show("held", campaign.name, budget.Name, held)
        yield* metrics.show("cap", campaign.name, budget.Name, budget.Cap + adjusted)
      }
    })
    yield* runForEachCampaign(RESTORE_MILLIS, "search for lost holds", (campaign) =>
      budgets.has(campaign) ? restoreLost(campaign) : Effect.void,
    )
    yield* runForEachCampaign(SHOW_MILLIS, "balances of budgets", showBalances)
    yield* runForEachCampaign(HOLD_CHECK_MILLIS, "holding of time for calls", (campaign) =>
      budgets.has(campaign) ? holdAhead(campaign) : Effect.void,
    )
  }),
)
