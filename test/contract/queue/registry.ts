/** Instances and their counters, as every store keeps them. */
import { assert, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { TestClock } from "effect/testing"
import { BUCKET_MILLIS, BUCKETS, GONE_MILLIS, makeRegistry, type Registry } from "../../../src/operator/registry.ts"
import { Store } from "../../../src/Store.ts"

export const registry = (store: Layer.Layer<Store>): void => {
  /** There is one registry per store; each test has its own keys and starts at the beginning of a bucket. */
  const test = (
    name: string,
    body: (
      registry: Registry,
      now: Effect.Effect<number>,
      /** the same registry, by a clock that is this far behind (ms) */
      behind: (millis: number) => Registry,
    ) => Effect.Effect<void, unknown>,
  ) =>
    it.effect(name, () =>
      Effect.gen(function* () {
        const shared = yield* Store
        const keys = ["a", "b", "c"].map((key) => `vg:{${name}}:${key}`)
        const own = Store.of({ ...shared, run: (rule, ask) => shared.run(rule, { ...ask, keys }) })
        const behind = (millis: number) =>
          makeRegistry(Store.of({ ...own, now: Effect.map(shared.now, (now) => now - millis) }))
        const begins = Math.ceil((yield* shared.now) / BUCKET_MILLIS) * BUCKET_MILLIS
        yield* TestClock.adjust(begins - (yield* shared.now))
        yield* body(makeRegistry(own), shared.now, behind)
      }).pipe(Effect.provide(store)),
    )

  test("an instance is listed from its first heartbeat until it has been silent for too long", (registry) =>
    Effect.gen(function* () {
      yield* registry.beat("a", '{"host":"one"}', [])
      yield* TestClock.adjust(GONE_MILLIS - 1)
      yield* registry.beat("b", '{"host":"two"}', [])
      assert.deepStrictEqual(
        (yield* registry.survey(0)).instances.map(({ about, id }) => [id, about]),
        [
          ["a", '{"host":"one"}'],
          ["b", '{"host":"two"}'],
        ],
      )
      yield* TestClock.adjust(1)
      yield* registry.beat("b", '{"host":"two, later"}', [])
      assert.deepStrictEqual(
        (yield* registry.survey(0)).instances.map(({ about, id }) => [id, about]),
        [["b", '{"host":"two, later"}']],
      )
    }))

  test("counters of all instances are summed per time bucket", (registry, now) =>
    Effect.gen(function* () {
      const at = yield* now
      yield* registry.beat("a", "{}", [1, 0, 3])
      yield* registry.beat("b", "{}", [2, 0, 4])
      yield* registry.beat("b", "{}", [0, 0, 0])
      yield* TestClock.adjust(BUCKET_MILLIS)
      yield* registry.beat("a", "{}", [0, 5, 0])
      assert.deepStrictEqual((yield* registry.survey(0)).buckets, [
        { at, counts: [3, 0, 7] },
        { at: at + BUCKET_MILLIS, counts: [0, 5, 0] },
      ])
      assert.deepStrictEqual((yield* registry.survey(at + BUCKET_MILLIS)).buckets, [
        { at: at + BUCKET_MILLIS, counts: [0, 5, 0] },
      ])
    }))

  test("an older instance's shorter list of counters is added to a newer one's", (registry) =>
    Effect.gen(function* () {
      yield* registry.beat("old", "{}", [1, 2])
      yield* registry.beat("new", "{}", [1, 2, 3])
      yield* registry.beat("old", "{}", [1, 2])
      assert.deepStrictEqual(
        (yield* registry.survey(0)).buckets.map(({ counts }) => counts),
        [[3, 6, 3]],
      )
    }))

  test("an hour later a bucket's place in the ring is reused, and the old values are no longer returned", (registry, now) =>
    Effect.gen(function* () {
      yield* registry.beat("a", "{}", [7])
      yield* TestClock.adjust(BUCKETS * BUCKET_MILLIS)
      assert.deepStrictEqual((yield* registry.survey(0)).buckets, [])
      yield* registry.beat("a", "{}", [1])
      assert.deepStrictEqual((yield* registry.survey(0)).buckets, [{ at: yield* now, counts: [1] }])
    }))

  test("an instance whose clock is behind by the whole ring does not overwrite newer values", (registry, _, behind) =>
    Effect.gen(function* () {
      yield* registry.beat("a", "{}", [1])
      yield* behind(BUCKETS * BUCKET_MILLIS).beat("late", "{}", [9])
      assert.deepStrictEqual(
        (yield* registry.survey(0)).buckets.map(({ counts }) => counts),
        [[1]],
      )
    }))
}
