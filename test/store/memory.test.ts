import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { TestClock } from "effect/testing"
import { type Script, Store } from "../../src/Store.ts"
import { layer } from "../../src/store/memory.ts"

const script = (memory: Script["memory"]): Script => ({ name: "test", numberOfKeys: 1, lua: "", memory })

/** Publishes, then changes what it holds. */
const shout = script((db, [key = ""]) => {
  db.publish("c", "m")
  db.hset(key, "done", "yes")
  return 0
})
const done = script((db, [key = ""]) => db.hget(key, "done") ?? "no")
const size = script((db) => db.size)

describe("the store in memory", () => {
  it.effect("holds nothing that expired longer than a minute ago, asked for or not", () =>
    Effect.gen(function* () {
      const store = yield* Store
      yield* store.set("a", "1", 10_000)
      yield* store.set("b", "1", 600_000)
      yield* store.run(shout, ["h"], [])
      yield* TestClock.adjust(70_000)
      assert.strictEqual(yield* store.run(size, ["h"], []), 2)
      assert.strictEqual(yield* store.get("b"), "1")
    }).pipe(Effect.provide(layer)),
  )

  it.effect("delivers a message when the script that published it is over", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const seen: Array<unknown> = []
      yield* store.subscribe("c", () => {
        seen.push(Effect.runSync(store.run(done, ["h"], [])))
      })
      yield* store.run(shout, ["h"], [])
      assert.deepStrictEqual(seen, ["yes"])
    }).pipe(Effect.provide(layer)),
  )

  it.effect("gives every store that is built data of its own", () =>
    Effect.gen(function* () {
      const write = Effect.flatMap(Store, (store) => store.set("k", "v", 1_000))
      const read = Effect.flatMap(Store, (store) => store.get("k"))
      yield* Effect.provide(write, layer)
      assert.isUndefined(yield* Effect.provide(read, layer))
    }),
  )

  it.effect("fails the run of a script that throws, and no other", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const broken = script(() => {
        throw new Error("broken")
      })
      assert.isTrue(Exit.hasDies(yield* Effect.exit(store.run(broken, ["h"], []))))
      assert.strictEqual(yield* store.run(size, ["h"], []), 0)
    }).pipe(Effect.provide(layer)),
  )
})
