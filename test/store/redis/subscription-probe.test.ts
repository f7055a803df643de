/** The probe of a subscription: when it detects silence, and when it does not. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { DETECTION_MILLIS, makeProbe, PROBE_MILLIS } from "../../../src/store/redis/subscription-probe.ts"

type Way = "arrives" | "silent" | "nobody" | "unpublished"

const begin = Effect.fnUntraced(function* () {
  const seen = { way: "arrives" as Way, published: 0, renewed: 0, changes: [] as boolean[], connection: 1 }
  const probe = makeProbe({
    connection: () => seen.connection,
    publish: (message) =>
      Effect.suspend(() => {
        if (seen.way === "unpublished") return Effect.fail("the store is away")
        seen.published++
        if (seen.way === "arrives") probe.received(message)
        return Effect.succeed(seen.way !== "nobody")
      }),
    renew: Effect.sync(() => void seen.renewed++),
    onChange: (listens) => Effect.sync(() => void seen.changes.push(listens)),
  })
  yield* Effect.forkScoped(probe.run)
  return { probe, seen }
})

describe("the probe of a subscription", () => {
  it.effect("publishes once a second and does not renew the connection while its messages return", () =>
    Effect.gen(function* () {
      const { seen } = yield* begin()
      yield* TestClock.adjust(60 * PROBE_MILLIS)
      assert.deepInclude(seen, { published: 60, renewed: 0, changes: [] })
    }),
  )

  it.effect("renews a silent subscription within the stated time, and reports it once", () =>
    Effect.gen(function* () {
      const { seen } = yield* begin()
      yield* TestClock.adjust(10 * PROBE_MILLIS)
      seen.way = "silent"
      yield* TestClock.adjust(DETECTION_MILLIS - 1)
      assert.strictEqual(seen.renewed, 0)
      yield* TestClock.adjust(1)
      assert.deepInclude(seen, { renewed: 1, changes: [false] })
      seen.way = "arrives"
      yield* TestClock.adjust(PROBE_MILLIS)
      assert.deepInclude(seen, { renewed: 1, changes: [false, true] })
    }),
  )

  it.effect("renews at once when the server reports no subscriber, and nothing is read of a closed connection", () =>
    Effect.gen(function* () {
      const { seen } = yield* begin()
      seen.way = "nobody"
      yield* TestClock.adjust(PROBE_MILLIS + 50)
      assert.deepInclude(seen, { renewed: 1, changes: [false] })
    }),
  )

  for (const way of ["nobody", "silent"] as const) {
    it.effect(`draws no conclusion from a message whose connection was replaced meanwhile (${way})`, () =>
      Effect.gen(function* () {
        const { seen } = yield* begin()
        seen.way = way
        yield* TestClock.adjust(PROBE_MILLIS)
        seen.connection++
        yield* TestClock.adjust(49)
        seen.way = "arrives"
        yield* TestClock.adjust(10 * PROBE_MILLIS)
        assert.deepInclude(seen, { renewed: 0, changes: [] })
      }),
    )
  }

  it.effect("reports connections that are replaced again and again before a message arrives", () =>
    Effect.gen(function* () {
      const { seen } = yield* begin()
      seen.way = "silent"
      for (let n = 0; n < 100; n++) {
        seen.connection++
        yield* TestClock.adjust(100)
      }
      assert.deepStrictEqual(seen.changes, [false])
    }),
  )

  it.effect("doubles the timeout for each further connection, so that a slow one can be established", () =>
    Effect.gen(function* () {
      const { seen } = yield* begin()
      seen.way = "silent"
      const renewals: Array<number> = []
      for (let second = 1; second <= 30; second++) {
        const before = seen.renewed
        yield* TestClock.adjust(1_000)
        if (seen.renewed > before) renewals.push(second)
      }
      assert.deepStrictEqual(renewals, [3, 7, 13, 19, 25])
      assert.deepStrictEqual(seen.changes, [false])
    }),
  )

  it.effect("draws no conclusion when it cannot publish", () =>
    Effect.gen(function* () {
      const { seen } = yield* begin()
      seen.way = "unpublished"
      yield* TestClock.adjust(60 * PROBE_MILLIS)
      assert.deepInclude(seen, { renewed: 0, changes: [] })
    }),
  )

  it.effect("reads messages that arrived while the process was suspended before it decides", () =>
    Effect.gen(function* () {
      const { probe, seen } = yield* begin()
      seen.way = "silent"
      yield* TestClock.adjust(DETECTION_MILLIS - 1)
      // the timer runs before the message is read
      probe.received("1")
      yield* TestClock.adjust(1)
      assert.deepInclude(seen, { renewed: 0, changes: [] })
    }),
  )
})
