/** What instances share about the platform's concurrency, the same on every store. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { onEveryStore } from "../../scripts/harness/stores.ts"
import { type CapacityShared, makeCapacityShared } from "../../src/gatekeeper/capacity-shared.ts"
import { Store } from "../../src/Store.ts"

const PERIOD = 10_000
const NOW = 1_800_000_000_000
let campaigns = 0

const suite = (store: Layer.Layer<Store>): void => {
  /** Each test has its own campaign. */
  const test = (
    name: string,
    body: (campaign: ReturnType<typeof campaignOf>) => Effect.Effect<void, unknown>,
  ): void => {
    it.effect(name, () =>
      Effect.flatMap(Store, (service) =>
        body(campaignOf(makeCapacityShared(service), `business/${++campaigns} {é}`)),
      ).pipe(Effect.provide(store)),
    )
  }
  const campaignOf = (shared: CapacityShared, campaign: string) => ({
    looks: (now: number, starts = false) => shared.read(campaign, now, { period: PERIOD, starts }),
    told: (askedAt: number, slots: number | undefined, problem = "") =>
      shared.publish(campaign, askedAt, { slots, problem }),
  })

  test("one instance asks the platform, and another one when its claim has expired", ({ looks }) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* looks(NOW), { mayAsk: true, problem: "" })
      assert.isFalse((yield* looks(NOW + 1)).mayAsk)
      assert.isFalse((yield* looks(NOW + PERIOD - 1)).mayAsk)
      assert.isTrue((yield* looks(NOW + PERIOD)).mayAsk)
    }))

  test("the result of one instance is shared for one period", ({ looks, told }) =>
    Effect.gen(function* () {
      yield* looks(NOW)
      yield* told(NOW, 3)
      assert.deepStrictEqual(yield* looks(NOW + PERIOD - 1), { mayAsk: false, slots: 3, problem: "" })
      assert.deepStrictEqual(yield* looks(NOW + PERIOD), { mayAsk: true, slots: 3, problem: "" })
      assert.isFalse((yield* looks(NOW + PERIOD)).mayAsk)
      yield* told(NOW + PERIOD, 0)
      assert.deepStrictEqual(yield* looks(NOW + PERIOD + 1), { mayAsk: false, slots: 0, problem: "" })
    }))

  test("a failure is shared too, and known slots are kept", ({ looks, told }) =>
    Effect.gen(function* () {
      yield* told(NOW, undefined, "timeout")
      assert.deepStrictEqual(yield* looks(NOW), { mayAsk: true, problem: "timeout" })
      yield* told(NOW, 2)
      yield* told(NOW + 1, undefined, "server error")
      assert.deepStrictEqual(yield* looks(NOW + 2), { mayAsk: false, slots: 2, problem: "server error" })
    }))

  test("an instance that starts without slots asks even if another one is asking", ({ looks, told }) =>
    Effect.gen(function* () {
      yield* looks(NOW)
      assert.isTrue((yield* looks(NOW + 1, true)).mayAsk)
      yield* told(NOW, 2)
      assert.isFalse((yield* looks(NOW + 2, true)).mayAsk)
    }))
}

describe("the shared concurrency", () => onEveryStore(suite))
