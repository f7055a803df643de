/** A command that a replica refused is sent again to the primary; the wait in between is not part of the command's time. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, Metric } from "effect"
import { TestClock } from "effect/testing"
import { Redis } from "ioredis"
import { makeCommands } from "../../../src/store/redis/commands.ts"
import type { VerifiedConnection } from "../../../src/store/redis/connection.ts"
import { redisServer } from "../../harness/redis.ts"
import { add, adding } from "./support.ts"

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
      const connection: VerifiedConnection = {
        client,
        isOpen: () => true,
        closedBecause: () => "",
        isDemotion: ({ message }) => message.includes("READONLY"),
        dropAfter: () => {},
        reconnected: () => {
          waits++
          return Effect.andThen(
            TestClock.adjust("1500 millis"),
            Effect.promise(() => server.command("replicaof", "no", "one")),
          )
        },
        deadline: () => undefined,
        measure: Effect.void,
        loadScripts: () => {},
        problem: () => "",
        describe: (error) => ({ refused: false, kind: "OTHER", message: String(error) }),
        openListener: () => client,
        onListenerError: () => {},
        onPrimaryChange: () => {},
        connected: Effect.void,
        now: Effect.succeed(0),
      }
      const commands = yield* makeCommands(connection)
      yield* command === "SET" ? commands.set("vg:v", "1", 60_000) : commands.run(add, adding("a"))
      assert.strictEqual(waits, 1)
      const [series] = yield* seriesOf(command)
      // the refused attempt and the second one; the test's clock stands still while they run
      assert.deepInclude(series, { count: 2, sum: 0, max: 0 })
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()), Effect.provide(Logger.layer([]))),
  )
})
