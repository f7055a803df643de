/** Answers with the balance of a budget, and adjusts it, for whoever has the campaign's token. */
import { Effect, Redacted } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { equalsAny } from "../../lib/equal.ts"
import { Operator } from "../../operator/Operator.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import { currentSettings } from "../../settings/current.ts"
import type { Campaign } from "../../settings/Settings.ts"
import { Routed } from "../Api.ts"
import { refusals } from "../answers/answer.ts"
import { toProblem } from "../answers/failures.ts"
import { answered, refuse, respond } from "../answers/respond.ts"
import { bearerOf, incoming } from "../incoming/body.ts"
import { budgetApiProblems } from "./api.ts"

const unauthorized = refuse(
  budgetApiProblems.unauthorized.make("authorization: Expected Bearer and a token of the campaign's Budget.Token."),
)
const unknown = refuse(
  budgetApiProblems.unknown.make(
    "name: Expected a budget of the campaign; of a caller's budget, caller or subject is needed too.",
  ),
)
const otherAmount = refuse(
  budgetApiProblems.otherAmount.make(
    "id: Expected another id: an adjustment of this id was made before, by another amount.",
  ),
)
const wrongCaller = refuse(
  budgetApiProblems.invalid.make("caller: Expected an IPv4 or IPv6 address, or instead of it subject."),
)

const tokensOf = ({ Budget }: Campaign): ReadonlyArray<string> => (Budget?.Token ?? []).map(Redacted.value)

const orRefused = <A>(of: Effect.Effect<A, StoreUnavailable>) => Effect.catch(of, (error) => refuse(toProblem(error)))

export const budgets = HttpApiBuilder.group(
  Routed,
  "Budgets",
  Effect.fnUntraced(function* (handlers) {
    const operator = yield* Operator
    const settings = yield* currentSettings

    const campaignOf = (name: string | undefined) =>
      name === undefined ? settings().Campaigns[0] : settings().Campaigns.find((each) => each.name === name)
    const isOff = (): boolean => !settings().Campaigns.some((each) => tokensOf(each).length > 0)

    return handlers
      .handle("balance", ({ params, query: { campaign: name, ...whose } }) =>
        Effect.gen(function* () {
          if (isOff()) return yield* respond(refusals.notFound)
          const campaign = campaignOf(name)
          const token = bearerOf(yield* incoming) ?? ""
          if (campaign === undefined || !equalsAny(token, tokensOf(campaign))) return yield* unauthorized
          const view = yield* orRefused(operator.budgets(campaign.name, whose))
          if (view === "no_caller") return yield* wrongCaller
          const found = view?.budgets.find(({ budget }) => budget === params.name)
          return yield* found === undefined ? unknown : answered("budget", found)
        }),
      )
      .handle("adjust", ({ params, payload: { campaign: name, ...order } }) =>
        Effect.gen(function* () {
          if (isOff()) return yield* respond(refusals.notFound)
          const campaign = campaignOf(name)
          const token = bearerOf(yield* incoming) ?? ""
          if (campaign === undefined || !equalsAny(token, tokensOf(campaign))) return yield* unauthorized
          const outcome = yield* orRefused(
            operator.adjustBudget(campaign.name, "budget token", { budget: params.name, ...order }),
          )
          if (outcome === "no_caller") return yield* wrongCaller
          if (outcome?.result === "other_amount") return yield* otherAmount
          return yield* outcome?.result === "done" ? answered("budget_adjust", outcome.balance) : unknown
        }),
      )
  }),
)
