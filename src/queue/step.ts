/** What every step of the queue is asked for and leaves, as the service says it. */
import type { Effect } from "effect"
import type { Settlement, Signal, StepAnswer } from "../rules/step.ts"

/** The tickets of a campaign that a process has to withdraw because their callers were answered 503. */
export interface Withdrawals {
  /** those that are not withdrawn yet, the oldest first */
  readonly ids: () => ReadonlyArray<string>
  /** These were withdrawn, and `ended` of them ended by it. */
  readonly done: (ids: ReadonlyArray<string>, ended: number) => Effect.Effect<void>
}

/** Whose queue, how many slots it has at this moment, and which instance asks. */
export interface At {
  /** names the campaign's keys in the store */
  readonly campaign: string
  readonly slots: number
  /** where this process's push channel is reached; empty when it reaches any ticket from anywhere */
  readonly instance: string
  /** travel with this instance's report of an outage, so that nobody is called who is to be withdrawn; none where absent */
  readonly withdrawals?: Withdrawals
}

/** What a step answers, the signals it left to this instance, and the settlements it caused. */
export interface Stepped<A> {
  readonly result: A
  readonly signals: ReadonlyArray<Signal>
  readonly settlements: ReadonlyArray<Settlement>
}

/** What a step answers, as the service says it. */
export const steppedOf = <A>({ result, settlements = [], signals = [] }: StepAnswer<A>): Stepped<A> => ({
  result,
  signals,
  settlements,
})
