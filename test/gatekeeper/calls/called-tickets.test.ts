/** Whether a ticket is called, for requests of which so many come that the gate looks up none. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import * as memory from "../../../src/store/memory/layer.ts"
import { Store } from "../../../src/store/Store.ts"
import { ask, BEGIN, enqueue, type GateServices, type Given, gateLayer, hangUp, makeWorld } from "../../support/gate.ts"

const TWO_CAMPAIGNS = {
  VoiceAiPlatform: {
    Campaigns: { one: { WebCampaignId: "one", MaxConcurrency: 1 }, two: { WebCampaignId: "two", MaxConcurrency: 1 } },
  },
}

/** @param body gets the steps that the store is asked for: the rule of each, and its first key */
const countedTest = (
  name: string,
  given: Given,
  body: (steps: Array<string>) => Effect.Effect<void, unknown, GateServices>,
) =>
  it.effect(name, () =>
    Effect.gen(function* () {
      const steps: Array<string> = []
      const counting = Layer.effect(
        Store,
        Effect.map(Store, (store) => ({
          ...store,
          run: (rule, call) => {
            steps.push(`${rule.name} ${call.keys[0]}`)
            return store.run(rule, call)
          },
        })),
      ).pipe(Layer.provide(memory.layer))
      yield* TestClock.setTime(BEGIN)
      yield* Effect.provide(body(steps), gateLayer(makeWorld(), given, { store: counting }))
    }),
  )

const isCalled = (ticket: string) => Gatekeeper.use((gate) => gate.isCalled(ticket))
const snapshots = (steps: ReadonlyArray<string>) => steps.filter((step) => step.startsWith("operator.snapshot "))

countedTest("the called tickets of a campaign are known by one read a second, however many ask", {}, (steps) =>
  Effect.gen(function* () {
    yield* ask("203.0.113.1")
    const ticket = yield* enqueue("203.0.113.2")
    const later = yield* enqueue("203.0.113.3")
    yield* hangUp("web-1")
    for (let n = 0; n < 1_000; n++) assert.isFalse(yield* isCalled(later))
    assert.isTrue(yield* isCalled(ticket))
    assert.strictEqual(snapshots(steps).length, 1)
    // the clock is set back: a second is a second all the same
    yield* TestClock.setTime(BEGIN - 600_000)
    yield* TestClock.adjust("1 second")
    assert.isTrue(yield* isCalled(ticket))
    assert.strictEqual(snapshots(steps).length, 2)
  }),
)

countedTest(
  "to know whether a ticket is called, its own campaign is read, and nothing for one of no campaign",
  TWO_CAMPAIGNS,
  (steps) =>
    Effect.gen(function* () {
      yield* ask("203.0.113.1", { campaignId: "two" })
      const ticket = yield* enqueue("203.0.113.2", { campaignId: "two" })
      steps.length = 0
      assert.isFalse(yield* isCalled(ticket))
      assert.isFalse(yield* isCalled("of-no-campaign-at-all"))
      assert.deepStrictEqual(steps, snapshots(steps))
      assert.strictEqual(steps.length, 1)
      assert.include(steps[0], "two")
    }),
)
