/** What instances share about the platform's concurrency, the same on every store. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { type SharedFigures, shareable, sharedFigures } from "../../src/gatekeeper/capacity/shared-figures.ts"
import { Store } from "../../src/store/Store.ts"
import { onEveryStore } from "../harness/stores.ts"

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
      Effect.flatMap(Store, (service) => body(campaignOf(sharedFigures(service), `business/${++campaigns} {é}`))).pipe(
        Effect.provide(store),
      ),
    )
  }
  const campaignOf = (shared: SharedFigures, campaign: string) => ({
    read: (now: number, starts = false) => shared.read(campaign, now, { period: PERIOD, starts }),
    save: (askedAt: number, slots: number | undefined, problem = "") =>
      shared.save(campaign, askedAt, { slots, problem }),
  })

  test("one instance asks the platform, and another one when its claim has expired", ({ read }) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* read(NOW), { mayAsk: true, problem: "" })
      assert.isFalse((yield* read(NOW + 1)).mayAsk)
      assert.isFalse((yield* read(NOW + PERIOD - 1)).mayAsk)
      assert.isTrue((yield* read(NOW + PERIOD)).mayAsk)
    }))

  test("the result of one instance is shared for one period", ({ read, save }) =>
    Effect.gen(function* () {
      yield* read(NOW)
      yield* save(NOW, 3)
      assert.deepStrictEqual(yield* read(NOW + PERIOD - 1), { mayAsk: false, slots: 3, problem: "" })
      assert.deepStrictEqual(yield* read(NOW + PERIOD), { mayAsk: true, slots: 3, problem: "" })
      assert.isFalse((yield* read(NOW + PERIOD)).mayAsk)
      yield* save(NOW + PERIOD, 0)
      assert.deepStrictEqual(yield* read(NOW + PERIOD + 1), { mayAsk: false, slots: 0, problem: "" })
    }))

  test("slots that nobody knows are read as not known by every instance", ({ read, save }) =>
    Effect.gen(function* () {
      yield* save(NOW, shareable(Number.POSITIVE_INFINITY))
      assert.deepStrictEqual((yield* read(NOW + 1)).slots, Number.POSITIVE_INFINITY)
    }))

  test("a failure is shared too, and known slots are kept", ({ read, save }) =>
    Effect.gen(function* () {
      yield* save(NOW, undefined, "timeout")
      assert.deepStrictEqual(yield* read(NOW), { mayAsk: true, problem: "timeout" })
      yield* save(NOW, 2)
      yield* save(NOW + 1, undefined, "server error")
      assert.deepStrictEqual(yield* read(NOW + 2), { mayAsk: false, slots: 2, problem: "server error" })
    }))

  test("an instance that starts without slots asks even if another one is asking", ({ read, save }) =>
    Effect.gen(function* () {
      yield* read(NOW)
      assert.isTrue((yield* read(NOW + 1, true)).mayAsk)
      yield* save(NOW, 2)
      assert.isFalse((yield* read(NOW + 2, true)).mayAsk)
    }))
}

describe("the shared concurrency", () => onEveryStore(suite))
