/**
 * The contract of every store. Each test has its own keys and channels, because the tests of a store share its data.
 */
import { randomUUID } from "node:crypto"
import { assert, it } from "@effect/vitest"
import { Effect, Exit, type Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { NO_CONTEXT } from "../../src/store/rule.ts"
import { type Ask, type Rule, Store } from "../../src/store/Store.ts"
import { eventually } from "../harness/process.ts"

const unique = (): string => `test:{${randomUUID()}}`

/** Reads, then writes without a pause: two concurrent runs lose a count unless each runs alone. */
const count: Rule<object, { readonly by: number }, number> = {
  name: "test.count",
  run: (db, [key = ""], _now, _context, calls) =>
    calls.map(({ by }) => {
      const n = Number(db.hget(key, "n") ?? "0") + by
      db.hset(key, "n", String(n))
      return n
    }),
  lua: `-- test.count
local n = tonumber(redis.call('HGET', KEYS[1], 'n') or '0') + cjson.decode(ARGV[3]).by
redis.call('HSET', KEYS[1], 'n', n)
return cjson.encode({n})
`,
  decode: Number,
  batch: false,
}

interface Echo {
  readonly keys: ReadonlyArray<string>
  readonly now: number
  readonly context: object
  readonly call: object
  readonly text: string
  readonly flags: ReadonlyArray<boolean>
}

/** Returns everything it was given, in lists and objects. */
const echo: Rule<object, object, Echo> = {
  name: "test.echo",
  run: (_, keys, now, context, calls) =>
    calls.map((call) => ({ keys, now, context, call, text: 'ü "\n', flags: [true, false] })),
  lua: `-- test.echo
local answers = {}
for i = 3, #ARGV, 2 do
  answers[#answers + 1] = {
    keys = KEYS, now = tonumber(ARGV[1]), context = cjson.decode(ARGV[2]), call = cjson.decode(ARGV[i]), text = 'ü "\\n', flags = {true, false}
  }
end
return cjson.encode(answers)
`,
  decode: (answer) => answer as Echo,
  batch: false,
}

const broken: Rule<object, object, number> = {
  name: "test.broken",
  run: () => {
    throw new Error("this rule is broken")
  },
  lua: "-- test.broken\nerror('this rule is broken')\n",
  decode: Number,
  batch: false,
}

/** Publishes twice from within a rule. */
const publishTwice: Rule<object, { readonly channel: string; readonly first: string; readonly second: string }, true> =
  {
    name: "test.shout",
    run: (db, _keys, _now, _context, calls) =>
      calls.map(({ channel, first, second }) => {
        db.publish(channel, first)
        db.publish(channel, second)
        return true
      }),
    lua: `-- test.shout
local call = cjson.decode(ARGV[3])
redis.call('PUBLISH', call.channel, call.first)
redis.call('PUBLISH', call.channel, call.second)
return '[true]'
`,
    decode: () => true,
    batch: false,
  }

/** The input of such a rule on one key. */
const asked = <Call extends object>(key: string, call: Call): Ask<object, Call> => ({
  keys: [key],
  now: 0,
  context: NO_CONTEXT,
  call,
})

/** Collects the messages of a channel in a list. */
const messagesOn = Effect.fnUntraced(function* (channel: string) {
  const store = yield* Store
  const received: Array<string> = []
  yield* store.subscribe(channel, (message) => received.push(message))
  return received
})

const arrived = (received: ReadonlyArray<string>, message: string): Effect.Effect<void> =>
  Effect.promise(() => eventually(`the message ${message}`, () => received.includes(message)))

export const storeContract = (layer: Layer.Layer<Store>): void => {
  const test = (name: string, body: () => Effect.Effect<void, unknown, Store | Scope.Scope>) =>
    it.effect(name, () => Effect.provide(body(), layer))

  test("a value that was never set is undefined", () =>
    Effect.gen(function* () {
      const store = yield* Store
      assert.isUndefined(yield* store.get(unique()))
    }))

  test("a value is read as it was set, including empty texts and any Unicode, and the last write counts", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const key = unique()
      for (const value of ["", "a\r\nb\0c", "Grüße 🌍", "x".repeat(100_000)]) {
        yield* store.set(key, value, 60_000)
        assert.strictEqual(yield* store.get(key), value)
      }
    }))

  test("a value is gone when its lifetime has passed, and each write starts a new lifetime", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const [short, long] = [unique(), unique()]
      yield* store.set(short, "1", 20)
      yield* store.set(long, "1", 20)
      yield* store.set(long, "2", 3_600_000)
      // the lifetime passes on the test's clock in memory, and on the server's own on Redis
      for (let tries = 0; tries < 5_000 && (yield* store.get(short)) !== undefined; tries++) {
        yield* TestClock.adjust(1)
        yield* TestClock.withLive(Effect.sleep(1))
      }
      assert.isUndefined(yield* store.get(short))
      assert.strictEqual(yield* store.get(long), "2")
    }))

  test("a rule gets its keys, the time, its context and its call, and returns JSON values", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const key = unique()
      const now = 1_700_000_000_123
      const context = { slots: 3, share: 0.25, channel: "vg:i:" }
      const call = { id: "1.50 ü \u2028 \0", limit: 42, holds: true, ids: ["a", 'b"'], take: { token: "" } }
      const answer = yield* store.run(echo, { keys: [`${key}a`, `${key}b`], ownKeys: [`${key}c`], now, context, call })
      const keys = [`${key}a`, `${key}b`, `${key}c`]
      assert.deepStrictEqual(answer, { keys, now, context, call, text: 'ü "\n', flags: [true, false] })
      // without keys of its own
      const shared = yield* store.run(echo, { keys: [key], now, context, call })
      assert.deepStrictEqual(shared.keys, [key])
    }))

  test("concurrent rules do not see each other's partial changes", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const key = unique()
      const replies = yield* Effect.forEach(
        Array.from({ length: 500 }, (_, i) => i),
        () => store.run(count, asked(key, { by: 2 })),
        { concurrency: "unbounded" },
      )
      assert.strictEqual(new Set(replies).size, 500)
      assert.strictEqual(yield* store.run(count, asked(key, { by: 0 })), 1000)
    }))

  test("a rule that throws fails its own run, and the store continues", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const key = unique()
      yield* store.run(count, asked(key, { by: 1 }))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(store.run(broken, asked(key, {})))))
      assert.strictEqual(yield* store.run(count, asked(key, { by: 1 })), 2)
    }))

  test("a subscriber receives its channel's messages in the order of their publication", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const channel = unique()
      const received = yield* messagesOn(channel)
      const sent = Array.from({ length: 200 }, (_, i) => `message ${i} ü`)
      yield* Effect.forEach(sent, (message) => store.publish(channel, message), { discard: true })
      yield* arrived(received, "message 199 ü")
      assert.deepStrictEqual(received, sent)
    }))

  test("all subscribers of a channel receive a message, and those of another channel do not", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const [channel, elsewhere] = [unique(), unique()]
      const first = yield* messagesOn(channel)
      const second = yield* messagesOn(channel)
      const other = yield* messagesOn(elsewhere)
      yield* store.publish(channel, "a")
      yield* store.publish(elsewhere, "b")
      yield* arrived(other, "b")
      yield* arrived(second, "a")
      assert.deepStrictEqual([first, second, other], [["a"], ["a"], ["b"]])
    }))

  test("what a rule publishes arrives in its order, and publishing without subscribers is no error", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const channel = unique()
      yield* store.run(publishTwice, asked(unique(), { channel, first: "lost", second: "lost too" }))
      const received = yield* messagesOn(channel)
      yield* store.run(publishTwice, asked(unique(), { channel, first: "one", second: "two" }))
      yield* arrived(received, "two")
      assert.deepStrictEqual(received, ["one", "two"])
    }))

  test("a subscription ends with its scope, while another one of the same channel continues", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const channel = unique()
      const staying = yield* messagesOn(channel)
      const scope = yield* Scope.make()
      const leaving = yield* Scope.provide(messagesOn(channel), scope)
      yield* store.publish(channel, "a")
      yield* arrived(leaving, "a")
      yield* Scope.close(scope, Exit.void)
      yield* store.publish(channel, "b")
      yield* arrived(staying, "b")
      assert.deepStrictEqual([staying, leaving], [["a", "b"], ["a"]])
    }))

  test("a channel can be subscribed to again after its last subscriber has gone", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const channel = unique()
      yield* Effect.scoped(messagesOn(channel))
      const received = yield* messagesOn(channel)
      yield* store.publish(channel, "a")
      yield* arrived(received, "a")
      assert.deepStrictEqual(received, ["a"])
    }))

  test("the store's time moves exactly with this process's clock", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const before = yield* store.now
      yield* TestClock.adjust(12_345)
      assert.strictEqual((yield* store.now) - before, 12_345)
      assert.isTrue(Number.isInteger(before))
    }))

  test("the store answers a ping", () => Effect.flatMap(Store, (store) => store.ping))
}
