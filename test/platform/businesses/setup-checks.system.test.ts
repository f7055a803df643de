/** What the platform has seen of a gate that is being set up, on both databases. */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as SetupChecks from "../../../src/platform/businesses/SetupChecks.ts"
import { ApiKeys } from "../../../src/platform/keys/ApiKeys.ts"
import { Webhooks } from "../../../src/platform/webhooks/Webhooks.ts"
import { onEachEngine, servicesOf } from "../engines.ts"
import { prepare } from "../support.ts"

const START = 1_700_000_000_000

onEachEngine("the checks of the setup", (engine) => {
  const started = Effect.gen(function* () {
    yield* TestClock.setTime(START)
    const services = servicesOf(yield* engine.database)
    const context = yield* Layer.build(Layer.fresh(SetupChecks.layer.pipe(Layer.provideMerge(services))))
    yield* Effect.provideContext(prepare(), context)
    const webhooks = Context.get(context, Webhooks)
    const keys = Context.get(context, ApiKeys)
    const keyId = (yield* keys.list("u1")).find(({ name }) => name === "gate")?.id ?? ""
    const send = webhooks.enqueue({
      userId: "u1",
      businessId: "b1",
      webCampaignId: "c1",
      webSessionId: "s1",
      body: "{}",
    })
    /** one message, claimed and settled so */
    const attempt = Effect.fnUntraced(function* (delivered: boolean, outcome: string) {
      for (const delivery of yield* webhooks.claim(1)) yield* webhooks.settle(delivery, delivered, outcome)
    })
    const { of } = Context.get(context, SetupChecks.SetupChecks)
    return { attempt, keyId, keys, send, check: (userId = "u1") => of(userId, { keyId, campaignId: "c1" }) }
  })

  it.effect("tell when a key was used first and last", () =>
    Effect.gen(function* () {
      const { check, keyId, keys } = yield* started
      const before = yield* check()
      assert.deepStrictEqual([before.firstRequestAt, before.lastRequestAt], [null, null])
      yield* TestClock.adjust(5_000)
      yield* keys.markUsed(keyId)
      yield* TestClock.adjust(600_000)
      yield* keys.markUsed(keyId)
      const after = yield* check()
      assert.deepStrictEqual([after.firstRequestAt, after.lastRequestAt], [START + 5_000, START + 605_000])
      assert.strictEqual(after.asOf, START + 605_000)
    }),
  )

  it.effect("tell when the first webhook was delivered, and how the newest one fares", () =>
    Effect.gen(function* () {
      const { attempt, check, send } = yield* started
      assert.deepStrictEqual((yield* check()).lastDelivery, null)
      yield* send
      assert.deepStrictEqual((yield* check()).lastDelivery, { state: "pending", outcome: null, createdAt: START })
      yield* attempt(false, "HTTP 401")
      const failed = yield* check()
      assert.deepStrictEqual(failed.lastDelivery, { state: "pending", outcome: "HTTP 401", createdAt: START })
      assert.isNull(failed.firstDeliveryAt)
      yield* TestClock.adjust(10_000)
      yield* attempt(true, "HTTP 200")
      assert.strictEqual((yield* check()).firstDeliveryAt, START + 10_000)
      yield* TestClock.adjust(10_000)
      yield* send
      yield* attempt(true, "HTTP 200")
      assert.strictEqual((yield* check()).firstDeliveryAt, START + 10_000)
    }),
  )

  it.effect("do not count a message that had no receiver, and tell another user nothing", () =>
    Effect.gen(function* () {
      const { attempt, check, keyId, keys, send } = yield* started
      yield* send
      yield* attempt(true, "no receiver")
      assert.isNull((yield* check()).firstDeliveryAt)
      yield* send
      yield* attempt(true, "HTTP 200")
      yield* keys.markUsed(keyId)
      const { asOf: _, ...others } = yield* check("u2")
      assert.deepStrictEqual(others, {
        firstRequestAt: null,
        lastRequestAt: null,
        firstDeliveryAt: null,
        lastDelivery: null,
      })
    }),
  )
})
