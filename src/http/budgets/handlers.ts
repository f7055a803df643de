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
const shared = refuse(
  budgetApiProblems.unauthorized.make(
    "authorization: Expected a token that every campaign with this budget has, because they share it.",
  ),
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

/** The campaigns whose calls count in a budget of this campaign. */
const sharersOf = (campaign: Campaign, name: string, all: ReadonlyArray<Campaign>): ReadonlyArray<Campaign> => {
  const kindIn = ({ Budgets = [] }: Campaign) => Budgets.find(({ Name }) => Name === name)?.Of
  const kind = kindIn(campaign)
  const isShared = (each: Campaign): boolean =>
    kind === "caller" || (kind === "account" && each.Account?.Name === campaign.Account?.Name)
  return all.filter((each) => kindIn(each) === kind && isShared(each))
}

const orRefused = <A>(of: Effect.Effect<A, StoreUnavailable>) => Effect.catch(of, (error) => refuse(toProblem(error)))

export const budgets = HttpApiBuilder.group(
  Routed,
  "Budgets",
  Effect.fnUntraced(function* (handlers) {
    const operator = yield* Operator
    const settings = yield* currentSettings

    /** The campaign with this name, if the token is its own, and that of all that share its budget. */
    const allowed = Effect.fnUntraced(function* (name: string | undefined, budget: string) {
      const { Campaigns } = settings()
      const token = bearerOf(yield* incoming) ?? ""
      const fits = (each: Campaign): boolean => equalsAny(token, tokensOf(each))
      const campaign = name === undefined ? Campaigns[0] : Campaigns.find((each) => each.name === name)
      // without a right token nobody learns which campaigns there are
      if (campaign === undefined || !fits(campaign)) return yield* unauthorized
      return sharersOf(campaign, budget, Campaigns).every(fits) ? campaign.name : yield* shared
    })
    const isOff = (): boolean => !settings().Campaigns.some((each) => tokensOf(each).length > 0)

    return handlers
      .handle("balance", ({ params, query: { campaign: name, ...whose } }) =>
        Effect.gen(function* () {
          if (isOff()) return yield* respond(refusals.notFound)
          const campaign = yield* allowed(name, params.name)
          const view = yield* orRefused(operator.budgets(campaign, whose))
          if (view === "no_caller") return yield* wrongCaller
          const found = view?.budgets.find(({ budget }) => budget === params.name)
          return yield* found === undefined ? unknown : answered("budget", found)
        }),
      )
      .handle("adjust", ({ params, payload: { campaign: name, ...order } }) =>
        Effect.gen(function* () {
          if (isOff()) return yield* respond(refusals.notFound)
          const campaign = yield* allowed(name, params.name)
          const outcome = yield* orRefused(
            operator.adjustBudget(campaign, "budget token", { budget: params.name, ...order }),
          )
          if (outcome === "no_caller") return yield* wrongCaller
          if (outcome?.result === "other_amount") return yield* otherAmount
          return yield* outcome?.result === "done" ? answered("budget_adjust", outcome.balance) : unknown
        }),
      )
  }),
)
