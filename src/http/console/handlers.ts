/** The endpoints of the console, each over one operation of `Operator`. */
import { Effect, Option } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { ConsoleApi, consoleProblems, OperatorName, wrongHash } from "../../operator/Api.ts"
import { HASH, positionOf } from "../../operator/find.ts"
import { wrongForget } from "../../operator/forgotten.ts"
import { Operator } from "../../operator/Operator.ts"
import { Reload } from "../../operator/Reload.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import { toProblem } from "../answers/failures.ts"
import { answered, refuse } from "../answers/respond.ts"

/** Rows of a page, unless the query contains another number. */
const ROWS = 25

const unknownCampaign = refuse(consoleProblems.unknownCampaign.make("campaign: Expected a configured campaign."))
const noReceiver = refuse(consoleProblems.invalid.make("campaign: Expected one that has Events.Url."))
const wrongPosition = refuse(consoleProblems.invalid.make("from: Expected the `next` of the answer before."))
const wrongCaller = refuse(
  consoleProblems.invalid.make("caller: Expected an IPv4 or IPv6 address, or instead of it subject."),
)
const wrongAddress = refuse(
  consoleProblems.invalid.make(
    "address: Expected an IP address, a network of one (/24 of IPv4, /48 or /64 of IPv6), or a hash as the console shows it.",
  ),
)
const notReloadable = refuse(
  consoleProblems.notReloadable.make("The host application of this gate determines its settings."),
)

const orRefused = <A>(of: Effect.Effect<A, StoreUnavailable>) => Effect.catch(of, (error) => refuse(toProblem(error)))

export const handlers = HttpApiBuilder.group(
  ConsoleApi,
  "Console",
  Effect.fnUntraced(function* (routes) {
    const operator = yield* Operator
    const reloader = yield* Effect.serviceOption(Reload)

    return routes
      .handle(
        "view",
        ({ query: { campaign, firstPlace = 0, firstSlot = 0, places = ROWS, since = 0, slots = ROWS } }) =>
          Effect.gen(function* () {
            const view = yield* operator.view(campaign, { firstSlot, slots, firstPlace, places }, since)
            return yield* view === undefined ? unknownCampaign : answered("console", view)
          }),
      )
      .handle("auditLog", ({ query: { campaign, count = ROWS, first = 0, only } }) =>
        Effect.gen(function* () {
          const auditLog = yield* orRefused(operator.auditLog(campaign, first, count, only))
          return yield* auditLog === undefined ? unknownCampaign : answered("console", auditLog)
        }),
      )
      .handle("campaigns", () => Effect.flatMap(operator.campaigns, (campaigns) => answered("console", campaigns)))
      .handle("find", ({ query: { caller, from, hash: given = "" } }) =>
        Effect.gen(function* () {
          const hash = given.toLowerCase()
          if (caller === undefined ? !HASH.test(hash) : given !== "") return yield* refuse(wrongHash)
          const position = from === undefined ? undefined : positionOf(from)
          if (from !== undefined && position === undefined) return yield* wrongPosition
          return yield* answered(
            "console",
            yield* orRefused(operator.find(caller === undefined ? { hash } : { caller }, position)),
          )
        }),
      )
      .handle("history", ({ query: { campaign, range = "hour" } }) =>
        Effect.gen(function* () {
          const history = yield* orRefused(operator.history(campaign, range))
          return yield* history === undefined ? unknownCampaign : answered("console", history)
        }),
      )
      .handle("asking", () => Effect.flatMap(orRefused(operator.asking), (asking) => answered("console", asking)))
      .handle("block", ({ payload: { address, until } }) =>
        Effect.gen(function* () {
          const result = yield* orRefused(operator.block(yield* OperatorName, address, until))
          return yield* result === "invalid" ? wrongAddress : answered("console_block", { result })
        }),
      )
      .handle("act", ({ payload: { action, campaign } }) =>
        Effect.gen(function* () {
          const outcome = yield* orRefused(operator.act(campaign, yield* OperatorName, action))
          return yield* outcome === undefined ? unknownCampaign : answered(`console_${action.type}`, outcome)
        }),
      )
      .handle("deliveries", ({ query: { before = 0, campaign, count = ROWS, filter = "all" } }) =>
        Effect.gen(function* () {
          const deliveries = yield* orRefused(operator.deliveries(campaign, filter, before, count))
          return yield* deliveries === undefined ? unknownCampaign : answered("console", deliveries)
        }),
      )
      .handle("redeliver", ({ payload: { campaign, redelivery } }) =>
        Effect.gen(function* () {
          const outcome = yield* orRefused(operator.redeliver(campaign, yield* OperatorName, redelivery))
          return yield* outcome === undefined ? unknownCampaign : answered("console_redeliver", outcome)
        }),
      )
      .handle("testEvent", ({ payload: { campaign } }) =>
        Effect.gen(function* () {
          const tested = yield* operator.testEvent(campaign, yield* OperatorName)
          if (tested === undefined) return yield* unknownCampaign
          return yield* tested === "none" ? noReceiver : answered("console_test_event", tested)
        }),
      )
      .handle("forget", ({ payload }) =>
        Effect.gen(function* () {
          const wrong = wrongForget(payload)
          if (wrong !== undefined) return yield* refuse(consoleProblems.invalid.make(wrong))
          return yield* answered("console_forget", yield* orRefused(operator.forget(yield* OperatorName, payload)))
        }),
      )
      .handle("budgets", ({ query: { campaign, ...whose } }) =>
        Effect.gen(function* () {
          const view = yield* orRefused(operator.budgets(campaign, whose))
          if (view === "no_caller") return yield* wrongCaller
          return yield* view === undefined ? unknownCampaign : answered("console", view)
        }),
      )
      .handle("adjustBudget", ({ payload: { campaign, order } }) =>
        Effect.gen(function* () {
          const outcome = yield* orRefused(operator.adjustBudget(campaign, yield* OperatorName, order))
          if (outcome === "no_caller") return yield* wrongCaller
          return yield* outcome === undefined ? unknownCampaign : answered("console_adjust_budget", outcome)
        }),
      )
      .handle("reload", () =>
        Effect.gen(function* () {
          if (Option.isNone(reloader)) return yield* notReloadable
          const outcome = yield* reloader.value.reload(yield* OperatorName)
          if (outcome._tag === "refused") {
            const detail = `The settings were not changed. ${outcome.problems.join("\n")}`
            return yield* refuse(consoleProblems.settingsRefused.make(detail))
          }
          const { changed, kept } = outcome
          return yield* answered("console_reload", { changed, kept })
        }),
      )
  }),
)
