/** What gates on one store share, the same on every store. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer, Schema } from "effect"
import {
  ANNOUNCE_CHANNEL,
  type GateSays,
  GATE_GONE_MILLIS as GONE_MILLIS,
  REMOVED_MAX,
} from "../../src/gatekeeper/peers/rules/membership.ts"
import { type SharedState, sharedState } from "../../src/gatekeeper/peers/shared-state.ts"
import { NO_CONTEXT } from "../../src/store/rule.ts"
import { type Rule, Store } from "../../src/store/Store.ts"
import { eventually } from "../harness/process.ts"
import { onEveryStore } from "../harness/stores.ts"

const NOW = 1_800_000_000_000
let tests = 0

const description = (id: string, more: Partial<GateSays> = {}): GateSays => ({
  id,
  host: `host of ${id}`,
  settings: '{"a":"1"}',
  digest: "same",
  campaigns: [],
  announcement: "",
  ...more,
})
/** Writes the registry's entry of the gate `old`. */
const put: Rule<object, { readonly about: string }, boolean> = {
  name: "test.put",
  run: (db, [key = ""], _now, _context, calls) =>
    calls.map(({ about }) => {
      db.hset(key, "old", about)
      return true
    }),
  lua: "redis.call('HSET', KEYS[1], 'old', cjson.decode(ARGV[3]).about) return '[true]'",
  decode: Schema.decodeUnknownSync(Schema.Boolean),
  batch: false,
}
const campaign = (key: string) => ({ key, about: `{"name":"${key}"}` })

