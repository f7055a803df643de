/** Answers with the balance of a budget, and adjusts it, for whoever has the campaign's token. */
import { Effect, Redacted } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { budgetAnswerOf } from "../../budgets/balance-answer.ts"
import { Gatekeeper } from "../../gatekeeper/Gatekeeper.ts"
import { equalsAny } from "../../lib/equal.ts"
import { parseAddress } from "../../lib/ip/address.ts"
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

export const budgets = HttpApiBuilder.group(
  Routed,
  "Budgets",
  Effect.fnUntraced(function* (handlers) {
    const { internals } = yield* Gatekeeper
    const settings = yield* currentSettings

    const campaignOf = (name: string | undefined) =>
      name === undefined ? settings().Campaigns[0] : settings().Campaigns.find((each) => each.name === name)
    const isOff = (): boolean => !settings().Campaigns.some((each) => tokensOf(each).length > 0)
    /** A name must not be that of last week. */
    const namesReady = Effect.catch(internals.names.ready ?? Effect.void, (error) => refuse(toProblem(error)))
    /** The key of the caller who is meant; null if that is nobody. */
    const keyOf = ({ caller, subject }: { readonly caller?: string; readonly subject?: string }) => {
      if (subject !== undefined) return caller === undefined ? internals.callerKey({ subject }) : null
      if (caller === undefined) return undefined
      return parseAddress(caller) === undefined ? null : internals.callerKey({ address: caller })
    }

    return handlers
      .handle("balance", ({ params, query }) =>
        Effect.gen(function* () {
          if (isOff()) return yield* respond(refusals.notFound)
          const campaign = campaignOf(query.campaign)
          const token = bearerOf(yield* incoming) ?? ""
          if (campaign === undefined || !equalsAny(token, tokensOf(campaign))) return yield* unauthorized
          yield* namesReady
          const caller = keyOf(query)
          if (caller === null) return yield* wrongCaller
          const balances = yield* Effect.catch(internals.budgets.balances(campaign, caller), (error) =>
            refuse(toProblem(error)),
          )
          const found = balances.find(({ budget }) => budget.Name === params.name)
          return yield* found === undefined ? unknown : answered("budget", budgetAnswerOf(campaign, found))
        }),
      )
      .handle("adjust", ({ params, payload }) =>
        Effect.gen(function* () {
          if (isOff()) return yield* respond(refusals.notFound)
          const campaign = campaignOf(payload.campaign)
          const token = bearerOf(yield* incoming) ?? ""
          if (campaign === undefined || !equalsAny(token, tokensOf(campaign))) return yield* unauthorized
          yield* namesReady
          const caller = keyOf(payload)
          if (caller === null) return yield* wrongCaller
          const { by, id, reason } = payload
          const adjusted = yield* Effect.catch(
            internals.budgets.adjust(campaign, params.name, { caller, by, id }, { operator: "budget token", reason }),
            (error) => refuse(toProblem(error)),
          )
          if (adjusted?.result === "other") return yield* otherAmount
          return yield* adjusted === undefined
            ? unknown
            : answered("budget_adjust", budgetAnswerOf(campaign, adjusted.balance))
        }),
      )
  }),
)
