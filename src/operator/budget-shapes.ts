/** What an operator is told of budgets, and orders of them. */
import { Schema } from "effect"
import { BudgetAnswer, budgetChange } from "../protocol/budget-answers.ts"

const { Array: List, Boolean: Flag, Literal, String: Text, Struct, Union, optionalKey } = Schema

const short = Text.check(Schema.isMaxLength(256))

/** Whose budget of callers is meant: by the address, or by the subject of the token. */
export const budgetCaller = { caller: optionalKey(short), subject: optionalKey(short) }
export type BudgetCaller = { readonly caller?: string; readonly subject?: string }

/** Those of the campaign and its account; those of callers only for one caller. */
export const BudgetsView = Struct({ campaign: Text, budgets: List(BudgetAnswer) })
export type BudgetsView = typeof BudgetsView.Type

export const BudgetOrder = Struct({ budget: short, ...budgetChange, ...budgetCaller })
export type BudgetOrder = typeof BudgetOrder.Type

/** `made` is false for an order that was carried out before. */
export const BudgetOutcome = Union([
  Struct({ result: Literal("done"), made: Flag, balance: BudgetAnswer }),
  /** the campaign has no such budget, or it is one of callers and none is named */
  Struct({ result: Literal("unknown_budget") }),
  /** an order of this id was carried out before, by another amount */
  Struct({ result: Literal("other_amount") }),
])
export type BudgetOutcome = typeof BudgetOutcome.Type