const suite = (store: Layer.Layer<Store>): void => {
  /** There is one registry per store; each test has its own keys. */
  const test = (
    name: string,
    body: (gates: SharedState, store: Store["Service"]) => Effect.Effect<void, unknown>,
  ): void => {
    it.effect(name, () =>
      Effect.gen(function* () {
        const shared = yield* Store
        const n = ++tests
        const own = {
          ...shared,
          run: (rule, ask) =>
            shared.run(rule, { ...ask, keys: ask.keys.map((key) => key.replace("{gates}", `{gates ${n}}`)) }),
        } satisfies Store["Service"]
        yield* body(sharedState(own), own)
      }).pipe(Effect.provide(store)),
    )
  }

  test("a gate is alive from its first renewal until it has been silent for too long", (gates) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* gates.renew(description("a"), "", NOW)).alive, 1)
      assert.strictEqual((yield* gates.renew(description("b"), "", NOW + GONE_MILLIS - 1)).alive, 2)
      assert.strictEqual((yield* gates.renew(description("b"), "", NOW + GONE_MILLIS)).alive, 1)
      assert.strictEqual((yield* gates.renew(description("a"), "", NOW + GONE_MILLIS)).alive, 2)
    }))

  test("gates with other settings are returned with their settings, those with the same are not", (gates) =>
    Effect.gen(function* () {
      const other = { id: "b", host: "host of b", settings: '{"a":"2"}' }
      yield* gates.renew(description("a"), "", NOW)
      yield* gates.renew(description("c"), "", NOW)
      yield* gates.renew(description("b", { settings: other.settings, digest: "samer" }), "", NOW)
      assert.deepStrictEqual((yield* gates.renew(description("a"), "", NOW)).others, [other])
      // and not when it is gone
      assert.deepStrictEqual((yield* gates.renew(description("a"), "", NOW + GONE_MILLIS)).others, [])
    }))

  test("twenty of many gates with other settings are returned", (gates) =>
    Effect.gen(function* () {
      for (let n = 0; n < 25; n++) yield* gates.renew(description(`g${n}`, { digest: `d${n}` }), "", NOW)
      assert.lengthOf((yield* gates.renew(description("a"), "", NOW)).others, 20)
    }))

  test("a campaign is returned to gates that do not serve it, with the time it was last served", (gates) =>
    Effect.gen(function* () {
      yield* gates.renew(description("a", { campaigns: [campaign("x"), campaign("y")] }), "", NOW)
      yield* gates.renew(description("a", { campaigns: [campaign("x")] }), "", NOW + 5)
      const known = (yield* gates.renew(description("b", { campaigns: [campaign("z")] }), "", NOW + 6)).removed
      assert.deepStrictEqual(known, [
        { key: "y", seenAt: NOW, about: '{"name":"y"}' },
        { key: "x", seenAt: NOW + 5, about: '{"name":"x"}' },
      ])
      // however long ago
      assert.deepStrictEqual(
        (yield* gates.renew(
          description("a", { campaigns: [campaign("x"), campaign("z")] }),
          "",
          NOW + 1e9,
        )).removed.map(({ key }) => key),
        ["y"],
      )
    }))

  test(`the ${REMOVED_MAX} of many campaigns that are unserved for longest are returned`, (gates) =>
    Effect.gen(function* () {
      const keys = Array.from({ length: REMOVED_MAX + 5 }, (_, n) => `c${String(n).padStart(3, "0")}`)
      for (const [n, key] of keys.entries())
        yield* gates.renew(description("a", { campaigns: [campaign(key)] }), "", NOW + n)
      const { removed } = yield* gates.renew(
        description("b", { campaigns: [campaign("c000"), campaign("own")] }),
        "",
        NOW + 99,
      )
      assert.deepStrictEqual(
        removed.map(({ key }) => key),
        keys.slice(1, REMOVED_MAX + 1),
      )
    }))

  test("a campaign is forgotten, unless it was served again", (gates) =>
    Effect.gen(function* () {
      const served = description("a", { campaigns: [campaign("x")] })
      const other = description("b")
      yield* gates.renew(served, "", NOW)
      yield* gates.renew(served, "", NOW + 1)
      assert.isFalse(yield* gates.forget("x", NOW))
      assert.lengthOf((yield* gates.renew(other, "", NOW + 2)).removed, 1)
      assert.isTrue(yield* gates.forget("x", NOW + 1))
      assert.isFalse(yield* gates.forget("x", NOW + 1))
      assert.deepStrictEqual((yield* gates.renew(other, "", NOW + 2)).removed, [])
    }))

  test("a database keeps the id that it was first given", (gates) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* gates.renew(description("a"), "first", NOW)).store, "first")
      assert.strictEqual((yield* gates.renew(description("b"), "second", NOW)).store, "first")
    }))

  test("an announcement is published with the database's id", (gates, store) =>
    Effect.gen(function* () {
      const received: Array<string> = []
      yield* store.subscribe(ANNOUNCE_CHANNEL, (message) => received.push(message))
      yield* gates.renew(description("a"), "db", NOW)
      yield* gates.renew(description("a", { announcement: "hello there" }), "db", NOW)
      yield* Effect.promise(() => eventually("the announcement", () => received.length > 0))
      assert.deepStrictEqual(received, ["db hello there"])
    }).pipe(Effect.scoped))

  test("a gate's description is returned as it was sent", (gates) =>
    Effect.gen(function* () {
      const written = '{"é":"a b \\" / \\u0000"}'
      const other = { id: "a", host: "a host / of its own", settings: written }
      const unserved = { key: "business / {é}", about: written }
      yield* gates.renew(description("a", { ...other, digest: "other", campaigns: [unserved] }), "db", NOW)
      assert.deepStrictEqual(yield* gates.renew(description("b"), "", NOW + 1), {
        store: "db",
        alive: 2,
        removed: [{ ...unserved, seenAt: NOW }],
        others: [other],
      })
    }))

  test("a gate of an older version is alive, and its settings are not returned", (gates, store) =>
    Effect.gen(function* () {
      yield* gates.renew(description("old", { digest: "other" }), "", NOW)
      for (const about of ["other host", "", "[]", "null", "1", '{"digest":1,"host":"h"}', '{"digest":"other"}']) {
        yield* store.run(put, { keys: ["vg:{gates}:about"], now: NOW, context: NO_CONTEXT, call: { about } })
        const { alive, others } = yield* gates.renew(description("a"), "", NOW)
        assert.deepStrictEqual({ alive, others }, { alive: 2, others: [] })
      }
    }))
}

describe("gates on one store", () => onEveryStore(suite))
