/** What negotiations and registrations leave in the store that all callers share. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { HubMemory, layer, REMEMBERED_PER_HOUR, UNUSED_ID_MILLIS } from "../../../src/http/signalr/HubMemory.ts"
import * as memory from "../../../src/store/memory/layer.ts"

const HOUR = 3_600_000
const SHOP = "https://shop.example"
const browser = (n: number) => ({ id: `${n}`.padEnd(22, "b"), origin: SHOP })

const hubTest = (name: string, body: (hub: HubMemory["Service"]) => Effect.Effect<void, unknown>) =>
  it.effect(name, () => HubMemory.use(body).pipe(Effect.provide(layer.pipe(Layer.provide(memory.layer)))))

hubTest("the id of a browser is kept for a day once it has registered a ticket, and for minutes before", (hub) =>
  Effect.gen(function* () {
    const [idle, waiting] = [browser(1), browser(2)]
    yield* hub.issue(idle.id)
    yield* hub.issue(waiting.id)
    yield* hub.remember(waiting, "ticket")
    yield* TestClock.adjust(UNUSED_ID_MILLIS - 1)
    assert.isTrue(yield* hub.isIssued(idle.id))
    yield* TestClock.adjust(1)
    assert.isFalse(yield* hub.isIssued(idle.id))
    assert.isTrue(yield* hub.isIssued(waiting.id))
    yield* TestClock.adjust(24 * HOUR)
    assert.isFalse(yield* hub.isIssued(waiting.id))
  }),
)

hubTest("a ticket is remembered under a few ids an hour, however many register it", (hub) =>
  Effect.gen(function* () {
    const remembered = (from: number) =>
      Effect.gen(function* () {
        let found = 0
        for (let n = from; n < from + 5 * REMEMBERED_PER_HOUR; n++) {
          yield* hub.remember(browser(n), "ticket")
          found += (yield* hub.recall(browser(n))).length
        }
        return found
      })
    assert.strictEqual(yield* remembered(0), REMEMBERED_PER_HOUR)
    yield* hub.remember(browser(1_000), "another ticket")
    assert.deepStrictEqual(yield* hub.recall(browser(1_000)), ["another ticket"])
    yield* TestClock.adjust(HOUR)
    assert.strictEqual(yield* remembered(2_000), REMEMBERED_PER_HOUR)
  }),
)
