/** What instances share of the platform's concurrency, alike on every store. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { keyOf, look, readLook, tell } from "../../src/gatekeeper/capacity-shared.ts"
import { Store } from "../../src/Store.ts"
import { onEveryStore } from "../support/stores.ts"

const PERIOD = 10_000
const NOW = 1_800_000_000_000
let campaigns = 0

const suite = (store: Layer.Layer<Store>): void => {
  const test = (name: string, body: (key: string) => Effect.Effect<void, unknown, Store>): void => {
    it.effect(name, () => Effect.provide(body(keyOf(`business/${++campaigns} {é}`)), store))
  }
  const looks = (key: string, now: number, first = false) =>
    Effect.flatMap(Store, ({ run }) => Effect.map(run(look, [key], [now, PERIOD, first ? "first" : ""]), readLook))
  const told = (key: string, at: number, slots: number | "", problem = "") =>
    Effect.flatMap(Store, ({ run }) => run(tell, [key], [at, slots, problem]))

  test("one of those who look asks, and again when its turn has passed", (key) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* looks(key, NOW), { mayAsk: true, slots: undefined, problem: "" })
      assert.isFalse((yield* looks(key, NOW + 1)).mayAsk)
      assert.isFalse((yield* looks(key, NOW + PERIOD - 1)).mayAsk)
      assert.isTrue((yield* looks(key, NOW + PERIOD)).mayAsk)
    }))

  test("what it found is everybody's for one period", (key) =>
    Effect.gen(function* () {
      yield* looks(key, NOW)
      yield* told(key, NOW, 3)
      assert.deepStrictEqual(yield* looks(key, NOW + PERIOD - 1), { mayAsk: false, slots: 3, problem: "" })
      assert.deepStrictEqual(yield* looks(key, NOW + PERIOD), { mayAsk: true, slots: 3, problem: "" })
      assert.isFalse((yield* looks(key, NOW + PERIOD)).mayAsk)
      yield* told(key, NOW + PERIOD, 0)
      assert.deepStrictEqual(yield* looks(key, NOW + PERIOD + 1), { mayAsk: false, slots: 0, problem: "" })
    }))

  test("why it found nothing is everybody's too, and keeps what was known", (key) =>
    Effect.gen(function* () {
      yield* told(key, NOW, "", "timeout")
      assert.deepStrictEqual(yield* looks(key, NOW), { mayAsk: true, slots: undefined, problem: "timeout" })
      yield* told(key, NOW, 2)
      yield* told(key, NOW + 1, "", "server error")
      assert.deepStrictEqual(yield* looks(key, NOW + 2), { mayAsk: false, slots: 2, problem: "server error" })
    }))

  test("an instance that starts without slots asks though another does", (key) =>
    Effect.gen(function* () {
      yield* looks(key, NOW)
      assert.isTrue((yield* looks(key, NOW + 1, true)).mayAsk)
      yield* told(key, NOW, 2)
      assert.isFalse((yield* looks(key, NOW + 2, true)).mayAsk)
    }))
}

describe("the shared concurrency", () => onEveryStore(suite))
