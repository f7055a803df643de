/** The history of campaigns, and what is kept of callers, as every store keeps them. */
import { assert, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { TestClock } from "effect/testing"
import { type CallersStore, makeCallers } from "../../src/operator/callers.ts"
import { type History, makeHistory } from "../../src/operator/history.ts"
import { type Instances, makeInstances } from "../../src/operator/instances.ts"
import { GONE_MILLIS } from "../../src/operator/rules/activity.ts"
import { BLOCKS_MAX, LATEST_MAX, PERIOD_MILLIS } from "../../src/operator/rules/callers.ts"
import { HISTORY_MILLIS, HISTORY_RINGS } from "../../src/operator/rules/history.ts"
import type { RefusedRequest } from "../../src/operator/shapes.ts"
import { Store } from "../../src/store/Store.ts"

const MINUTE = 60_000
const HOUR = 3_600_000

export const consoleContract = (store: Layer.Layer<Store>): void => {
  /** Each test has its own keys and starts at the beginning of an hour. */
  const test = (
    name: string,
    body: (
      of: {
        readonly history: History
        readonly callers: CallersStore
        readonly instances: Instances
        readonly store: Store["Service"]
      },
      now: Effect.Effect<number>,
    ) => Effect.Effect<void, unknown>,
  ) =>
    it.effect(name, () =>
      Effect.gen(function* () {
        const shared = yield* Store
        const own = Store.of({
          ...shared,
          run: (rule, ask) =>
            shared.run(rule, { ...ask, keys: ask.keys.map((key) => key.replace("{console}", `{${name}}`)) }),
        })
        const begins = Math.ceil((yield* shared.now) / HOUR) * HOUR
        yield* TestClock.adjust(begins - (yield* shared.now))
        const of = {
          history: makeHistory(own),
          callers: makeCallers(own),
          instances: makeInstances(own),
          store: own,
        }
        yield* body(of, shared.now)
      }).pipe(Effect.provide(store)),
    )

  const counts = (of: History, range: "hour" | "day" | "week", campaign = "default") =>
    Effect.map(of.read(campaign, range), ({ buckets }) => buckets)

  test("two instances add up exactly: counts are summed, the greatest of each is kept, and a report that is sent again counts once", ({
    history,
  }, now) =>
    Effect.gen(function* () {
      const at = yield* now
      const part = (number: number, campaign: string, counts: Readonly<Record<string, number>>) => ({
        number,
        at,
        campaigns: [
          { campaign, counts },
          { campaign: "other", counts: { samples: 1 } },
        ],
      })
      const first = part(1, "default", { samples: 5, waiting: 20, "max.waiting": 7, "over.ended": 3, "wait.5": 2 })
      yield* history.add("a", first)
      yield* history.add("b", part(1, "default", { samples: 4, waiting: 8, "max.waiting": 4, "over.ended": 1 }))
      // its answer was lost
      yield* history.add("a", first)
      yield* history.add("a", part(2, "default", { samples: 1, "max.waiting": 9, "refused.vpn": 2 }))
      const sums = {
        samples: 10,
        waiting: 28,
        "max.waiting": 9,
        "over.ended": 4,
        "wait.5": 2,
        "refused.vpn": 2,
      }
      for (const range of ["hour", "day", "week"] as const) {
        assert.deepStrictEqual(yield* counts(history, range), [{ at, counts: sums }])
      }
      assert.deepStrictEqual(yield* counts(history, "hour", "other"), [{ at, counts: { samples: 3 } }])
      assert.deepStrictEqual(yield* counts(history, "hour", "nobody"), [])
    }))

  test("an instance that leaves is off the list at once, and one that dies after half an hour; of many, those are listed that reported last", ({
    instances,
  }) =>
    Effect.gen(function* () {
      const listed = Effect.map(instances.activity(0), ({ instances: all }) => all.map(({ id }) => id))
      yield* instances.report("one", "{}", {})
      yield* instances.report("two", "{}", {})
      yield* instances.leave("two")
      yield* instances.leave("nobody")
      assert.deepStrictEqual(yield* listed, ["one"])
      yield* TestClock.adjust(GONE_MILLIS - 1_000)
      yield* instances.report("three", "{}", {})
      assert.deepStrictEqual(yield* listed, ["one", "three"])
      yield* TestClock.adjust("1 second")
      yield* instances.report("three", "{}", {})
      assert.deepStrictEqual(yield* listed, ["three"])
      yield* TestClock.adjust("1 second")
      for (let n = 0; n < 205; n++) yield* instances.report(`many-${n}`, "{}", {})
      const all = yield* listed
      assert.strictEqual(all.length, 200)
      assert.isFalse(all.includes("three"))
    }))

  test("a minute is kept for an hour and more, ten minutes for a day, an hour for a week, and then the places are used again", ({
    history,
  }, now) =>
    Effect.gen(function* () {
      const at = yield* now
      let number = 0
      const add = (seconds: number) =>
        Effect.flatMap(now, (at) => {
          number++
          return history.add("a", { number, at, campaigns: [{ campaign: "default", counts: { samples: seconds } }] })
        })
      yield* add(1)
      yield* TestClock.adjust(59 * MINUTE)
      yield* add(2)
      const later = at + 59 * MINUTE
      assert.deepStrictEqual(yield* counts(history, "hour"), [
        { at, counts: { samples: 1 } },
        { at: later, counts: { samples: 2 } },
      ])
      assert.deepStrictEqual(yield* counts(history, "day"), [
        { at, counts: { samples: 1 } },
        { at: at + 50 * MINUTE, counts: { samples: 2 } },
      ])
      yield* TestClock.adjust(MINUTE)
      assert.deepStrictEqual(yield* counts(history, "hour"), [{ at: later, counts: { samples: 2 } }])
      assert.deepStrictEqual(yield* counts(history, "week"), [{ at, counts: { samples: 3 } }])
      // in the place of the first minute
      const [minutes] = HISTORY_RINGS
      yield* TestClock.adjust((minutes?.buckets ?? 0) * MINUTE - HOUR)
      yield* add(4)
      assert.deepStrictEqual(yield* counts(history, "hour"), [{ at: yield* now, counts: { samples: 4 } }])
      yield* TestClock.adjust(7 * 24 * HOUR)
      assert.deepStrictEqual(yield* counts(history, "week"), [])
      assert.isAbove(HISTORY_MILLIS, 7 * 24 * HOUR)
    }))

  test("what was counted before a clock was set back does not keep what is counted since from being seen", ({
    history,
  }, now) =>
    Effect.gen(function* () {
      // buckets before 1970 have other places
      yield* TestClock.adjust(4 * HOUR)
      const at = yield* now
      const add = (number: number, at: number, counts: Readonly<Record<string, number>>) =>
        history.add("a", { number, at, campaigns: [{ campaign: "default", counts }] })
      // the clock was two hours ahead, which is as long as the ring of the minutes
      yield* add(1, at + 2 * HOUR, { "over.ended": 7 })
      assert.deepStrictEqual(yield* counts(history, "hour"), [])
      yield* add(2, at, { samples: 1 })
      yield* add(3, at, { samples: 2 })
      assert.deepStrictEqual(yield* counts(history, "hour"), [{ at, counts: { samples: 3 } }])
      // another instance may be a moment ahead
      yield* add(4, at + MINUTE, { samples: 4 })
      yield* add(5, at - 2 * HOUR + MINUTE, { samples: 5 })
      yield* TestClock.adjust(MINUTE)
      assert.deepStrictEqual((yield* counts(history, "hour")).at(-1), { at: at + MINUTE, counts: { samples: 4 } })
    }))

  test("a report that is late by a whole ring replaces nothing", ({ history }, now) =>
    Effect.gen(function* () {
      const at = yield* now
      yield* history.add("a", { number: 1, at, campaigns: [{ campaign: "default", counts: { samples: 1 } }] })
      yield* history.add("b", {
        number: 1,
        at: at - (HISTORY_RINGS[0]?.buckets ?? 0) * MINUTE,
        campaigns: [{ campaign: "default", counts: { samples: 9 } }],
      })
      assert.deepStrictEqual(yield* counts(history, "hour"), [{ at, counts: { samples: 1 } }])
    }))

  const refusal = (n: number, at: number, campaign = "default"): RefusedRequest => ({
    ...{ at, campaign, reason: "vpn", address: "192.0.2.1", by: `a ${n}` },
  })

  test("the addresses that ask most are those of all instances in the last hour", ({ callers }) =>
    Effect.gen(function* () {
      const report = (asked: Readonly<Record<string, number>>, refused: Readonly<Record<string, number>> = {}) =>
        callers.report({ asked, refused, latest: [], knows: -1 })
      yield* report({ "192.0.2.1": 3, "192.0.2.2": 1 }, { "192.0.2.1": 2 })
      yield* report({ "192.0.2.1": 4, "192.0.2.3": 5 })
      assert.deepStrictEqual((yield* callers.asking).addresses, [
        { address: "192.0.2.1", requests: 7, refused: 2 },
        { address: "192.0.2.3", requests: 5, refused: 0 },
        { address: "192.0.2.2", requests: 1, refused: 0 },
      ])
      yield* TestClock.adjust(PERIOD_MILLIS)
      yield* report({ "192.0.2.2": 9 })
      assert.deepStrictEqual((yield* callers.asking).addresses[0], { address: "192.0.2.2", requests: 10, refused: 0 })
      yield* TestClock.adjust(5 * PERIOD_MILLIS)
      assert.deepStrictEqual((yield* callers.asking).addresses, [{ address: "192.0.2.2", requests: 9, refused: 0 }])
      yield* TestClock.adjust(PERIOD_MILLIS)
      assert.deepStrictEqual((yield* callers.asking).addresses, [])
    }))

  test("the latest refusals of each campaign are kept, newest first, and no more than may be, however many others has", ({
    callers,
  }, now) =>
    Effect.gen(function* () {
      const at = yield* now
      const quiet = [refusal(1, at, "quiet"), refusal(2, at, "")]
      yield* callers.report({ asked: {}, refused: {}, latest: quiet, knows: -1 })
      for (let n = 0; n <= LATEST_MAX; n++) {
        yield* callers.report({ asked: {}, refused: {}, latest: [refusal(n, at)], knows: -1 })
        yield* TestClock.adjust(1)
      }
      const latest = (yield* callers.latest("default")).filter(({ campaign }) => campaign !== "")
      assert.strictEqual(latest.length, LATEST_MAX)
      assert.deepStrictEqual([latest[0]?.by, latest.at(-1)?.by], [`a ${LATEST_MAX}`, "a 1"])
      // those of no campaign are seen at each
      assert.deepStrictEqual(yield* callers.latest("quiet"), quiet.toReversed())
      const forgotten = yield* callers.forget(["192.0.2.1"], ["default", "quiet"], true)
      assert.deepStrictEqual(forgotten, { seen: LATEST_MAX + 2, blocks: 0 })
      assert.deepStrictEqual(yield* callers.latest("default"), [])
    }))

  test("a block is told to the instances that do not know of it, ends by itself, and is lifted once", ({
    callers,
  }, now) =>
    Effect.gen(function* () {
      const report = (knows: number) => callers.report({ asked: {}, refused: {}, latest: [], knows })
      const none = yield* report(-1)
      assert.deepStrictEqual(none, { version: 0 })
      const at = yield* now
      const block = { address: "192.0.2.1", until: at + HOUR, at, by: "me" }
      const { version, ...ordered } = yield* callers.order({ address: block.address, by: "me", until: block.until })
      assert.deepStrictEqual(ordered, { result: "done", blocks: [block] })
      assert.deepStrictEqual(yield* report(0), { version, blocks: [block] })
      assert.deepStrictEqual(yield* report(version), { version })
      const forever = yield* callers.order({ address: "192.0.2.2", by: "me", until: 0 })
      assert.lengthOf(forever.blocks ?? [], 2)
      yield* TestClock.adjust(HOUR)
      assert.deepStrictEqual(
        (yield* callers.asking).blocks.map(({ address }) => address),
        ["192.0.2.2"],
      )
      assert.strictEqual((yield* callers.order({ address: "192.0.2.2", by: "me" })).result, "done")
      assert.strictEqual((yield* callers.order({ address: "192.0.2.2", by: "me" })).result, "already")
      assert.deepStrictEqual((yield* callers.asking).blocks, [])
    }))

  test("no more addresses are blocked than may be, and one that is blocked may be blocked for longer", ({ callers }) =>
    Effect.gen(function* () {
      const order = (n: number) =>
        Effect.map(callers.order({ address: `a${n}`, by: "me", until: 0 }), ({ result }) => result)
      for (let n = 0; n < BLOCKS_MAX; n++) yield* order(n)
      assert.strictEqual(yield* order(BLOCKS_MAX), "full")
      assert.strictEqual(yield* order(0), "done")
    }))
}
