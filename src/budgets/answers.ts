/** What the rules of the budgets answer: the schema of each answer, from which the rules have its type. Times in ms since 1970. */
import { Schema } from "effect"

const { Boolean: Flag, Finite, Literal, Literals, String: Text, Struct, Union, optionalKey } = Schema
const List = Schema.Array

/** A share of the cap was settled or held for the first time in a window. Amounts are in the budget's unit. */
export const Alert = Struct({
  name: Text,
  /** the window */
  from: Finite,
  share: Finite,
  settled: Finite,
  held: Finite,
  adjusted: Finite,
})
export type Alert = typeof Alert.Type

/** So much more is settled and held than the cap; `money`: the amount is of money. */
export const Overrun = Struct({ name: Text, amount: Finite, money: optionalKey(Literal(true)) })
export type Overrun = typeof Overrun.Type

const effects = {
  alerts: optionalKey(List(Alert)),
  overruns: optionalKey(List(Overrun)),
  /** budgets of the campaign or the account that are used up from this step on */
  exhausted: optionalKey(List(Text)),
}
const EffectsOfStep = Struct(effects)
export type BudgetEffects = typeof EffectsOfStep.Type

export const Held = Union([
  /** `seconds` in all; fewer than asked for where the budget `short` has no more */
  Struct({ _tag: Literal("held"), seconds: Finite, short: optionalKey(Text), ...effects }),
  /** too little is left of the budget `name` in its window, and nothing was held */
  Struct({ _tag: Literal("refused"), name: Text, from: Finite, until: Finite, ...effects }),
  /** the hold was settled before */
  Struct({ _tag: Literal("over") }),
])
export type Held = typeof Held.Type

/** A vendor's report of a call that was not charged yet, by its name: how long it was (s), and what it cost, in millionths. */
export const KeptReport = Struct({ report: Text, seconds: optionalKey(Finite), cost: optionalKey(Finite) })
export type KeptReport = typeof KeptReport.Type
const kept = { reports: optionalKey(List(KeptReport)) }

export const Settled = Union([
  /** `data` is what the hold was made with; of an unknown one, it is remembered that it must not be made. `reports` are still to be carried out. */
  Struct({ _tag: Literal("settled"), billed: Finite, data: Text, ...kept, ...effects }),
  Struct({ _tag: Literal("again"), billed: Finite, data: Text, ...kept }),
  Struct({ _tag: Literal("unmade") }),
  /** there was a call, and the store has lost its hold; nothing was done */
  Struct({ _tag: Literal("lost") }),
])
export type Settled = typeof Settled.Type

export const Corrected = Union([
  /** `by` so many seconds more were billed, in all `billed` */
  Struct({ _tag: Literal("corrected"), by: Finite, billed: Finite, id: Text, data: Text, ...effects }),
  Struct({ _tag: Literal("again"), id: Text, data: Text }),
  /** no settled call is known by that; a report of a session is kept until it is settled */
  Struct({ _tag: Literal("unsettled") }),
])
export type Corrected = typeof Corrected.Type

export const DueHold = Struct({ id: Text, seconds: Finite, data: Text })
export type DueHold = typeof DueHold.Type
/** `more`: more may be due now. */
export const DueHolds = Struct({ holds: optionalKey(List(DueHold)), more: optionalKey(Literal(true)) })
export type DueHolds = typeof DueHolds.Type

/** The holds that the book does not have. */
export const Missing = Struct({ ids: optionalKey(List(Text)) })
export type Missing = typeof Missing.Type

const standing = { settled: Finite, held: Finite, adjusted: Finite }
/** In the order in which they were asked for. */
export const Balance = Struct({ standings: List(Struct(standing)) })
export type Balance = typeof Balance.Type

/** Whether it is used up from now on. */
export const Exhausted = Struct({ told: Flag })
export type Exhausted = typeof Exhausted.Type

/** `again`: it was made before; `other`: one of this id was made before, by another amount. In both cases nothing was changed. */
export const Adjusted = Struct({ result: Literals(["made", "again", "other"]), ...standing, ...effects })
export type Adjusted = typeof Adjusted.Type

/** Whether an adjustment was made before. */
export const Made = Struct({ made: Flag })
export type Made = typeof Made.Type

/** What one page of a caller's book has: calls that are settled, windows, and calls for which time is held (`open`). `next`: how many the next step skips. */
export const ForgottenBook = Struct({ calls: Finite, windows: Finite, open: Finite, more: Flag, next: Finite })
export type ForgottenBook = typeof ForgottenBook.Type

/** The calls of a caller in one page of a campaign's book, settled and not. `cursor`: the next page; `0` for none. */
export const ForgottenCalls = Struct({ calls: Finite, open: Finite, cursor: Text })
export type ForgottenCalls = typeof ForgottenCalls.Type
