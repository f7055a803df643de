/** A key prefix in the connection string: what it keeps apart on one Redis, and which permissions it needs. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted, type Scope } from "effect"
import { checkStore } from "../../../src/cli/check/store.ts"
import { layer } from "../../../src/store/redis/layer.ts"
import { StoreRefused } from "../../../src/store/redis/problems.ts"
import { eventually } from "../../harness/process.ts"
import { type RedisServer, startRedis } from "../../harness/redis.ts"
import { answering, connectionTo } from "../../harness/stores.ts"
import { count, on, opened } from "./support.ts"

const live = (name: string, body: () => Effect.Effect<void, unknown, Scope.Scope>) =>
  it.live(name, () => Effect.provide(body(), Logger.layer([])))

describe("the store with a key prefix", () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startRedis()
    await server.command(
      "acl",
      "setuser",
      "app",
      "on",
      ">app-pass-word",
      "~app:vg:*",
      "&app:vg:*",
      "+@all",
      "-@dangerous",
    )
    await server.command("acl", "setuser", "bare", "on", ">app-pass-word", "~vg:*", "&vg:*", "+@all", "-@dangerous")
  })
  afterAll(() => server.dispose())
  const at = (prefix: string, access = "") => `redis://${access}127.0.0.1:${server.port}?keyPrefix=${prefix}`

  live("keeps values, steps and messages apart from those of another prefix and of none", () =>
    Effect.gen(function* () {
      const plain = yield* opened(server.url)
      const one = yield* opened(at("one:"))
      const again = yield* opened(at("one:"))
      const two = yield* opened(at("two:"))
      assert.strictEqual(yield* one.run(count, on("vg:{k}")), 1)
      assert.strictEqual(yield* again.run(count, on("vg:{k}")), 2)
      assert.strictEqual(yield* two.run(count, on("vg:{k}")), 1)
      yield* one.set("vg:v", "of one", 60_000)
      assert.strictEqual(yield* again.get("vg:v"), "of one")
      assert.strictEqual(yield* two.get("vg:v"), undefined)
      assert.strictEqual(yield* plain.get("vg:v"), undefined)

      const heard: Array<string> = []
      for (const [name, store] of [
        ["plain", plain],
        ["one", one],
        ["again", again],
        ["two", two],
      ] as const) {
        yield* store.subscribe("vg:c", (message) => void heard.push(`${name}: ${message}`))
      }
      yield* two.publish("vg:c", "from two")
      yield* plain.publish("vg:c", "from none")
      yield* one.publish("vg:c", "from one")
      yield* Effect.promise(() => eventually("the messages", () => heard.length >= 4))
      assert.sameMembers(heard, ["two: from two", "plain: from none", "one: from one", "again: from one"])
    }),
  )

  live("passes the check, and starts, with a user who may use the prefix alone", () =>
    Effect.gen(function* () {
      const url = at("app:", "app:app-pass-word@")
      const checked = yield* checkStore({ StoreConnectionString: Redacted.make(url) }, layer(connectionTo(url)))
      assert.strictEqual(
        checked.message,
        "Redis (redis) answers, accepts password, user and database, runs a rule, and delivers messages",
      )
      assert.strictEqual(checked.status, "ok")
      const store = yield* opened(url)
      yield* answering(store)
      yield* store.check ?? Effect.die("the store on Redis has a check")
    }),
  )

  live("names the permissions that it needs with its prefix, where the user has those without", () =>
    Effect.gen(function* () {
      const url = at("app:", "bare:app-pass-word@")
      const checked = yield* checkStore({ StoreConnectionString: Redacted.make(url) }, layer(connectionTo(url)))
      assert.strictEqual(checked.status, "failed")
      assert.include(checked.message, "begin with app:vg: (NOPERM)")
      assert.include(checked.message, "give it ~app:vg:* &app:vg:* +@all -@dangerous +info +role")
      const refusal = yield* Effect.flip(Effect.scoped(Layer.build(layer(connectionTo(url)))))
      assert.instanceOf(refusal, StoreRefused)
      assert.include(refusal.message, "~app:vg:* &app:vg:*")
    }),
  )
})
