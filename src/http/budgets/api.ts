/** The endpoints at which an operator's programs read a budget's balance and change its cap for the present window. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { refusals, succeeds } from "../../protocol/endpoint-answers.ts"
import { Input, Takes } from "../../protocol/endpoint-input.ts"
import { plain, problems, unauthenticated } from "../../protocol/problems.ts"
import { LARGEST_CAP } from "../../settings/groups/budgets.ts"
import { failures } from "../answers/failures.ts"

/** The problems with which the endpoints refuse a request. */
export const budgetApiProblems = {
  invalid: plain("BudgetsInvalid", 400, "invalid_request"),
  unauthorized: unauthenticated(
    "BudgetsUnauthorized",
    "budgets_unauthorized",
    'Bearer realm="voicegate budgets"',
    "the token is missing, or not that of the campaign",
  ),
  unknown: plain("BudgetUnknown", 404, "unknown_budget"),
}
const { invalid, unauthorized, unknown } = budgetApiProblems

const amount = (description: string) => Schema.Finite.annotate({ description })

export const BudgetAnswer = Schema.Struct({
  budget: Schema.String.annotate({ description: "Its name." }),
  campaign: Schema.String.annotate({ description: "The campaign's name." }),
  of: Schema.Literals(["caller", "campaign", "account"]).annotate({ description: "Whose it is." }),
  unit: Schema.String.annotate({ description: "`minutes`, or the currency." }),
  per: Schema.Literals(["hour", "day", "month"]).annotate({ description: "How long a window is." }),
  cap: amount("The cap in the settings."),
  adjusted: amount("What was added to the cap of the present window."),
  settled: amount("What calls of this window were charged."),
  held: amount("What running calls hold of it."),
  left: amount("What is left."),
  overrun: amount("How much more is settled and held than the cap and what was added."),
  windowFrom: Schema.String.annotate({ description: "When the present window began, ISO 8601." }),
  resetsAt: Schema.String.annotate({ description: "When the next one begins, ISO 8601." }),
}).annotate({ identifier: "BudgetBalance" })

const name = { name: Schema.String.annotate({ description: "The budget's name in the settings." }) }
const text = (description: string) =>
  Schema.optionalKey(Schema.String.check(Schema.isMaxLength(256)).annotate({ description }))
const headers = {
  authorization: Schema.optionalKey(
    Schema.String.annotate({ description: "`Bearer` and a token of the campaign's `Budget.Token`." }),
  ),
}
const campaign = text("The campaign's name; the default campaign when absent.")
const caller = text("Of a budget of callers: whose it is, by the caller's address.")
const subject = text("The same by the subject (`sub`) of the caller's token.")

export const Budgets = HttpApiGroup.make("Budgets").add(
  HttpApiEndpoint.get("balance", "/api/budgets/:name", {
    params: name,
    headers,
    query: { campaign, caller, subject },
    success: succeeds(200, BudgetAnswer),
    error: refusals(
      invalid,
      unauthorized,
      unknown,
      problems.notFound,
      problems.internalError,
      ...failures.StoreUnavailable.problems,
    ),
  })
    .middleware(Input)
    .annotate(Takes, {
      body: undefined,
      otherwise: invalid.make("query: Expected campaign, and caller or subject, each once."),
    })
    .annotate(
      OpenApi.Description,
      "A budget's balance in its present window. 404 where no campaign has `Budget.Token`.",
    ),
  HttpApiEndpoint.post("adjust", "/api/budgets/:name", {
    params: name,
    headers,
    payload: Schema.Struct({
      campaign,
      caller,
      subject,
      by: Schema.Finite.check(Schema.isBetween({ minimum: -LARGEST_CAP, maximum: LARGEST_CAP })).annotate({
        description: "Added to the cap of the present window, in its unit; negative to take from it.",
      }),
      id: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{8,64}$/)).annotate({
        description: "Names the adjustment, chosen by you: one that is sent again is made once.",
      }),
      reason: Schema.String.check(Schema.isPattern(/^[^\p{Cc}]{1,200}$/u)).annotate({
        description: "Why; it is in the audit log.",
      }),
    }),
    success: succeeds(200, BudgetAnswer),
    error: refusals(
      invalid,
      unauthorized,
      unknown,
      problems.notFound,
      problems.malformedJson,
      problems.bodyTooLarge,
      problems.unsupportedMediaType,
      problems.bodyAlreadyRead,
      problems.internalError,
      ...failures.StoreUnavailable.problems,
    ),
  })
    .middleware(Input)
    .annotate(Takes, {
      body: "application/json",
      otherwise: invalid.make("body: Expected by, a number; id, 8 to 64 letters, digits, - and _; and reason, a text."),
    })
    .annotate(
      OpenApi.Description,
      "Changes the cap of a budget for its present window, once by its id, with a line in the audit log.",
    ),
)
