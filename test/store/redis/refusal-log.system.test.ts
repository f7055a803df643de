/** A Redis that is reachable but refuses commands: the store is not ready, and the log says what to do. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { layer } from "../../../src/store/redis/layer.ts"
import { Store } from "../../../src/store/Store.ts"
import { eventually } from "../../harness/process.ts"
import { redisServer } from "../../harness/redis.ts"
import { answering, connectionTo } from "../../harness/stores.ts"
import { add, adding, KEY } from "./support.ts"

type Command = ReadonlyArray<string>

interface Fault {
  readonly kind: string
  readonly begin: Command
  readonly end: Command
  readonly advice: RegExp
  /** whether every write is refused */
  readonly total: boolean
}

const FAULTS: ReadonlyArray<Fault> = [
  {
    kind: "OOM",
    begin: ["config", "set", "maxmemory", "1"],
    end: ["config", "set", "maxmemory", "0"],
    advice: /memory is full .*raise its maxmemory/,
    total: true,
  },
  {
    kind: "NOREPLICAS",
    begin: ["config", "set", "min-replicas-to-write", "1"],
    end: ["config", "set", "min-replicas-to-write", "0"],
    advice: /fewer replicas .*restore them/,
    total: true,
  },
  {
    kind: "NOPERM",
    begin: ["acl", "setuser", "default", "resetkeys", "~other:*"],
    end: ["acl", "setuser", "default", "~*"],
    advice: /all commands on keys and channels that begin with vg:/,
    total: true,
  },
  {
    kind: "WRONGTYPE",
    begin: ["set", KEY, "a text"],
    end: ["del", KEY],
    advice: /wrong type of value .*delete the key/,
    total: false,
  },
]

/** Advances the test clock by a second per check until the condition holds. */
const advanceUntil = Effect.fnUntraced(function* (what: string, condition: () => boolean) {
  for (let checks = 0; checks < 500; checks++) {
    if (condition()) return
    yield* TestClock.adjust("1 second")
    yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 10)))
  }
  return yield* Effect.die(new Error(`${what} did not come`))
})

describe("a Redis that refuses to write", () => {
  it.effect.each(FAULTS)("is logged when it starts, once a minute and when it ends: $kind", (fault) => {
    const lines: Array<string> = []
    const logger = Logger.make<unknown, void>(({ message }) => void lines.push(String(message)))
    const refusals = () => lines.filter((line) => line.includes("refuses commands"))
    return Effect.gen(function* () {
      const server = yield* redisServer()
      const store = yield* Effect.flatMap(Layer.build(layer(connectionTo(server.url))), (built) =>
        Effect.provide(Store, built),
      )
      yield* answering(store)
      const write = store.run(add, adding("a-secret-argument"))
      yield* write
      yield* Effect.promise(() => server.command("del", KEY))

      yield* Effect.promise(() => server.command(...fault.begin))
      for (let n = 0; n < 3; n++) assert.isTrue(Exit.isFailure(yield* Effect.exit(write)))
      assert.strictEqual(Exit.isFailure(yield* Effect.exit(store.ping)), fault.total)
      yield* Effect.promise(() => eventually("the first line", () => refusals().length > 0))
      assert.lengthOf(refusals(), 1)
      assert.include(refusals()[0], "test.add")
      assert.match(refusals()[0] ?? "", fault.advice)

      yield* TestClock.adjust("1 minute")
      assert.match(refusals()[1] ?? "", new RegExp(`still refuses .*${fault.kind}.*: ${fault.total ? 3 : 2} more`))

      yield* Effect.promise(() => server.command(...fault.end))
      yield* write
      yield* store.ping
      yield* TestClock.adjust("1 minute")
      assert.lengthOf(refusals(), 3)
      assert.match(refusals().at(-1) ?? "", new RegExp(`no longer refuses .*${fault.kind}`))
      yield* TestClock.adjust("10 minutes")
      assert.lengthOf(refusals(), 3)
      assert.notInclude(lines.join("\n"), "a-secret-argument")
    }).pipe(Effect.provide(Logger.layer([logger])))
  })

  it.effect("is logged when it becomes a replica, once a minute and when it is a primary again", () => {
    const lines: Array<string> = []
    const logger = Logger.make<unknown, void>(({ message }) => void lines.push(String(message)))
    const complaints = () => lines.filter((line) => line.includes("READONLY"))
    // the last line may be one of the listener, which notices later that messages arrive again
    const connections = () => lines.filter((line) => line.startsWith("The store is connected"))
    return Effect.gen(function* () {
      const server = yield* redisServer()
      const store = yield* Effect.flatMap(Layer.build(layer(connectionTo(server.url))), (built) =>
        Effect.provide(Store, built),
      )
      yield* answering(store)
      yield* Effect.promise(() => server.command("replicaof", "127.0.0.1", "1"))
      const write = yield* Effect.forkChild(Effect.exit(store.run(add, adding("a"))))
      yield* advanceUntil("the line", () => complaints().length > 0)
      // the write waits this long for a primary
      yield* TestClock.adjust("2 seconds")
      assert.isTrue(Exit.isFailure(yield* Fiber.join(write)))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(store.ping)))
      assert.match(complaints()[0] ?? "", /accepts no writes .*name the primary/)
      const began = yield* Clock.currentTimeMillis
      yield* advanceUntil("the line of a minute later", () => complaints().length > 1)
      assert.isAtLeast((yield* Clock.currentTimeMillis) - began, 55_000)
      assert.lengthOf(connections(), 1)
      yield* Effect.promise(() => server.command("replicaof", "no", "one"))
      yield* advanceUntil("the connection", () => connections().length > 1)
      yield* store.run(add, adding("b"))
    }).pipe(Effect.provide(Logger.layer([logger])))
  })
})
