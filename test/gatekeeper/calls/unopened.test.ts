/** `Queue.OpenSeconds`: a session that nobody opens does not hold its slot until the longest call is over. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { begin, caller, enqueue, gateTest, platformIsAway, stateOf } from "../../support/gate.ts"

const given = { Queue: { OpenSeconds: 20 } } as const

describe("a session that nobody opens", () => {
  gateTest("is ended at the platform after OpenSeconds, and its slot goes to the next", given, (world) =>
    Effect.gen(function* () {
      world.end = () => Effect.succeed(true)
      world.opened = () => false
      const first = yield* begin()
      const second = yield* enqueue(caller(1))
      yield* TestClock.adjust("19 seconds")
      expect(yield* stateOf(first.uniqueRequestId)).toBe("live")
      expect(yield* stateOf(second)).toBe("waiting")
      // both tasks run every 5 s
      yield* TestClock.adjust("11 seconds")
      expect(world.endings).toEqual(["web-1"])
      expect(yield* stateOf(first.uniqueRequestId)).toBe("missed")
      expect(yield* stateOf(second)).toBe("called")
    }),
  )

  gateTest("keeps its slot while the platform gives no answer, or does not confirm the end", given, (world) =>
    Effect.gen(function* () {
      world.end = () => Effect.succeed(false)
      world.opened = () => false
      world.sessionStatus = () => Effect.fail(platformIsAway)
      const first = yield* begin()
      yield* TestClock.adjust("40 seconds")
      expect(world.endings).toEqual([])
      world.sessionStatus = () => Effect.succeed("running")
      yield* TestClock.adjust("60 seconds")
      expect(world.endings.length).toBeGreaterThan(1)
      expect(yield* stateOf(first.uniqueRequestId)).toBe("live")
      world.end = () => Effect.succeed(true)
      yield* TestClock.adjust("30 seconds")
      expect(yield* stateOf(first.uniqueRequestId)).toBe("missed")
    }),
  )

  gateTest("is not ended if it was opened in time, or where the platform does not tell", given, (world) =>
    Effect.gen(function* () {
      world.end = () => Effect.succeed(true)
      let asked = 0
      world.sessionStatus = () =>
        Effect.sync(() => {
          asked++
          return "running" as const
        })
      for (const opened of [true, undefined]) {
        world.opened = () => opened
        asked = 0
        const { uniqueRequestId } = yield* begin()
        yield* TestClock.adjust("100 seconds")
        expect(asked).toBe(1)
        expect(yield* stateOf(uniqueRequestId)).toBe("live")
        yield* TestClock.adjust("31 minutes")
      }
    }),
  )

  gateTest("is not looked at by default", {}, (world) =>
    Effect.gen(function* () {
      world.end = () => Effect.succeed(true)
      world.opened = () => false
      const { uniqueRequestId } = yield* begin()
      yield* TestClock.adjust("2 minutes")
      expect(world.endings).toEqual([])
      expect(yield* stateOf(uniqueRequestId)).toBe("live")
    }),
  )
})
