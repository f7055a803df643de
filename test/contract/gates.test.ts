/** What gates on one store tell each other, alike on every store. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import {
  ANNOUNCE_CHANNEL,
  beat,
  type GateSays,
  type GatesShared,
  GONE_MILLIS,
  makeGatesShared,
  REMOVED_MAX,
} from "../../src/gatekeeper/gates-shared.ts"
import { Store } from "../../src/Store.ts"
import { eventually } from "../support/process.ts"
import { onEveryStore } from "../support/stores.ts"

const NOW = 1_800_000_000_000
let tests = 0

const says = (id: string, more: Partial<GateSays> = {}): GateSays => ({
  id,
  host: `host of ${id}`,
  settings: '{"a":"1"}',
  digest: "same",
  campaigns: [],
  announcement: "",
  ...more,
})
const campaign = (key: string) => ({ key, about: `{"name":"${key}"}` })

const suite = (store: Layer.Layer<Store>): void => {
  /** The registry is one a store; each test has keys of its own. */
  const test = (
    name: string,
    body: (gates: GatesShared, store: Store["Service"]) => Effect.Effect<void, unknown>,
  ): void => {
    it.effect(name, () =>
      Effect.gen(function* () {
        const shared = yield* Store
        const n = ++tests
        const own = {
          ...shared,
          run: (script, keys, args) =>
            shared.run(
              script,
              keys.map((key) => key.replace("{gates}", `{gates ${n}}`)),
              args,
            ),
        } satisfies Store["Service"]
        yield* body(makeGatesShared(own), own)
      }).pipe(Effect.provide(store)),
    )
  }

  test("a gate is alive from its first beat until it has been silent too long", (gates) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* gates.beat(says("a"), "", NOW)).alive, 1)
      assert.strictEqual((yield* gates.beat(says("b"), "", NOW + GONE_MILLIS - 1)).alive, 2)
      assert.strictEqual((yield* gates.beat(says("b"), "", NOW + GONE_MILLIS)).alive, 1)
      assert.strictEqual((yield* gates.beat(says("a"), "", NOW + GONE_MILLIS)).alive, 2)
    }))

  test("gates with other settings are told of with their settings, those with the same are not", (gates) =>
    Effect.gen(function* () {
      const other = { id: "b", host: "host of b", settings: '{"a":"2"}' }
      yield* gates.beat(says("a"), "", NOW)
      yield* gates.beat(says("c"), "", NOW)
      yield* gates.beat(says("b", { settings: other.settings, digest: "samer" }), "", NOW)
      assert.deepStrictEqual((yield* gates.beat(says("a"), "", NOW)).others, [other])
      // and not when it is gone
      assert.deepStrictEqual((yield* gates.beat(says("a"), "", NOW + GONE_MILLIS)).others, [])
    }))

  test("of many gates with other settings twenty are told of", (gates) =>
    Effect.gen(function* () {
      for (let n = 0; n < 25; n++) yield* gates.beat(says(`g${n}`, { digest: `d${n}` }), "", NOW)
      assert.lengthOf((yield* gates.beat(says("a"), "", NOW)).others, 20)
    }))

  test("a campaign is known to those who do not serve it, with when it was served last", (gates) =>
    Effect.gen(function* () {
      yield* gates.beat(says("a", { campaigns: [campaign("x"), campaign("y")] }), "", NOW)
      yield* gates.beat(says("a", { campaigns: [campaign("x")] }), "", NOW + 5)
      const known = (yield* gates.beat(says("b", { campaigns: [campaign("z")] }), "", NOW + 6)).removed
      assert.deepStrictEqual(known, [
        { key: "y", seenAt: NOW, about: '{"name":"y"}' },
        { key: "x", seenAt: NOW + 5, about: '{"name":"x"}' },
      ])
      // however long ago
      assert.deepStrictEqual(
        (yield* gates.beat(says("a", { campaigns: [campaign("x"), campaign("z")] }), "", NOW + 1e9)).removed.map(
          ({ key }) => key,
        ),
        ["y"],
      )
    }))

  test(`of many campaigns the ${REMOVED_MAX} are told of that nobody has served for longest`, (gates) =>
    Effect.gen(function* () {
      const keys = Array.from({ length: REMOVED_MAX + 5 }, (_, n) => `c${String(n).padStart(3, "0")}`)
      for (const [n, key] of keys.entries()) yield* gates.beat(says("a", { campaigns: [campaign(key)] }), "", NOW + n)
      const { removed } = yield* gates.beat(says("b", { campaigns: [campaign("c000"), campaign("own")] }), "", NOW + 99)
      assert.deepStrictEqual(
        removed.map(({ key }) => key),
        keys.slice(1, REMOVED_MAX + 1),
      )
    }))

  test("a campaign is forgotten, unless it was served again", (gates) =>
    Effect.gen(function* () {
      const served = says("a", { campaigns: [campaign("x")] })
      const asker = says("b")
      yield* gates.beat(served, "", NOW)
      yield* gates.beat(served, "", NOW + 1)
      assert.isFalse(yield* gates.forget("x", NOW))
      assert.lengthOf((yield* gates.beat(asker, "", NOW + 2)).removed, 1)
      assert.isTrue(yield* gates.forget("x", NOW + 1))
      assert.isFalse(yield* gates.forget("x", NOW + 1))
      assert.deepStrictEqual((yield* gates.beat(asker, "", NOW + 2)).removed, [])
    }))

  test("a database has the id that it was given first", (gates) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* gates.beat(says("a"), "first", NOW)).store, "first")
      assert.strictEqual((yield* gates.beat(says("b"), "second", NOW)).store, "first")
    }))

  test("what is announced is published with the database's id", (gates, store) =>
    Effect.gen(function* () {
      const heard: Array<string> = []
      yield* store.subscribe(ANNOUNCE_CHANNEL, (message) => heard.push(message))
      yield* gates.beat(says("a"), "db", NOW)
      yield* gates.beat(says("a", { announcement: "hello there" }), "db", NOW)
      yield* Effect.promise(() => eventually("the announcement", () => heard.length > 0))
      assert.deepStrictEqual(heard, ["db hello there"])
    }).pipe(Effect.scoped))

  test("both twins keep the same keys", (_, store) =>
    Effect.gen(function* () {
      // a campaign without anything about it, as another version may leave it
      const keys = ["alive", "about", "settings", "seen", "campaigns", "store"].map((name) => `vg:{gates}:${name}`)
      const reply = yield* store.run(beat, keys, [NOW, "a", "d", "h", "{}", NOW - 1, "db", "", "k", "{}"])
      assert.deepStrictEqual(reply, ["db", 1, [], []])
      assert.deepStrictEqual(yield* store.run(beat, keys, [NOW + 1, "b", "e", "", "{}", NOW - 1, "", ""]), [
        "db",
        2,
        [["k", String(NOW), "{}"]],
        [["a", "h", "{}"]],
      ])
    }))
}

describe("gates on one store", () => onEveryStore(suite))
