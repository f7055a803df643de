/** The close of a campaign by its hours, on every store: from when it counts, whatever single gates say. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Random } from "effect"
import { TestClock } from "effect/testing"
import { FifoQueue } from "../../src/fifo-queue/FifoQueue.ts"
import type { HoursNow } from "../../src/fifo-queue/inputs.ts"
import { layer as queueLayer } from "../../src/fifo-queue/layer.ts"
import { Store } from "../../src/store/Store.ts"
import { settingsWith } from "../harness/settings.ts"
import { onEveryStoreAndCluster } from "../harness/stores.ts"
import { BEGIN } from "../support/gate.ts"

describe("the first hours of a campaign", () => {
  const suite = (store: Layer.Layer<Store>): void => {
    it.effect(
      "give those who wait their time from the first word of a gate, and after the last word of one without hours",
      () =>
        Effect.gen(function* () {
          yield* TestClock.setTime(BEGIN)
          const queue = yield* FifoQueue
          const { now } = yield* Store
          const at = { campaign: `hours/${yield* Random.nextInt}`, slots: 0, instance: "" }
          const newcomer = (id: string) => ({ id, caller: "192.0.2.1", network: "", data: "" })
          yield* queue.admit(at, newcomer("t1"))
          yield* queue.admit(at, newcomer("t2"))
          const hours = { _tag: "closed" as const, since: 0, servedMillis: 20_000 }
          const sweep = (told: HoursNow) => Effect.map(queue.sweep(at, undefined, {}, told), ({ result }) => result)
          assert.notProperty(yield* sweep({ _tag: "none" }), "servedUntil")
          const first = yield* now
          assert.closeTo((yield* sweep(hours)).servedUntil ?? 0, first + 25_000, 2_000)
          yield* TestClock.adjust("20 seconds")
          yield* sweep({ _tag: "none" })
          const later = yield* now
          yield* TestClock.adjust("20 seconds")
          const { servedUntil = 0, waiting } = yield* sweep(hours)
          assert.closeTo(servedUntil, later + 25_000, 2_000)
          assert.strictEqual(waiting, 2)
          yield* TestClock.adjust("8 seconds")
          const { settlements } = yield* queue.sweep(at, undefined, {}, hours)
          assert.deepStrictEqual(
            settlements.map(({ kind, ticket }) => `${kind} ${ticket}`),
            ["refund t1", "refund t2"],
          )
        }).pipe(Effect.provide(queueLayer.pipe(Layer.provideMerge(Layer.merge(store, settingsWith({})))))),
    )
  }
  onEveryStoreAndCluster(suite)
})
