/** The endpoints at which an operator's programs read a budget's balance and change its cap for the present window. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { refuseUnknown } from "../../lib/refuse-unknown.ts"
import { BudgetAnswer, budgetChange } from "../../protocol/budget-answers.ts"
import { refusals, succeeds } from "../../protocol/endpoint-answers.ts"
import { Input, Takes } from "../../protocol/endpoint-input.ts"
import { Subject } from "../../protocol/identity.ts"
import { plain, problems, unauthenticated } from "../../protocol/problems.ts"
import { failures } from "../answers/failures.ts"

/** The problems with which the endpoints refuse a request. */
export const budgetApiProblems = {
  invalid: plain("BudgetsInvalid", 400, "invalid_request"),
  unauthorized: unauthenticated(
    "BudgetsUnauthorized",
    "budgets_unauthorized",
    'Bearer realm="voicegate budgets"',
    "the token is missing, or not that of the campaign and of all that share the budget",
  ),
  unknown: plain("BudgetUnknown", 404, "unknown_budget"),
  otherAmount: plain(
    "BudgetOtherAmount",
    409,
    "other_amount",
    "an adjustment of this id was made before, by another amount",
  ),
}
const { invalid, otherAmount, unauthorized, unknown } = budgetApiProblems

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
const subject = Schema.optionalKey(
  Subject.annotate({ description: "The same by the subject (`sub`) of the caller's token." }),
)

export const Budgets = HttpApiGroup.make("Budgets")
  .add(
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
        ...budgetChange,
      }),
      success: succeeds(200, BudgetAnswer),
      error: refusals(
        invalid,
        unauthorized,
        unknown,
        otherAmount,
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
        otherwise: invalid.make(
          "body: Expected by, a number; id, 8 to 64 letters, digits, - and _; and reason, a text.",
        ),
      })
      .annotate(
        OpenApi.Description,
        "Changes the cap of a budget for its present window, once by its id, with a line in the audit log.",
      ),
  )
  // a misspelt `campaign` must not mean the default one
  .annotateMerge(refuseUnknown)
