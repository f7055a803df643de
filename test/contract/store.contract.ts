/** What every store promises. Keys and channels are of one test each, because the tests of a store share its data. */
import { randomUUID } from "node:crypto"
import { assert, it } from "@effect/vitest"
import { Effect, Exit, type Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { type Script, Store } from "../../src/Store.ts"
import { eventually } from "../support/process.ts"

const unique = (): string => `test:{${randomUUID()}}`

/** Reads, waits for nobody, writes: two at once lose a count unless each runs alone. */
const count: Script = {
  name: "test.count",
  numberOfKeys: 1,
  lua: `-- test.count
local n = tonumber(redis.call('HGET', KEYS[1], 'n') or '0') + tonumber(ARGV[1])
redis.call('HSET', KEYS[1], 'n', n)
return n
`,
  memory: (db, [key = ""], [by = "0"]) => {
    const n = Number(db.hget(key, "n") ?? "0") + Number(by)
    db.hset(key, "n", String(n))
    return n
  },
}

/** Answers its keys and arguments in nested lists. */
const echo: Script = {
  name: "test.echo",
  numberOfKeys: 2,
  lua: "-- test.echo\nreturn {{KEYS[1], KEYS[2]}, {ARGV[1], ARGV[2], {}}, 7}\n",
  memory: (_, [a = "", b = ""], [c = "", d = ""]) => [[a, b], [c, d, []], 7],
}

const broken: Script = {
  name: "test.broken",
  numberOfKeys: 1,
  lua: "-- test.broken\nerror('this script is broken')\n",
  memory: () => {
    throw new Error("this script is broken")
  },
}

/** Publishes from within a script, twice. */
const shout: Script = {
  name: "test.shout",
  numberOfKeys: 1,
  lua: "-- test.shout\nredis.call('PUBLISH', ARGV[1], ARGV[2])\nredis.call('PUBLISH', ARGV[1], ARGV[3])\nreturn 0\n",
  memory: (db, _, [channel = "", first = "", second = ""]) => {
    db.publish(channel, first)
    db.publish(channel, second)
    return 0
  },
}

/** Subscribes a list to a channel. */
const heardOn = Effect.fnUntraced(function* (channel: string) {
  const store = yield* Store
  const heard: Array<string> = []
  yield* store.subscribe(channel, (message) => heard.push(message))
  return heard
})

const arrived = (heard: ReadonlyArray<string>, message: string): Effect.Effect<void> =>
  Effect.promise(() => eventually(`the message ${message}`, () => heard.includes(message)))

export const storeContract = (layer: Layer.Layer<Store>): void => {
  const test = (name: string, body: () => Effect.Effect<void, unknown, Store | Scope.Scope>) =>
    it.effect(name, () => Effect.provide(body(), layer))

  test("a value that was never set is undefined", () =>
    Effect.gen(function* () {
      const store = yield* Store
      assert.isUndefined(yield* store.get(unique()))
    }))

  test("a value is read as it was set, empty and any Unicode included, and the last one counts", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const key = unique()
      for (const value of ["", "a\r\nb\0c", "Grüße 🌍", "x".repeat(100_000)]) {
        yield* store.set(key, value, 60_000)
        assert.strictEqual(yield* store.get(key), value)
      }
    }))

  test("a value is gone when its lifetime has passed, and each setting starts a new lifetime", () =>
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

  test("a script gets its keys and arguments in order, and answers nested lists of strings and integers", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const key = unique()
      const reply = yield* store.run(echo, [`${key}a`, `${key}b`], ["1.50 ü", 42])
      assert.deepStrictEqual(reply, [[`${key}a`, `${key}b`], ["1.50 ü", "42", []], 7])
    }))

  test("scripts that run at the same time do not see each other half done", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const key = unique()
      const replies = yield* Effect.forEach(
        Array.from({ length: 500 }, (_, i) => i),
        () => store.run(count, [key], [2]),
        { concurrency: "unbounded" },
      )
      assert.strictEqual(new Set(replies).size, 500)
      assert.strictEqual(yield* store.run(count, [key], [0]), 1000)
    }))

  test("a script that throws fails its own run, and the store goes on", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const key = unique()
      yield* store.run(count, [key], [1])
      assert.isTrue(Exit.isFailure(yield* Effect.exit(store.run(broken, [key], []))))
      assert.strictEqual(yield* store.run(count, [key], [1]), 2)
    }))

  test("a subscriber hears its channel's messages in the order of their publication", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const channel = unique()
      const heard = yield* heardOn(channel)
      const sent = Array.from({ length: 200 }, (_, i) => `message ${i} ü`)
      yield* Effect.forEach(sent, (message) => store.publish(channel, message), { discard: true })
      yield* arrived(heard, "message 199 ü")
      assert.deepStrictEqual(heard, sent)
    }))

  test("all subscribers of a channel hear a message, and those of another channel do not", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const [channel, elsewhere] = [unique(), unique()]
      const first = yield* heardOn(channel)
      const second = yield* heardOn(channel)
      const other = yield* heardOn(elsewhere)
      yield* store.publish(channel, "a")
      yield* store.publish(elsewhere, "b")
      yield* arrived(other, "b")
      yield* arrived(second, "a")
      assert.deepStrictEqual([first, second, other], [["a"], ["a"], ["b"]])
    }))

  test("what a script publishes is heard in its order, and publishing to nobody is no error", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const channel = unique()
      yield* store.run(shout, [unique()], [channel, "lost", "lost too"])
      const heard = yield* heardOn(channel)
      yield* store.run(shout, [unique()], [channel, "one", "two"])
      yield* arrived(heard, "two")
      assert.deepStrictEqual(heard, ["one", "two"])
    }))

  test("a subscription ends with its scope, while another one of the same channel goes on", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const channel = unique()
      const staying = yield* heardOn(channel)
      const scope = yield* Scope.make()
      const leaving = yield* Scope.provide(heardOn(channel), scope)
      yield* store.publish(channel, "a")
      yield* arrived(leaving, "a")
      yield* Scope.close(scope, Exit.void)
      yield* store.publish(channel, "b")
      yield* arrived(staying, "b")
      assert.deepStrictEqual([staying, leaving], [["a", "b"], ["a"]])
    }))

  test("a channel can be subscribed again after its last subscriber has gone", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const channel = unique()
      yield* Effect.scoped(heardOn(channel))
      const heard = yield* heardOn(channel)
      yield* store.publish(channel, "a")
      yield* arrived(heard, "a")
      assert.deepStrictEqual(heard, ["a"])
    }))

  test("its time moves exactly with this process's clock", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const before = yield* store.now
      yield* TestClock.adjust(12_345)
      assert.strictEqual((yield* store.now) - before, 12_345)
      assert.isTrue(Number.isInteger(before))
    }))

  test("it answers a ping", () => Effect.flatMap(Store, (store) => store.ping))
}
