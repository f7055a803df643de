/** What a Redis Cluster refuses is found in tests that run in memory or on one server. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import { NO_CONTEXT } from "../../src/store/rule.ts"
import type { Rule } from "../../src/store/Store.ts"
import { makeStore } from "../support/gates.ts"
import { asOnCluster, crossing, hashTag, onDeclaredKeys } from "./one-slot.ts"

/** Writes a field of the key that its call names, whatever keys it was given. */
const write: Rule<object, { readonly key: string }, boolean> = {
  name: "test.write",
  run: (db, _keys, _now, _context, calls) =>
    calls.map(({ key }) => {
      db.hset(key, "field", "value")
      return db.hget(key, "field") === "value"
    }),
  lua: "return '[true]'",
  decode: Boolean,
  batch: false,
}
const on = (keys: ReadonlyArray<string>, key: string) => ({ keys, now: 0, context: NO_CONTEXT, call: { key } })

describe("a step", () => {
  it("has one hash slot where its keys have one tag", () => {
    assert.deepStrictEqual(["vg:2:{a}:x", "{}b", "c{", "{d}{e}"].map(hashTag), ["a", "{}b", "c{", "d"])
    assert.isUndefined(crossing("rule", { keys: ["vg:{a}:x"], ownKeys: ["vg:{a}:y"] }))
    assert.include(crossing("rule", { keys: ["vg:{a}:x", "vg:{b}:x"] }), "rule has keys of several hash slots")
    assert.include(crossing("rule", { keys: ["vg:{a}:x"], ownKeys: ["vg:x"] }), ": a, vg:x")
  })

  it.effect("that touches a key which it was not given fails in memory", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      for (const each of [onDeclaredKeys(store), asOnCluster(store)]) {
        assert.isTrue(yield* each.run(write, on(["{a}x"], "{a}x")))
        const exit = yield* Effect.exit(each.run(write, on(["{a}x"], "{a}y")))
        assert.include(
          Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "",
          "test.write touches a key that it was not given: {a}y",
        )
      }
    }).pipe(Effect.scoped),
  )
})
