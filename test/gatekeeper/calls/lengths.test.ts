/** `MaxCallSeconds`: the time limit of a call, from its start to its end at the platform. */
import { describe, expect } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import * as metrics from "../../../src/gatekeeper/metrics.ts"
import { begin, caller, enqueue, eventsOf, gateTest, hangUp, platformIsAway, stateOf } from "../../support/gate.ts"
import { iso } from "../ticket-support.ts"

const limited = { VoiceAiPlatform: { MaxCallSeconds: 300 } }

const statusOf = (ticket: string) => Gatekeeper.use((gate) => gate.status(ticket))
const tooLong = Effect.map(Metric.value(metrics.over("default", "too_long")), ({ count }) => count)
const overrun = Effect.map(Metric.value(metrics.overrun.of("default")), ({ count }) => count)

describe("a call with a time limit", () => {
  gateTest("is told when it ends, warned of a minute and ten seconds before, and ended then", limited, (world) =>
    Effect.gen(function* () {
      world.end = () => Effect.succeed(true)
      const before = yield* tooLong
      const call = yield* begin()
      const ticket = call.uniqueRequestId
      expect(call.endsAt).toBe(iso(300_000))
      expect(world.initiated[0]).toMatchObject({ callSeconds: 300 })
      const next = yield* enqueue(caller(1))
      world.connected.add(ticket)
      world.connected.add(next)
      yield* TestClock.adjust("239 seconds")
      expect(yield* statusOf(ticket)).toMatchObject({ state: "live", endsAt: iso(300_000) })
      expect(yield* statusOf(ticket)).not.toHaveProperty("warning")
      expect(eventsOf(world, ticket)).toEqual([])
      yield* TestClock.adjust("2 seconds")
      const warning = { type: "warning", reason: "length", endsAt: iso(300_000) }
      expect(eventsOf(world, ticket)).toEqual([warning])
      expect(yield* statusOf(ticket)).toMatchObject({ warning: { reason: "length", endsAt: iso(300_000) } })
      yield* TestClock.adjust("48 seconds")
      expect(eventsOf(world, ticket)).toEqual([warning])
      yield* TestClock.adjust("2 seconds")
      expect(eventsOf(world, ticket)).toEqual([warning, warning])
      yield* TestClock.adjust("8 seconds")
      expect(world.endings).toEqual([])
      yield* TestClock.adjust("2 seconds")
      expect(world.endings).toEqual(["web-1"])
      expect(yield* stateOf(ticket)).toBe("too_long")
      expect(eventsOf(world, ticket)[2]).toEqual({
        type: "ended",
        reason: "too_long",
        message: "The call reached its time limit.",
      })
      expect(yield* stateOf(next)).toBe("called")
      expect(yield* tooLong).toBe(before + 1)
    }),
  )

  gateTest("ends earlier where the caller's identity says so, and not later", limited, (world) =>
    Effect.gen(function* () {
      for (const [index, [callSeconds, seconds]] of (
        [
          [120, 120],
          [900, 300],
        ] as const
      ).entries()) {
        const identity = { subject: `caller-${index}`, limits: { callSeconds } }
        const started = yield* Gatekeeper.use((gate) => gate.request({}, { address: caller(index), identity }))
        expect(started.endsAt).toBe(iso(seconds * 1_000))
        expect(world.initiated[index]).toMatchObject({ callSeconds: seconds })
        yield* hangUp(started.sessionId)
      }
    }),
  )

  gateTest(
    "of a platform that does not confirm the end is asked for again, and what it runs over is counted",
    limited,
    (world) =>
      Effect.gen(function* () {
        const answers = [Effect.fail(platformIsAway), Effect.succeed(false), Effect.succeed(true)]
        world.end = () => answers.shift() ?? Effect.die("asked too often")
        const before = yield* overrun
        const { uniqueRequestId } = yield* begin()
        yield* TestClock.adjust("302 seconds")
        expect(answers.length).toBe(2)
        yield* TestClock.adjust("45 seconds")
        expect(answers).toEqual([])
        expect(yield* stateOf(uniqueRequestId)).toBe("too_long")
        expect(yield* overrun).toBeGreaterThanOrEqual(before + 40)
      }),
  )

  gateTest("also ends at a platform that limits its calls itself, which is told the limit", limited, (world) =>
    Effect.gen(function* () {
      world.end = () => Effect.succeed(true)
      world.limitsCalls = true
      const { uniqueRequestId } = yield* begin()
      yield* TestClock.adjust("302 seconds")
      expect(yield* stateOf(uniqueRequestId)).toBe("too_long")
    }),
  )

  gateTest(
    "of a platform that the gate cannot ask is warned of, and left to its page and the vendor",
    limited,
    (world) =>
      Effect.gen(function* () {
        world.lengthControl = "unbounded"
        const { endsAt, uniqueRequestId } = yield* begin()
        expect(endsAt).toBe(iso(300_000))
        world.connected.add(uniqueRequestId)
        yield* TestClock.adjust("302 seconds")
        expect(eventsOf(world, uniqueRequestId)).toMatchObject([{ type: "warning" }, { type: "warning" }])
        expect(world.endings).toEqual([])
        expect(yield* stateOf(uniqueRequestId)).toBe("live")
        yield* hangUp("web-1")
        expect(yield* stateOf(uniqueRequestId)).toBe("too_long")
      }),
  )

  gateTest("ends before as any other, and nothing is due afterwards", limited, (world) =>
    Effect.gen(function* () {
      world.end = () => Effect.succeed(true)
      const { uniqueRequestId } = yield* begin()
      yield* TestClock.adjust("100 seconds")
      yield* hangUp("web-1")
      expect(yield* stateOf(uniqueRequestId)).toBe("ended")
      yield* TestClock.adjust("300 seconds")
      expect(world.endings).toEqual([])
    }),
  )

  gateTest("has none without the setting, and its page and platform are told of none", {}, (world) =>
    Effect.gen(function* () {
      world.end = () => Effect.succeed(true)
      const call = yield* begin()
      expect(call).not.toHaveProperty("endsAt")
      expect(world.initiated[0]).not.toHaveProperty("callSeconds")
      yield* TestClock.adjust("28 minutes")
      expect(world.endings).toEqual([])
    }),
  )
})
