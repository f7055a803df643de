/** What a gate is told when another one with many connections stops. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { FifoQueue } from "../../src/fifo-queue/FifoQueue.ts"
import { layer } from "../../src/fifo-queue/layer.ts"
import * as memory from "../../src/store/memory/layer.ts"
import { settingsWith } from "../harness/settings.ts"

/** As many as a gate holds in the figures of `promises.md`. */
const HELD = 15_000
const PER_STEP = 250

it.effect("a gate that stops does not make the others ask for all of their tickets", () =>
  Effect.gen(function* () {
    const queue = yield* FifoQueue
    const at = (instance: string) => ({ campaign: "business/campaign", slots: 0, instance })
    const [stopping, staying] = [at("stopping"), at("staying")]
    const ids = Array.from({ length: HELD }, (_, n) => `ticket ${n}`)
    for (const id of ids) yield* queue.admit(stopping, { id, caller: "", network: "", holds: false, data: "{}" })
    for (let n = 0; n < HELD; n += PER_STEP) yield* queue.heartbeat(stopping, ids.slice(n, n + PER_STEP), { since: 0 })
    let since = (yield* queue.heartbeat(staying, [], { since: 0 })).result.changes?.until ?? 0
    yield* queue.unregister(stopping)
    const told: Array<string> = []
    for (let more = true; more; ) {
      const { changes } = (yield* queue.heartbeat(staying, [], { since })).result
      assert.isFalse(changes?.lost)
      told.push(...(changes?.changed ?? []))
      since = changes?.until ?? 0
      more = changes?.more === true
    }
    assert.sameMembers(told, ids)
  }).pipe(
    Effect.provide(
      layer.pipe(
        Layer.provide(memory.layer),
        Layer.provide(settingsWith({ Queue: { MaxLength: 2 * HELD, NetworkShare: 1 } })),
      ),
    ),
  ),
)
