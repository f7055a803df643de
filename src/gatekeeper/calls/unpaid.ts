/**
 * Looks after the callers who wait for budgets of their own: whose budget has enough again, because a call of his ended, the vendor corrected one, an
 * operator added some, or the settings changed, is called at his place. Those whose window begins anew are found by the sweep. One gate at a
 * time looks, and asks for one balance a caller.
 */
import { Effect, Layer } from "effect"
import { Budgets } from "../../budgets/Budgets.ts"
import { FifoQueue } from "../../fifo-queue/FifoQueue.ts"
import type { Campaign } from "../../settings/Settings.ts"
import { runForEachCampaign } from "../background/run-every.ts"
import { Steps } from "../Steps.ts"

/** How often each gate tries to claim the look (ms). */
export const UNPAID_CHECK_MILLIS = 2_000
/** How long no other gate looks (ms). */
export const UNPAID_CLAIM_MILLIS = 3_000
/** How many callers are asked about at once. */
const AT_ONCE = 10

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const budgets = yield* Budgets
    const { unpaid } = yield* FifoQueue
    const { at, step } = yield* Steps
    if (unpaid === undefined) return

    const look = Effect.fnUntraced(function* (campaign: Campaign) {
      const where = at(campaign)
      const of = { campaign, key: where.campaign }
      const found = yield* unpaid.find(where, UNPAID_CLAIM_MILLIS)
      const paid = yield* Effect.filter(found, ({ caller }) => budgets.mayBegin(of, caller), { concurrency: AT_ONCE })
      if (paid.length === 0) return
      const ids = paid.map(({ ticket }) => ticket)
      yield* step(where, unpaid.pay(where, ids))
    })

    yield* runForEachCampaign(UNPAID_CHECK_MILLIS, "look for budgets of callers that have more again", (campaign) =>
      budgets.awaitsOwn(campaign) ? look(campaign) : Effect.void,
    )
  }),
)
