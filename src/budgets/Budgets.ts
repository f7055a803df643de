/**
 * Budgets of minutes and money, of callers, campaigns and accounts: the service. `layer.ts` is its layer over the store.
 *
 * Guarantees, on every store and with any number of instances:
 * - For every budget and window, what is settled and held never exceeds the cap, where the budget ends calls (`OnLimit: end`): a call runs only on time that is
 *   held already. What passes it is counted as overrun: a call that its vendor did not end as told, writes that Redis lost in a failover,
 *   a correction, a lowered cap, a running call of a budget that only refuses new ones, and one of a campaign that was removed.
 * - Each call counts in the windows in which it began, at the price at which it began. It is rounded once.
 * - A hold is settled once. What a dead process held is settled when the call's ticket is over, by any instance.
 *
 * Each operation is one atomic step of the store; on a Cluster those that concern a caller and his campaign are two, the caller's first.
 */
import { Context, type Effect } from "effect"
import type { AwaitedBudget } from "../fifo-queue/rules/shared/step.ts"
import type { BudgetExhausted, StoreUnavailable } from "../protocol/refusals.ts"
import type { Charge } from "../protocol/settlements.ts"
import type { Budget } from "../settings/groups/budgets.ts"
import type { Campaign } from "../settings/Settings.ts"

/** A campaign with budgets, and the key of its queue. */
export interface BudgetedCampaign {
  readonly campaign: Campaign
  /** names the campaign's keys in the store */
  readonly key: string
}

/** The start of a call. */
export interface Beginning {
  /** the ticket, and the lease of its slot */
  readonly ticket: string
  readonly lease: string
  /** the rate limiter's key */
  readonly caller: string
}

/** A call that runs since then (ms since 1970). */
export interface RunningCall extends Beginning {
  readonly since: number
}

/** A call of which more time is to be held. */
export interface DueCall {
  /** names the hold */
  readonly hold: string
  readonly ticket: string
  readonly lease: string
  /** how many seconds are held */
  readonly seconds: number
  readonly data: string
  /** it ends soon, because a budget has no more for it as far as its ticket knows */
  readonly spent?: true
}

/** A caller has too little left of a budget of his own, for which callers wait. */
export interface OwnWait {
  /** when it begins anew, by the store's time (ms since 1970) */
  readonly until: number
  /** of a caller who cannot wait, because too many do */
  readonly refusal: BudgetExhausted
}

/** `waits`: nothing was held, because the caller waits until a budget has more; `own`: until a budget of his own has. */
export type Begun = Holding | { readonly _tag: "waits"; readonly own?: OwnWait }

/** The present window of a budget for which callers wait. */
export interface AwaitedWindow {
  readonly name: string
  /** when the next window begins, by the time of day (ms since 1970) */
  readonly until: number
  /** it is one of callers, of which each has their own */
  readonly own?: true
}

/** What a budget has in its present window; amounts in minutes, or in the currency. */
export interface BudgetBalance {
  readonly budget: Budget
  readonly from: number
  readonly until: number
  readonly settled: number
  readonly held: number
  readonly adjusted: number
  readonly left: number
  /** how much more is settled and held than the cap with its adjustments */
  readonly overrun: number
  /** callers wait for the next window when this one has too little */
  readonly waits?: true
}

export interface Adjustment {
  /** the caller, of a budget of callers: the rate limiter's key */
  readonly caller?: string | undefined
  /** added to the cap of the present window: minutes, or an amount of the currency; negative to take from it */
  readonly by: number
  /** names the adjustment: a repeated one is made once */
  readonly id: string
}

/** What became of an adjustment, and what the budget has. `other`: its id names one by another amount, which was made before. */
export interface Adjusted {
  readonly result: "made" | "again" | "other"
  readonly balance: BudgetBalance
}

/** `over`: the call has ended meanwhile. `seconds`: so much is held in all; `last`: there is no more. */
export type Holding =
  | { readonly _tag: "over" }
  | { readonly _tag: "held"; readonly seconds: number; readonly last: boolean; readonly budget?: string }

