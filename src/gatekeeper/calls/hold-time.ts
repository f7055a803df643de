/**
 * Holds time ahead for running calls, block by block. A call whose budgets have no more ends when what it holds is used up; its page is
 * warned.
 *
 * The store gives each call to one gate at a time. If that gate dies, another one is given it after `CLAIM_MILLIS`, so the work is that of
 * calls by blocks, whatever the number of gates.
 */
import { Effect, Layer } from "effect"
import { type BudgetedCampaign, Budgets, type DueCall } from "../../budgets/Budgets.ts"
import { budgetAnswerOf } from "../../budgets/balance-answer.ts"
import * as metrics from "../../budgets/metrics.ts"
import type { BilledCalls } from "../../fifo-queue/answers.ts"
import { FifoQueue } from "../../fifo-queue/FifoQueue.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import type { Campaign } from "../../settings/Settings.ts"
import { runForEachCampaign } from "../background/run-every.ts"
import { Steps } from "../Steps.ts"
import { UsedUpBudgets } from "../UsedUpBudgets.ts"
import { makeHoldDue } from "./hold-due.ts"

export const HOLD_CHECK_MILLIS = 2_000
/** How often running calls are looked for whose holds the store has lost (ms). */
export const RESTORE_MILLIS = 60_000
/** How often the metrics of the balances are set (ms). */
const SHOW_MILLIS = 15_000

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const budgets = yield* Budgets
    const queue = yield* FifoQueue
    const { at, step } = yield* Steps
    const { endAtBudget } = queue
    const usedUp = yield* UsedUpBudgets
    const holdDue = yield* makeHoldDue

    /** @param since when the call began (ms) */
    const extend = Effect.fnUntraced(function* (of: BudgetedCampaign, call: DueCall, since: number) {
      const held = yield* budgets.extend(of, call, since)
      if (held._tag === "over" || endAtBudget === undefined || !(held.last || call.spent)) return
      const where = at(of.campaign)
      const endsAt = held.last ? budgets.endsAt(of, since, held.seconds) : undefined
      yield* step(where, endAtBudget(where, call.ticket, call.lease, endsAt))
    })

    const holdAhead = (campaign: Campaign): Effect.Effect<void, StoreUnavailable> => {
      const where = at(campaign)
      const of = { campaign, key: where.campaign }
      return holdDue(where, (call, since) => extend(of, call, since))
    }
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
    /**
     * The settings have taken the campaign's budgets from it, as by a reload. Its calls count on in the budgets in which they began, which other campaigns of
     * the account may still have, and what is held for one that is over is settled.
     */
    const countOn = (campaign: Campaign): Effect.Effect<void, StoreUnavailable> => {
      const where = at(campaign)
      return holdDue(where, (call, since) => budgets.countOn(where.campaign, call, since))
    }
    const showBalances = Effect.fnUntraced(function* (campaign: Campaign) {
      if (!budgets.has(campaign)) return yield* metrics.showRefusing(campaign.name, [])
      yield* Effect.forEach(campaign.Budgets ?? [], ({ Name }) => metrics.register(campaign.name, Name), {
        discard: true,
      })
      const balances = yield* budgets.balances({ campaign, key: at(campaign).campaign })
      usedUp.read(campaign, balances)
      for (const { adjusted, budget, held, settled } of balances) {
        yield* metrics.show("settled", campaign.name, budget.Name, settled)
        yield* metrics.show("held", campaign.name, budget.Name, held)
        yield* metrics.show("cap", campaign.name, budget.Name, budget.Cap + adjusted)
      }
      yield* metrics.showRefusing(
        campaign.name,
        balances.map((each) => [each.budget.Name, budgetAnswerOf(campaign, each).refusing === true]),
      )
    })
    yield* runForEachCampaign(RESTORE_MILLIS, "search for lost holds", (campaign) =>
      budgets.has(campaign) ? restoreLost(campaign) : countOn(campaign),
    )
    yield* runForEachCampaign(SHOW_MILLIS, "balances of budgets", showBalances, { atOnce: true })
    yield* runForEachCampaign(HOLD_CHECK_MILLIS, "holding of time for calls", (campaign) =>
      budgets.has(campaign) ? holdAhead(campaign) : Effect.void,
    )
  }),
)
