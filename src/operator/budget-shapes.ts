/** What an operator is told of budgets, and of an order. The console's page has its types from here. */
import { Schema } from "effect"
import { BudgetAnswer } from "../protocol/budget-answers.ts"

const { Array: List, Boolean: Flag, Literal, optionalKey, String: Text, Struct, Union } = Schema

/** Those of the campaign and its account; those of callers only for one caller. */
export const BudgetsView = Struct({
  campaign: Text,
  /** with the caps of the instance that answers */
  budgets: List(BudgetAnswer),
  /** how the settings of other instances differ on which these balances depend; absent if they do not */
  differences: optionalKey(List(Text)),
})
export type BudgetsView = typeof BudgetsView.Type

/** `made` is false for an order that was carried out before. */
export const BudgetOutcome = Union([
  Struct({ result: Literal("done"), made: Flag, balance: BudgetAnswer }),
  /** the campaign has no such budget, or it is one of callers and none is named */
  Struct({ result: Literal("unknown_budget") }),
  /** an order of this id was carried out before, by another amount */
  Struct({ result: Literal("other_amount") }),
])
export type BudgetOutcome = typeof BudgetOutcome.Type
