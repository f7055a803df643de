/** What calls owe to budgets, on every store: any gate carries it out, also one whose settings have no budgets any more. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Random } from "effect"
import { TestClock } from "effect/testing"
import { FifoQueue } from "../../../src/fifo-queue/FifoQueue.ts"
import { layer as queueLayer } from "../../../src/fifo-queue/layer.ts"
import type { Store } from "../../../src/store/Store.ts"
import { settingsWith } from "../../harness/settings.ts"
import { BEGIN } from "../../support/gate.ts"

export const charges = (store: Layer.Layer<Store>): void => {
  it.effect(
    "the charge of a call is found by the sweeps of gates whose campaign has lost its budgets, until it is carried out",
    () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(BEGIN)
        const queue = yield* FifoQueue
        const before = { campaign: `charges/${yield* Random.nextInt}`, slots: 1, instance: "", charges: true as const }
        const { charges: _charges, ...after } = before
        const newcomer = { id: "t1", caller: "192.0.2.1", network: "", data: "" }
        const { result: admitted } = yield* queue.admit(before, newcomer)
        assert.strictEqual(admitted._tag, "starting")
        if (admitted._tag !== "starting") return
        yield* queue.bind(before, "t1", admitted.lease, { data: {}, ids: ["s1"] })
        const { charges = [] } = yield* queue.end(before, ["s1"])
        assert.strictEqual(charges.length, 1)
        const uncharged = Effect.map(queue.sweep(after), ({ result }) => result.uncharged ?? [])
        // the gate that has ended it may carry it out itself
        assert.deepStrictEqual(yield* uncharged, [])
        yield* TestClock.adjust("6 seconds")
        assert.deepStrictEqual(yield* uncharged, charges)
        yield* queue.charged?.(after, charges) ?? Effect.die("nothing is charged")
        assert.deepStrictEqual(yield* uncharged, [])
      }).pipe(Effect.provide(queueLayer.pipe(Layer.provideMerge(Layer.merge(store, settingsWith({})))))),
  )
}
