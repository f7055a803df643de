/** The input and the effects of every step of the queue, as the service exposes them. */
import type { Effect } from "effect"
import type { Settlement, Signal, StepAnswer } from "../rules/step.ts"

/** The tickets of a campaign that a process must withdraw because their callers were answered with 503. */
export interface Withdrawals {
  /** those not withdrawn yet, oldest first */
  readonly ids: () => ReadonlyArray<string>
  /** Records that these were withdrawn, which ended `ended` of them. */
  readonly done: (ids: ReadonlyArray<string>, ended: number) => Effect.Effect<void>
}

/** The queue's campaign, its current number of slots, and the instance that asks. */
export interface CampaignContext {
  /** names the campaign's keys in the store */
  readonly campaign: string
  readonly slots: number
  /** address of this process's push channel; empty when it reaches any ticket from anywhere */
  readonly instance: string
  /** sent with this instance's report of an outage, so that none of these tickets is called; absent for none */
  readonly withdrawals?: Withdrawals
}

/** The answer of a step, its signals for this instance, and its settlements. */
export interface StepResult<A> {
  readonly result: A
  readonly signals: ReadonlyArray<Signal>
  readonly settlements: ReadonlyArray<Settlement>
}

const NONE: ReadonlyArray<never> = []

/** Fills in absent signals and settlements. */
export const stepResultOf = <A>({ result, settlements = NONE, signals = NONE }: StepAnswer<A>): StepResult<A> => ({
  result,
  signals,
  settlements,
})
