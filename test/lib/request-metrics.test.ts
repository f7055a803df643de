/** How long requests to other services take is recorded, however they end. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Metric } from "effect"
import { TestClock } from "effect/testing"
import { addressLookup, recorded } from "../../src/lib/request-metrics.ts"

describe("the time of a request", () => {
  it.effect("is recorded in seconds, also when the request fails", () =>
    Effect.gen(function* () {
      for (const [seconds, request] of [
        [2, Effect.void],
        [3, Effect.fail("unreachable")],
      ] as const) {
        const asked = yield* Effect.forkChild(
          Effect.exit(recorded(addressLookup)(Effect.delay(request, `${seconds} seconds`))),
        )
        yield* TestClock.adjust(`${seconds} seconds`)
        yield* Fiber.join(asked)
      }
      const { count, sum } = yield* Metric.value(addressLookup)
      assert.deepStrictEqual([count, sum], [2, 5])
      // other files of this process count too
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map())),
  )
})