export class Budgets extends Context.Service<
  Budgets,
  {
    /** whether a campaign has budgets; without them none of the others is asked for it */
    readonly has: (campaign: Campaign) => boolean
    /** whether callers wait for budgets of their own in this campaign */
    readonly awaitsOwn: (campaign: Campaign) => boolean
    /**
     * Refuses a caller for whom too little is left, before anything else is spent on the request. Answers with the last budget of his own
     * that has too little and for which callers wait; undefined where none has. Holds nothing.
     */
    readonly check: (
      at: BudgetedCampaign,
      caller: string,
    ) => Effect.Effect<OwnWait | undefined, BudgetExhausted | StoreUnavailable>
    /** Whether the budgets of a caller have enough for a call to begin, or callers do not wait for those that have too little. */
    readonly mayBegin: (at: BudgetedCampaign, caller: string) => Effect.Effect<boolean, StoreUnavailable>
    /** Holds the first block of a call that begins, from all of its budgets or from none. */
    readonly hold: (at: BudgetedCampaign, call: Beginning) => Effect.Effect<Begun, BudgetExhausted | StoreUnavailable>
    /**
     * What a step of the campaign's queue is told of the budgets for which callers wait, by the store's time (ms since 1970): the same array
     * while nothing changes. Undefined for a campaign without such budgets.
     */
    readonly awaited: (campaign: Campaign) => ((now: number) => ReadonlyArray<AwaitedBudget>) | undefined
    /** The windows of all budgets for which callers wait, at a moment of the store's time (ms since 1970); whether they have too little is not said. */
    readonly awaitedWindows: (campaign: Campaign, now: number) => ReadonlyArray<AwaitedWindow>
    /** The calls of which more must be held now. They are claimed: no other instance is given them for `claimMillis`. */
    readonly due: (
      at: Pick<BudgetedCampaign, "key">,
      claimMillis: number,
    ) => Effect.Effect<ReadonlyArray<DueCall>, StoreUnavailable>
    /** Holds the next block of a running call. `since` is when the call began (ms since 1970); 0 while it has not begun. */
    readonly extend: (at: BudgetedCampaign, call: DueCall, since: number) => Effect.Effect<Holding, StoreUnavailable>
    /**
     * The campaign of a running call is not in the settings any more, so nobody can end it, or they have taken its budgets from it: what it has used counts
     * on in its budgets, as far as they have something left. The rest is charged at its end, as overrun.
     */
    readonly countOn: (key: string, call: DueCall, since: number) => Effect.Effect<void, StoreUnavailable>
    /** Holds time again for those of these running calls whose holds the store has lost. Returns how many they were. */
    readonly restore: (
      at: BudgetedCampaign,
      calls: ReadonlyArray<RunningCall>,
    ) => Effect.Effect<number, StoreUnavailable>
    /** When a call ends of which so many seconds are held: a little before they are used up (ms since 1970). */
    readonly endsAt: (at: BudgetedCampaign, since: number, seconds: number) => number
    /** Something is due of the call again at this time (ms since 1970). */
    readonly postpone: (
      at: Pick<BudgetedCampaign, "key">,
      hold: string,
      due: number,
    ) => Effect.Effect<void, StoreUnavailable>
    /** Charges what a call has used, and gives back the rest of what was held for it. Idempotent. */
    readonly settle: (key: string, charge: Charge) => Effect.Effect<void, StoreUnavailable>
    /** The ticket of a held call is over, and nobody knows how long the call was: what is held for it is charged. Idempotent. */
    readonly settleUnknown: (key: string, hold: string) => Effect.Effect<void, StoreUnavailable>
    /**
     * The vendor has said how long a call was, and perhaps what it cost: so much it is charged, in the windows in which it was charged, once. A
     * cost counts where the campaign's currency is USD. What is said of a call that is not charged yet is carried out when it is.
     */
    readonly correct: (
      at: BudgetedCampaign,
      sessions: ReadonlyArray<string>,
      used: { readonly seconds?: number; readonly dollars?: number },
    ) => Effect.Effect<void, StoreUnavailable>
    /** What the budgets of a campaign have now; of callers' budgets what one caller has, and none without a caller. */
    readonly balances: (
      at: BudgetedCampaign,
      caller?: string,
    ) => Effect.Effect<ReadonlyArray<BudgetBalance>, StoreUnavailable>
    /** Whether the campaign has this budget, and the caller is named where it is one of callers. */
    readonly adjustable: (campaign: Campaign, name: string, caller: string | undefined) => boolean
    /** Whether the adjustment of this id was made before: in the present window, or in one that was over less than two days ago. */
    readonly wasAdjusted: (
      at: BudgetedCampaign,
      name: string,
      adjustment: Pick<Adjustment, "caller" | "id">,
    ) => Effect.Effect<boolean, StoreUnavailable>
    /** Changes the cap of a budget for its present window; `again` for a repetition, `other` for one by another amount. Undefined if the campaign has no such budget, or a caller is needed. */
    readonly adjust: (
      at: BudgetedCampaign,
      name: string,
      adjustment: Adjustment,
    ) => Effect.Effect<Adjusted | undefined, StoreUnavailable>
  }
>()("voicegate/Budgets") {}
