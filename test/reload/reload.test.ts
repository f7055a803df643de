/** A reload, seen from the store: to it the gate stays the same instance. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Metric } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import * as metrics from "../../src/gatekeeper/metrics.ts"
import { Reload } from "../../src/operator/Reload.ts"
import { load, reload, request, SALES, withGate } from "./support.ts"

describe("a reload", () => {
  it.effect("stops the old background tasks, and reports only a removed campaign as no longer served here", () =>
    withGate(load(SALES), ({ next, rules }) =>
      Effect.gen(function* () {
        const countOf = (name: string): number => rules.filter((rule) => rule === name).length
        yield* TestClock.adjust("5 seconds")
        yield* next(load(SALES, 2))
        assert.deepStrictEqual(yield* reload, {
          _tag: "applied",
          changed: ["VoiceAiPlatform.MaxConcurrency"],
          kept: [],
        })
        yield* TestClock.adjust("1 second")
        assert.strictEqual(countOf("queue.gateGone"), 0)
        const sweeps = countOf("queue.sweep")
        yield* TestClock.adjust("10 seconds")
        // each second one sweep of each of the two campaigns
        assert.strictEqual(countOf("queue.sweep") - sweeps, 20)

        yield* next(load({}, 2))
        yield* reload
        yield* TestClock.adjust("1 second")
        assert.strictEqual(countOf("queue.gateGone"), 1)
      }),
    ),
  )

  it.effect("lets what has begun finish: a start that takes long, with the settings it began with", () =>
    withGate(load({}, 2), ({ next, starts }) =>
      Effect.gen(function* () {
        starts.millis = 9_000
        const slow = yield* Effect.forkChild(request(1), { startImmediately: true })
        yield* TestClock.adjust("1 second")
        yield* next(load({}, 3, { BlockVpn: false }))
        yield* reload
        starts.millis = 0
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* request(2)).webSocketUrl, "wss://platform.example/")
        assert.isUndefined(slow.pollUnsafe())
        yield* TestClock.adjust("8 seconds")
        assert.strictEqual(slow.pollUnsafe()?._tag, "Success")
        // both hold a slot of the three
        assert.isString((yield* request(3)).sessionId)
        assert.strictEqual((yield* Effect.flip(request(4)))._tag, "Queued")
      }),
    ),
  )

  it.effect("calls nobody beyond the new slots when a start that began before it fails", () =>
    withGate(load({}, 2), ({ next, starts }) =>
      Effect.gen(function* () {
        yield* request(1)
        starts.millis = 5_000
        starts.status = 400
        const slow = yield* Effect.forkChild(Effect.flip(request(2)), { startImmediately: true })
        const queued = yield* Effect.flip(request(3))
        if (queued._tag !== "Queued") return assert.fail(queued._tag)
        yield* next(load({}, 1))
        yield* reload
        yield* TestClock.adjust("6 seconds")
        assert.strictEqual(slow.pollUnsafe()?._tag, "Success")
        const { state } = yield* Gatekeeper.use((gatekeeper) => gatekeeper.status(queued.uniqueRequestId))
        assert.strictEqual(state, "waiting")
      }),
    ),
  )

  it.effect("keeps the gauges of campaigns that stay, and clears those of the old name of a renamed one", () =>
    withGate(load(SALES), ({ next }) =>
      Effect.gen(function* () {
        const slots = Effect.forEach(["default", "sales", "support"], (name) =>
          Effect.map(Metric.value(metrics.gauges.slots(name)), ({ value }) => value),
        )
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* slots, [1, 1, 0])
        yield* next(load({ Campaigns: { support: SALES.Campaigns.sales } }))
        yield* reload
        // before the next sweep
        yield* TestClock.adjust("1 milli")
        assert.deepStrictEqual(yield* slots, [1, 0, 1])
      }),
    ),
  )

  it.effect("changes nothing when nothing differs, or while the store cannot be reached", () =>
    withGate(load(), ({ next, rules, state }) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* reload, { _tag: "applied", changed: [], kept: [] })
        assert.notInclude(rules, "operator.act")
        state.away = true
        yield* next(load({}, 2))
        const outcome = yield* reload
        assert.strictEqual(outcome._tag, "refused")
        yield* request(1)
        assert.strictEqual((yield* Effect.flip(request(2)))._tag, "Queued")
        state.away = false
        assert.strictEqual((yield* reload)._tag, "applied")
        assert.include(rules, "operator.act")
      }),
    ),
  )

  it.effect("reads the lists of addresses again, and changes nothing when one cannot be read", () =>
    Effect.gen(function* () {
      const directory = mkdtempSync(join(tmpdir(), "voicegate-lists-"))
      const list = join(directory, "vpn.txt")
      writeFileSync(list, "81.2.69.0/24\n")
      const lists = load({}, 1, {}, { Provider: "lists", Lists: { Vpn: [list] } })
      yield* withGate(lists, () =>
        Effect.gen(function* () {
          // addresses for documentation are never looked up
          const call = Gatekeeper.use((gatekeeper) => gatekeeper.request({}, { address: "81.2.69.142" }))
          const outcome = Effect.map(Effect.flip(call), ({ _tag }) => _tag)
          assert.strictEqual(yield* outcome, "Blocked")
          rmSync(list)
          assert.strictEqual((yield* reload)._tag, "refused")
          assert.strictEqual(yield* outcome, "Blocked")
          writeFileSync(list, "81.2.70.0/24\n")
          assert.deepStrictEqual(yield* reload, { _tag: "applied", changed: [], kept: [] })
          assert.isString((yield* call).sessionId)
        }),
      ).pipe(Effect.ensuring(Effect.sync(() => rmSync(directory, { recursive: true }))))
    }),
  )

  it.effect("is shared by all who ask while another one runs, and reads the settings after they asked", () =>
    withGate(load(), ({ next, reading }) =>
      Effect.gen(function* () {
        const { reload: ask } = yield* Reload
        const asks = (who: string) => Effect.forkChild(ask(who), { startImmediately: true })
        reading.millis = 1_000
        const first = yield* asks("one")
        yield* next(load({}, 2))
        const later = [yield* asks("two"), yield* asks("three"), yield* asks("two")]
        // the one who asked first may go
        yield* Fiber.interrupt(later[0] ?? first)
        yield* TestClock.adjust("1 second")
        assert.isDefined(first.pollUnsafe())
        yield* next(load({}, 3))
        const fourth = yield* asks("four")
        yield* TestClock.adjust("3 seconds")
        assert.strictEqual(reading.count, 3)
        for (const fiber of [...later.slice(1), fourth]) {
          assert.strictEqual((yield* Fiber.join(fiber))._tag, "applied")
        }
      }),
    ),
  )

  it.effect("checks the platform again only when its settings have changed", () =>
    withGate(load(), ({ checks, next }) =>
      Effect.gen(function* () {
        yield* TestClock.adjust("2 seconds")
        assert.isAbove(checks.count, 0)
        checks.count = 0
        yield* next(load({}, 1, { RateLimitHourly: 7 }))
        yield* reload
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual(checks.count, 0)
        yield* next(load({ WebCampaignId: "campaign-2" }, 1, { RateLimitHourly: 7 }))
        yield* reload
        yield* TestClock.adjust("2 seconds")
        assert.isAbove(checks.count, 0)
      }),
    ),
  )

  it.effect("withdraws a ticket of a campaign that it has removed when the answer cannot be delivered", () =>
    withGate(load(SALES), ({ next }) =>
      Effect.gen(function* () {
        const gatekeeper = yield* Gatekeeper
        const ask = (n: number) => gatekeeper.request({ campaignId: "sales" }, { address: `192.0.2.${n}` })
        yield* ask(1)
        const queued = yield* Effect.flip(ask(2))
        assert(queued._tag === "Queued")
        yield* next(load())
        yield* reload
        yield* Effect.forkChild(gatekeeper.withdraw(queued.uniqueRequestId, { address: "192.0.2.2" }))
        yield* TestClock.adjust("5 seconds")
        assert.strictEqual((yield* gatekeeper.status(queued.uniqueRequestId)).state, "left")
      }),
    ),
  )

  it.effect("is refused once the gate shuts down", () =>
    withGate(load(), ({ next }) =>
      Effect.gen(function* () {
        yield* Gatekeeper.use(({ close }) => close)
        yield* next(load({}, 2))
        assert.deepStrictEqual(yield* reload, {
          _tag: "refused",
          problems: ["The gate is shutting down. The process that starts next reads them."],
        })
        assert.strictEqual((yield* Effect.flip(request(1)))._tag, "Draining")
      }),
    ),
  )
})
