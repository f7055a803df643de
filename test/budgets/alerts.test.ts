/**
 * Alerts of budgets whose shares are reached by a charge, a correction or an operator: they are told at once, in the books of campaigns and of
 * callers.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { type BudgetedCampaign, Budgets } from "../../src/budgets/Budgets.ts"
import * as budgets from "../../src/budgets/layer.ts"
import { holdName } from "../../src/fifo-queue/rules/shared/charges.ts"
import { Settings } from "../../src/settings/Settings.ts"
import * as memory from "../../src/store/memory/layer.ts"
import { Store } from "../../src/store/Store.ts"
import { BEGIN, settingsLayer } from "../support/gate.ts"

const KEY = "business/campaign"
const call = { ticket: "ticket", lease: "7", caller: "ada" }

interface Told {
  readonly alerts?: ReadonlyArray<{ readonly name: string; readonly share: number }>
  readonly exhausted?: ReadonlyArray<string>
}

/** Budgets of a campaign and of its callers, 10 minutes an hour each; `told` has what the steps tell of them. */
const alertTest = (
  title: string,
  AlertAt: ReadonlyArray<number>,
  use: (
    budgets: Budgets["Service"],
    at: BudgetedCampaign,
    told: ReadonlyArray<string>,
  ) => Effect.Effect<unknown, unknown>,
) =>
  it.effect(title, () => {
    const told: Array<string> = []
    const watched = Layer.effect(
      Store,
      Effect.map(Store, (store) => ({
        ...store,
        run: (rule, ask) =>
          Effect.tap(store.run(rule, ask), (answer) => {
            const { alerts = [], exhausted = [] } = answer as Told
            for (const { name, share } of alerts) told.push(`${rule.name} ${name} ${share}`)
            for (const name of exhausted) told.push(`${rule.name} ${name} used up`)
            return Effect.void
          }),
      })),
    ).pipe(Layer.provide(memory.layer))
    const item = { Unit: "minutes", Per: "hour", Cap: 10, AlertAt }
    const given = {
      VoiceAiPlatform: {
        Budgets: [
          { ...item, Name: "team", Of: "campaign" },
          { ...item, Name: "own", Of: "caller" },
        ],
      },
    }
    const used = Effect.gen(function* () {
      const [campaign] = (yield* Settings).Campaigns
      yield* use(yield* Budgets, { campaign, key: KEY }, told)
    })
    const layer = budgets.layer.pipe(Layer.provideMerge(watched), Layer.provideMerge(settingsLayer(given)))
    return Effect.andThen(TestClock.setTime(BEGIN), Effect.provide(used, layer))
  })

const chargeOf = (seconds: number) => ({
  ...{ hold: holdName(call.ticket, call.lease), seconds, caller: call.caller, sessions: ["s1"] },
})

describe("a budget", () => {
  alertTest("alerts when a charge or a correction reaches a share, once each", [0.5, 0.8], (service, at, told) =>
    Effect.gen(function* () {
      yield* service.hold(at, call)
      expect(told).toEqual([])
      for (const _ of [1, 2]) yield* service.settle(KEY, chargeOf(301))
      const charged = ["budgets.settle team 0.5", "budgets.settle own 0.5"]
      expect(told).toEqual(charged)
      yield* service.correct(at, ["s1"], { seconds: 400 })
      expect(told).toEqual(charged)
      yield* service.correct(at, ["s1"], { seconds: 480 })
      expect(told).toEqual([...charged, "budgets.correct team 0.8", "budgets.correct own 0.8"])
    }),
  )

  alertTest(
    "alerts when an operator takes so much from its cap that a share is reached, and tells that it is used up",
    [0.5, 0.8],
    (service, at, told) =>
      Effect.gen(function* () {
        yield* service.hold(at, call)
        yield* service.settle(KEY, chargeOf(240))
        yield* service.adjust(at, "team", { by: 1, id: "add" })
        expect(told).toEqual([])
        // 4 minutes of 8
        for (const _ of [1, 2]) yield* service.adjust(at, "team", { by: -3, id: "take" })
        const taken = ["budgets.adjust team 0.5"]
        expect(told).toEqual(taken)
        yield* service.adjust(at, "own", { by: -5, id: "own", caller: call.caller })
        expect(told).toEqual([...taken, "budgets.adjust own 0.8"])
        yield* service.adjust(at, "team", { by: -4, id: "all" })
        expect(told.slice(2)).toEqual(["budgets.adjust team 0.8", "budgets.adjust team used up"])
      }),
  )
})
