/** Instances and their counters, as every store keeps them. */
import { assert, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { TestClock } from "effect/testing"
import { type Instances, makeInstances } from "../../../src/operator/instances.ts"
import { BUCKET_MILLIS, BUCKETS, GONE_MILLIS } from "../../../src/operator/rules/activity.ts"
import { Store } from "../../../src/store/Store.ts"

export const instances = (store: Layer.Layer<Store>): void => {
  /** Each test has its own keys and starts at the beginning of a bucket. */
  const test = (
    name: string,
    body: (
      instances: Instances,
      now: Effect.Effect<number>,
      /** the same, by a clock that is this far behind (ms) */
      behind: (millis: number) => Instances,
    ) => Effect.Effect<void, unknown>,
  ) =>
    it.effect(name, () =>
      Effect.gen(function* () {
        const shared = yield* Store
        const keys = ["a", "b", "c", "d"].map((key) => `vg:{${name}}:${key}`)
        const own = Store.of({ ...shared, run: (rule, ask) => shared.run(rule, { ...ask, keys }) })
        const behind = (millis: number) =>
          makeInstances(Store.of({ ...own, now: Effect.map(shared.now, (now) => now - millis) }))
        const begins = Math.ceil((yield* shared.now) / BUCKET_MILLIS) * BUCKET_MILLIS
        yield* TestClock.adjust(begins - (yield* shared.now))
        yield* body(makeInstances(own), shared.now, behind)
      }).pipe(Effect.provide(store)),
    )

  test("an instance is listed from its first report until it has been silent for too long", (instances) =>
    Effect.gen(function* () {
      yield* instances.report("a", '{"host":"one"}', {})
      yield* TestClock.adjust(GONE_MILLIS - 1)
      yield* instances.report("b", '{"host":"two"}', {})
      assert.deepStrictEqual(
        (yield* instances.activity(0)).instances.map(({ about, id }) => [id, about]),
        [
          ["a", '{"host":"one"}'],
          ["b", '{"host":"two"}'],
        ],
      )
      yield* TestClock.adjust(1)
      yield* instances.report("b", '{"host":"two, later"}', {})
      assert.deepStrictEqual(
        (yield* instances.activity(0)).instances.map(({ about, id }) => [id, about]),
        [["b", '{"host":"two, later"}']],
      )
    }))

  test("refusals of all instances are summed by campaign and reason, for an hour", (instances) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* instances.refusals, {})
      yield* instances.report("a", "{}", {}, { "vpn sales": 1, "queue_full default": 2 })
      yield* instances.report("b", "{}", { queued: 1 }, { "vpn sales": 3 })
      yield* TestClock.adjust("54 minutes")
      yield* instances.report("a", "{}", {}, { "vpn sales": 5, "invalid ": 1 })
      assert.deepStrictEqual(yield* instances.refusals, { "vpn sales": 9, "queue_full default": 2, "invalid ": 1 })
      yield* TestClock.adjust("6 minutes")
      assert.deepStrictEqual(yield* instances.refusals, { "vpn sales": 5, "invalid ": 1 })
    }))

  test("counters of all instances are summed per time bucket", (instances, now) =>
    Effect.gen(function* () {
      const at = yield* now
      yield* instances.report("a", "{}", { started: 1, queued: 3 })
      yield* instances.report("b", "{}", { started: 2, queued: 4 })
      yield* instances.report("b", "{}", {})
      yield* TestClock.adjust(BUCKET_MILLIS)
      yield* instances.report("a", "{}", { waited: 5 })
      assert.deepStrictEqual((yield* instances.activity(0)).buckets, [
        { at, counts: { started: 3, queued: 7 } },
        { at: at + BUCKET_MILLIS, counts: { waited: 5 } },
      ])
      assert.deepStrictEqual((yield* instances.activity(at + BUCKET_MILLIS)).buckets, [
        { at: at + BUCKET_MILLIS, counts: { waited: 5 } },
      ])
    }))

  test("counters that only a newer instance has are added to those of older ones", (instances) =>
    Effect.gen(function* () {
      yield* instances.report("old", "{}", { started: 1, queued: 2 })
      yield* instances.report("new", "{}", { started: 1, queued: 2, newest: 3 })
      yield* instances.report("old", "{}", { started: 1, queued: 2 })
      assert.deepStrictEqual(
        (yield* instances.activity(0)).buckets.map(({ counts }) => counts),
        [{ started: 3, queued: 6, newest: 3 }],
      )
    }))

  test("an hour later a bucket's place in the ring is reused, and the old values are no longer returned", (instances, now) =>
    Effect.gen(function* () {
      yield* instances.report("a", "{}", { started: 7 })
      yield* TestClock.adjust(BUCKETS * BUCKET_MILLIS)
      assert.deepStrictEqual((yield* instances.activity(0)).buckets, [])
      yield* instances.report("a", "{}", { started: 1 })
      assert.deepStrictEqual((yield* instances.activity(0)).buckets, [{ at: yield* now, counts: { started: 1 } }])
    }))

  test("an instance whose clock is behind by the whole ring does not overwrite newer values", (instances, _, behind) =>
    Effect.gen(function* () {
      yield* instances.report("a", "{}", { started: 1 })
      yield* behind(BUCKETS * BUCKET_MILLIS).report("late", "{}", { started: 9 })
      assert.deepStrictEqual(
        (yield* instances.activity(0)).buckets.map(({ counts }) => counts),
        [{ started: 1 }],
      )
    }))
}
