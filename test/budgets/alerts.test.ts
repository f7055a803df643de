/** Alerts of budgets whose shares are reached by a charge or a correction: they are told at once, in the books of campaigns and of callers. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Budgets } from "../../src/budgets/Budgets.ts"
import * as budgets from "../../src/budgets/layer.ts"
import { holdName } from "../../src/fifo-queue/rules/shared/charges.ts"
import { Settings } from "../../src/settings/Settings.ts"
import * as memory from "../../src/store/memory/layer.ts"
import { Store } from "../../src/store/Store.ts"
import { BEGIN, settingsLayer } from "../support/gate.ts"

const KEY = "business/campaign"
const call = { ticket: "ticket", lease: "7", caller: "ada" }

describe("a budget", () => {
  it.effect("alerts when a charge or a correction reaches a share, once each", () => {
    const told: Array<string> = []
    /** notes the alerts of each step */
    const watched = Layer.effect(
      Store,
      Effect.map(Store, (store) => ({
        ...store,
        run: (rule, ask) =>
          Effect.tap(store.run(rule, ask), (answer) => {
            const { alerts = [] } = answer as { alerts?: ReadonlyArray<{ name: string; share: number }> }
            for (const { name, share } of alerts) told.push(`${rule.name} ${name} ${share}`)
            return Effect.void
          }),
      })),
    ).pipe(Layer.provide(memory.layer))
    const item = { Unit: "minutes", Per: "hour", Cap: 10, AlertAt: [0.5, 0.8] }
    const given = {
      VoiceAiPlatform: {
        Budgets: [
          { ...item, Name: "team", Of: "campaign" },
          { ...item, Name: "own", Of: "caller" },
        ],
      },
    }
    const used = Effect.gen(function* () {
      const service = yield* Budgets
      const [campaign] = (yield* Settings).Campaigns
      const at = { campaign, key: KEY }
      yield* service.hold(at, call)
      expect(told).toEqual([])
      const charge = { hold: holdName(call.ticket, call.lease), seconds: 301, caller: call.caller, sessions: ["s1"] }
      for (const _ of [1, 2]) yield* service.settle(KEY, charge)
      const charged = ["budgets.settle team 0.5", "budgets.settle own 0.5"]
      expect(told).toEqual(charged)
      yield* service.correct(at, ["s1"], { seconds: 400 })
      expect(told).toEqual(charged)
      yield* service.correct(at, ["s1"], { seconds: 480 })
      expect(told).toEqual([...charged, "budgets.correct team 0.8", "budgets.correct own 0.8"])
    })
    const layer = budgets.layer.pipe(Layer.provideMerge(watched), Layer.provideMerge(settingsLayer(given)))
    return Effect.andThen(TestClock.setTime(BEGIN), Effect.provide(used, layer))
  })
})
