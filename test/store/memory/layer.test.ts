import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { TestClock } from "effect/testing"
import { layer } from "../../../src/store/memory/layer.ts"
import type { MemoryDb } from "../../../src/store/memory/MemoryDb.ts"
import { type Ask, type Rule, Store } from "../../../src/store/Store.ts"

const rule = <A>(answer: (db: MemoryDb, key: string) => A): Rule<object, object, A> => ({
  name: "test",
  run: (db, [key = ""]) => [answer(db as MemoryDb, key)],
  lua: "",
  decode: (answer) => answer as A,
  batch: false,
})
const ask: Ask<object, object> = { keys: ["h"], now: 0, context: {}, call: {} }

/** Publishes, then writes. */
const publishing = rule((db, key) => {
  db.publish("c", "m")
  db.hset(key, "done", "yes")
  return 0
})
const done = rule((db, key) => db.hget(key, "done") ?? "no")
const size = rule((db) => db.size)

describe("the store in memory", () => {
  it.effect("holds nothing that expired more than a minute ago, whether it is read or not", () =>
    Effect.gen(function* () {
      const store = yield* Store
      yield* store.set("a", "1", 10_000)
      yield* store.set("b", "1", 600_000)
      yield* store.run(publishing, ask)
      yield* TestClock.adjust(70_000)
      assert.strictEqual(yield* store.run(size, ask), 2)
      assert.strictEqual(yield* store.get("b"), "1")
    }).pipe(Effect.provide(layer)),
  )

  it.effect("delivers a message after the rule that published it", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const seen: Array<unknown> = []
      yield* store.subscribe("c", () => {
        seen.push(Effect.runSync(store.run(done, ask)))
      })
      yield* store.run(publishing, ask)
      assert.deepStrictEqual(seen, ["yes"])
    }).pipe(Effect.provide(layer)),
  )

  it.effect("gives every store its own data", () =>
    Effect.gen(function* () {
      const write = Effect.flatMap(Store, (store) => store.set("k", "v", 1_000))
      const read = Effect.flatMap(Store, (store) => store.get("k"))
      yield* Effect.provide(write, layer)
      assert.isUndefined(yield* Effect.provide(read, layer))
    }),
  )

  it.effect("fails only the call whose rule throws", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const broken = rule<number>(() => {
        throw new Error("broken")
      })
      assert.isTrue(Exit.hasDies(yield* Effect.exit(store.run(broken, ask))))
      assert.strictEqual(yield* store.run(size, ask), 0)
    }).pipe(Effect.provide(layer)),
  )

  it.effect("passes all keys to a rule, and dies when the rule returns no answer", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const keys: Rule<object, object, string> = { ...rule(() => ""), run: (_, keys) => [keys.join(" ")] }
      assert.strictEqual(yield* store.run(keys, { ...ask, ownKeys: ["own"] }), "h own")
      const silent: Rule<object, object, string> = { ...rule(() => ""), run: () => [] }
      assert.isTrue(Exit.hasDies(yield* Effect.exit(store.run(silent, ask))))
    }).pipe(Effect.provide(layer)),
  )
})
