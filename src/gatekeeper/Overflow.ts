/**
 * What a campaign offers to callers who would wait long, or who are not taken because its queue is full, it is closed or a budget is used up. A
 * campaign that offers nothing costs nothing.
 */
import { Context, Effect, Layer } from "effect"
import type { Offer } from "../protocol/offers.ts"
import { type BudgetExhausted, withOffersInstead } from "../protocol/refusals.ts"
import { offersOf } from "../settings/groups/overflow.ts"
import type { Campaign } from "../settings/Settings.ts"
import { Store } from "../store/Store.ts"
import { aheadOf } from "../store/time-of-day.ts"
import { Campaigns } from "./Campaigns.ts"
import { Hours } from "./Hours.ts"
import * as metrics from "./metrics.ts"
import { UsedUpBudgets } from "./UsedUpBudgets.ts"

export class Overflow extends Context.Service<
  Overflow,
  {
    /**
     * What is offered now; undefined for nothing. Another campaign is not where it is closed, or a budget of it or of its account is used up. `now` is the store's time, here and below (ms since
     * 1970).
     */
    readonly offers: (campaign: Campaign, now: number) => ReadonlyArray<Offer> | undefined
    /** The same for a caller who is refused, which is counted. */
    readonly atRefusal: (
      campaign: Campaign,
      at: "queue_full" | "closed" | "budget_exhausted",
      now: number,
    ) => ReadonlyArray<Offer> | undefined
    /** Fails with this refusal of a caller, and what is offered instead. */
    readonly refuseForBudget: (campaign: Campaign, refusal: BudgetExhausted) => Effect.Effect<never, BudgetExhausted>
    /**
     * Adds the offers to what a waiting caller is told, if the wait is long: as expected, or since the ticket was accepted (the store's time).
     * Returns the value itself otherwise.
     */
    readonly added: <A extends Expected>(
      campaign: Campaign | undefined,
      told: A,
      now: number,
      acceptedAt?: number,
    ) => A | (A & Told)
    /** The caller has left for one of the offers. */
    readonly taken: (campaign: Campaign, kind: Offer["kind"]) => Effect.Effect<void>
  }
>()("voicegate/gatekeeper/Overflow") {}

interface Expected {
  readonly estimatedWaitSeconds?: number | null
}

interface Told {
  readonly offers: ReadonlyArray<Offer>
}

/** Whether a wait is longer than the campaign's limit (s). */
export const isLong = (limit: number, estimatedSeconds: number | null | undefined, waitedMillis: number): boolean =>
  (estimatedSeconds ?? 0) > limit || waitedMillis > limit * 1000

export const layer: Layer.Layer<Overflow, never, Campaigns | Hours | Store | UsedUpBudgets> = Layer.effect(
  Overflow,
  Effect.gen(function* () {
    const store = yield* Store
    const campaigns = yield* Campaigns
    const hours = yield* Hours
    const usedUp = yield* UsedUpBudgets
    const context = yield* Effect.context<never>()
    const known = new Map(
      campaigns.all.flatMap((campaign) =>
        campaign.Overflow === undefined ? [] : [[campaign, offersOf(campaign.name, campaign.Overflow)] as const],
      ),
    )
    yield* metrics.registerOffers([...known].map(([{ name }]) => name))

    const refuses = (target: string, now: number): boolean => {
      const campaign = campaigns.find(target)
      if (campaign === undefined) return false
      if (campaign.Hours !== undefined && hours.refusal(campaign, now) !== undefined) return true
      return usedUp.resetsAt(campaign, now + aheadOf(store)) !== undefined
    }
    const offers: Overflow["Service"]["offers"] = (campaign, now) => {
      const all = known.get(campaign)
      if (all === undefined) return undefined
      const open = all.filter(({ kind, target }) => kind !== "campaign" || !refuses(target, now))
      return open.length === 0 ? undefined : open
    }
    const atRefusal: Overflow["Service"]["atRefusal"] = (campaign, at, now) => {
      const found = offers(campaign, now)
      if (found !== undefined) metrics.offered(campaign.name, at).updateUnsafe(1, context)
      return found
    }
    return {
      offers,
      atRefusal,
      refuseForBudget: (campaign, refusal) =>
        campaign.Overflow === undefined
          ? Effect.fail(refusal)
          : Effect.flatMap(store.now, (now) =>
              Effect.fail(withOffersInstead(refusal, atRefusal(campaign, "budget_exhausted", now))),
            ),
      added: (campaign, told, now, acceptedAt) => {
        if (campaign?.Overflow === undefined) return told
        const waited = acceptedAt === undefined ? 0 : now - acceptedAt
        if (!isLong(campaign.Overflow.AfterSeconds, told.estimatedWaitSeconds, waited)) return told
        const found = offers(campaign, now)
        if (found === undefined) return told
        // of a newcomer; who asks again was told before
        if (acceptedAt === undefined) metrics.offered(campaign.name, "waiting").updateUnsafe(1, context)
        return { ...told, offers: found }
      },
      taken: ({ name }, kind) => Effect.sync(() => metrics.offerTaken(name, kind).updateUnsafe(1, context)),
    }
  }),
)
