/** The rules of the budgets, as the store runs them. */
import { Schema } from "effect"
import { ruleOf } from "../store/rule.ts"
import {
  Adjusted,
  Balance,
  Corrected,
  DueHolds,
  Exhausted,
  ForgottenBook,
  ForgottenCalls,
  Held,
  Made,
  Missing,
  Settled,
} from "./answers.ts"
import { runAdjust, runMade } from "./rules/adjust.ts"
import { runBalance, runExhaust } from "./rules/balance.ts"
import { runDue, runGiveBackLost, runMissing, runPostpone } from "./rules/due.ts"
import { runForgetBook, runForgetCalls } from "./rules/forget.ts"
import { runHold } from "./rules/hold.ts"
import { runCorrect, runSettle } from "./rules/settle.ts"

export const rules = {
  hold: ruleOf("budgets.hold", runHold, Held),
  settle: ruleOf("budgets.settle", runSettle, Settled),
  correct: ruleOf("budgets.correct", runCorrect, Corrected),
  due: ruleOf("budgets.due", runDue, DueHolds),
  giveBackLost: ruleOf("budgets.giveBackLost", runGiveBackLost, Schema.Finite),
  postpone: ruleOf("budgets.postpone", runPostpone, Schema.Boolean),
  missing: ruleOf("budgets.missing", runMissing, Missing),
  exhaust: ruleOf("budgets.exhaust", runExhaust, Exhausted),
  balance: ruleOf("budgets.balance", runBalance, Balance),
  adjust: ruleOf("budgets.adjust", runAdjust, Adjusted),
  made: ruleOf("budgets.made", runMade, Made),
  forgetBook: ruleOf("budgets.forgetBook", runForgetBook, ForgottenBook),
  forgetCalls: ruleOf("budgets.forgetCalls", runForgetCalls, ForgottenCalls),
}
