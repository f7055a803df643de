/** The balance of a budget as programs and operators get it, and what they change of one. Amounts are in minutes, or in the currency. */
import { Schema } from "effect"

const amount = (description: string) => Schema.Finite.annotate({ description })

export const BudgetAnswer = Schema.Struct({
  budget: Schema.String.annotate({ description: "Its name." }),
  campaign: Schema.String.annotate({ description: "The campaign's name." }),
  of: Schema.Literals(["caller", "campaign", "account"]).annotate({ description: "Whose it is." }),
  unit: Schema.String.annotate({ description: "`minutes`, or the currency." }),
  per: Schema.Literals(["hour", "day", "month"]).annotate({ description: "How long a window is." }),
  onLimit: Schema.optionalKey(Schema.Literals(["end", "refuse", "wait", "count"])).annotate({
    description: "What follows when nothing is left; absent in answers of older gates.",
  }),
  refusing: Schema.optionalKey(Schema.Boolean).annotate({
    description:
      "Whether too little is left for a new call, which is refused then; false where callers wait. Absent in answers of older gates.",
  }),
  cap: amount("The cap in the settings."),
  adjusted: amount("What was added to the cap of the present window."),
  settled: amount("What calls of this window were charged."),
  held: amount("What running calls hold of it."),
  left: amount("What is left."),
  overrun: amount("How much more is settled and held than the cap and what was added."),
  windowFrom: Schema.String.annotate({ description: "When the present window began, ISO 8601." }),
  resetsAt: Schema.String.annotate({ description: "When the next one begins, ISO 8601." }),
}).annotate({ identifier: "BudgetBalance" })
export type BudgetAnswer = typeof BudgetAnswer.Type

/** What an operator changes of a budget's cap in its present window. */
export const budgetChange = {
  by: Schema.Finite.check(Schema.isBetween({ minimum: -10_000_000, maximum: 10_000_000 })).annotate({
    description: "Added to the cap of the present window, in its unit; negative to take from it.",
  }),
  id: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{8,64}$/)).annotate({
    description: "Names the adjustment, chosen by you: one that is sent again is made once.",
  }),
  reason: Schema.String.check(Schema.isPattern(/^[^\p{Cc}]{1,200}$/u)).annotate({
    description: "Why; it is in the audit log.",
  }),
}
