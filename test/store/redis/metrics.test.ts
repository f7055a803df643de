/** How long commands of the store take is counted by command, and shown with the other metrics. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Metric } from "effect"
import { TestClock } from "effect/testing"
import { makeTimer } from "../../../src/store/redis/metrics.ts"

const NAME = "voicegate_store_command_seconds"

/** The series of the store's commands, by command. */
const histograms = Effect.map(Metric.snapshot, (all) =>
  Object.fromEntries(
    all.flatMap(({ attributes, id, ...metric }) =>
      id === NAME && metric.type === "Histogram" ? [[attributes?.command ?? "", metric.state]] : [],
    ),
  ),
)

const timer = Effect.gen(function* () {
  return makeTimer(yield* Effect.context<never>(), yield* Clock.Clock)
})

describe("the time of a command of the store", () => {
  it.effect("is counted in its bucket, whether it succeeds or fails, and passed on", () =>
    Effect.gen(function* () {
      const timed = yield* timer
      const answers: Array<unknown> = []
      for (const millis of [0.2, 3, 10_000]) {
        const done = timed("queue.admit", (error, answer) => answers.push(error?.message ?? answer))
        yield* TestClock.adjust(millis)
        if (millis === 3) done(new Error("refused"))
        else done(undefined, millis)
      }
      assert.deepStrictEqual(answers, [0.2, "refused", 10_000])
      const state = (yield* histograms)["queue.admit"]
      assert(state !== undefined)
      assert.closeTo(state.sum, 10.0032, 1e-9)
      assert.deepInclude(state, { count: 3, min: 0.0002, max: 10 })
      assert.deepStrictEqual(
        state.buckets.map(([, count]) => count),
        [1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2],
      )
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map())),
  )

  it.effect("is one series a command, also with several stores", () =>
    Effect.gen(function* () {
      const one = yield* timer
      const two = yield* timer
      for (const timed of [one, two, one]) timed("GET", () => {})(undefined)
      one("SET", () => {})(undefined)
      const counts = Object.entries(yield* histograms).map(([command, { count }]) => [command, count])
      assert.sameDeepMembers(counts, [
        ["GET", 3],
        ["SET", 1],
      ])
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map())),
  )
})
