/** Whose budgets an operator asks for, and what an operator changes of one. The console's page needs only `budget-shapes.ts`. */
import { Schema } from "effect"
import { budgetChange } from "../protocol/budget-answers.ts"
import { Subject } from "../protocol/identity.ts"

const short = Schema.String.check(Schema.isMaxLength(256))

/** Whose budget of callers is meant: by the address, or by the subject of the token. */
export const budgetCaller = { caller: Schema.optionalKey(short), subject: Schema.optionalKey(Subject) }
export type BudgetCaller = { readonly caller?: string; readonly subject?: string }

export const BudgetOrder = Schema.Struct({ budget: short, ...budgetChange, ...budgetCaller })
export type BudgetOrder = typeof BudgetOrder.Type
