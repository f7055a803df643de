/**
 * The commands of the Redis store over one client. A command that a replica refused is sent again to the primary; the wait in between is
 * not part of the command's time. A rule is sent with its text on each connection.
 */
import { once } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Logger, Metric } from "effect"
import { TestClock } from "effect/testing"
import { Redis } from "ioredis"
import { redisServer } from "../../scripts/harness/redis.ts"
import { makeCommands } from "../../src/store/redis-commands.ts"
import type { VerifiedConnection } from "../../src/store/redis-connection.ts"
import { add, adding, count, on } from "./redis-support.ts"

/** The series of a command in the histogram of the store's commands. */
const seriesOf = (command: string) =>
  Effect.map(Metric.snapshot, (all) =>
    all.flatMap((metric) =>
      metric.id === "voicegate_store_command_seconds" &&
      metric.type === "Histogram" &&
      metric.attributes?.command === command
        ? [metric.state]
        : [],
    ),
  )

const connectionOf = (client: Redis, changes: Partial<VerifiedConnection> = {}): VerifiedConnection => ({
  client,
  isOpen: () => true,
  closedBecause: () => "",
  isDemotion: ({ message }) => message.includes("READONLY"),
  dropAfter: () => {},
  reconnected: () => Effect.void,
  describe: (error) => ({ refused: false, kind: "OTHER", message: String(error) }),
  openListener: () => client,
  onListenerError: () => {},
  onPrimaryChange: () => {},
  connected: Effect.void,
  now: Effect.succeed(0),
  ...changes,
})

describe("a command that a replica refused", () => {
  it.effect.each(["test.add", "SET"])("is measured alone, without the wait for the primary: %s", (command) =>
    Effect.gen(function* () {
      const server = yield* redisServer()
      yield* Effect.promise(() => server.command("replicaof", "127.0.0.1", "1"))
      const client = yield* Effect.acquireRelease(
        Effect.sync(() => new Redis(server.url)),
        (each) => Effect.sync(() => each.disconnect()),
      )
      let waits = 0
      const reconnected = (): Effect.Effect<void> => {
        waits++
        return Effect.andThen(
          TestClock.adjust("1500 millis"),
          Effect.promise(() => server.command("replicaof", "no", "one")),
        )
      }
      const commands = yield* makeCommands(connectionOf(client, { reconnected }))
      yield* command === "SET" ? commands.set("vg:v", "1", 60_000) : commands.run(add, adding("a"))
      assert.strictEqual(waits, 1)
      const [series] = yield* seriesOf(command)
      // the refused attempt and the second one; the test's clock stands still while they run
      assert.deepInclude(series, { count: 2, sum: 0, max: 0 })
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()), Effect.provide(Logger.layer([]))),
  )
})

describe("a rule that was sent while there was no connection", () => {
  it.effect("is sent with its text on the next one", () =>
    Effect.gen(function* () {
      const server = yield* redisServer()
      const client = yield* Effect.acquireRelease(
        Effect.sync(() => new Redis(server.url, { enableOfflineQueue: false, retryStrategy: () => 500 })),
        (each) => Effect.sync(() => each.disconnect()),
      )
      const happens = (event: string) => Effect.promise(() => once(client, event))
      yield* happens("ready")
      const commands = yield* makeCommands(connectionOf(client))
      assert.strictEqual(yield* commands.run(count, on("k")), 1)
      client.disconnect(true)
      yield* happens("close")
      const failed = yield* Effect.exit(commands.run(count, on("k")))
      assert.isTrue(Exit.isFailure(failed))
      yield* happens("ready")
      yield* Effect.promise(() => server.command("script", "flush"))
      assert.strictEqual(yield* commands.run(count, on("k")), 2)
      assert.notInclude(yield* Effect.promise(() => server.command("info", "errorstats")), "NOSCRIPT")
    }).pipe(Effect.provide(Logger.layer([]))),
  )
})
