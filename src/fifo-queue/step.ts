/** The input and the effects of every step of the queue, as the service exposes them. */
import type { Effect } from "effect"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import type { Charge, Settlement } from "../protocol/settlements.ts"
import type { Signal } from "../protocol/signals.ts"
import type { StepAnswer } from "./answers.ts"
import { campaignIdOf, campaignKeyOf } from "./keys.ts"
import type { AwaitedBudget } from "./rules/shared/step.ts"

/** The tickets of a campaign that a process must withdraw because their callers were answered with 503. */
export interface Withdrawals {
  /** those not withdrawn yet, oldest first */
  readonly ids: () => ReadonlyArray<string>
  /** Records that these were withdrawn. */
  readonly done: (ids: ReadonlyArray<string>) => Effect.Effect<void>
}

/** The account whose capacity a campaign shares with others (`./rules/shared/account.ts`). */
export interface AccountCapacity {
  /** the maximum number of concurrent calls of the account */
  readonly cap: number
  /** how many of them are reserved for a campaign, by its key; at most `cap` together */
  readonly reserved: Readonly<Record<string, number>>
}

/** The queue's campaign, its current number of slots, and the instance that asks. */
export interface CampaignContext {
  /** names the campaign's keys in the store */
  readonly campaign: string
  readonly slots: number
  /** the campaign has budgets, so what its calls use is charged to them */
  readonly charges?: true
  /**
   * the budgets for which its callers wait, by the store's time (ms since 1970): the same array while nothing changes; absent for none. A host's own queue that
   * ignores it calls callers who wait again
   */
  readonly awaited?: (now: number) => ReadonlyArray<AwaitedBudget>
  /** its callers wait for budgets of their own; absent where they do not. A host's own queue may ignore it */
  readonly awaitsOwn?: true
  /** the capacity of its account, the same object while nothing changes; absent without an account */
  readonly account?: AccountCapacity | undefined
  /** the campaign reports events to its host; absent when it does not. A host's own queue reports none */
  readonly events?: true
  /** address of this process's push channel; empty when this process reaches every ticket's connection itself */
  readonly instance: string
  /** whether answers about a waiting ticket say when it was accepted */
  readonly tellsAccepted?: boolean
  /** sent with this instance's report of an outage, so that none of these tickets is called; absent for none */
  readonly withdrawals?: Withdrawals
}

/** The answer of a step, its signals for this instance, and its settlements. */
export interface StepResult<A> {
  readonly result: A
  readonly signals: ReadonlyArray<Signal>
  /** calls and ends of tickets in this step that this instance does not deliver, but counts and logs (`StepAnswer`); absent for none */
  readonly elsewhere?: ReadonlyArray<Signal>
  readonly settlements: ReadonlyArray<Settlement>
  /** what calls that have ended have used of budgets; absent for none */
  readonly charges?: ReadonlyArray<Charge>
  /** the keys of other campaigns of the account that wait for a slot which is free now; absent for none */
  readonly wanting?: ReadonlyArray<string>
}

/** An effect that takes a step of a campaign's queue. */
export type Stepping<A> = Effect.Effect<StepResult<A>, StoreUnavailable>

const NONE: ReadonlyArray<never> = []

/** Fills in absent signals and settlements. Names the campaigns that want a slot by their keys; `campaign` is the step's. */
export const stepResultOf = <A>(
  { charges, elsewhere, result, settlements = NONE, signals = NONE, wanting }: StepAnswer<A>,
  campaign: string,
): StepResult<A> => {
  if (wanting === undefined && charges === undefined) {
    return elsewhere === undefined ? { result, signals, settlements } : { result, signals, elsewhere, settlements }
  }
  const { account } = campaignIdOf(campaign)
  return {
    result,
    signals,
    ...(elsewhere === undefined ? {} : { elsewhere }),
    settlements,
    ...(charges === undefined ? {} : { charges }),
    ...(wanting === undefined ? {} : { wanting: wanting.map((other) => campaignKeyOf({ account, campaign: other })) }),
  }
}
