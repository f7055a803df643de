/** `SilenceSeconds`: what the gate does with what pages report of their calls. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { TestClock } from "effect/testing"
import { TICK_MILLIS } from "../../../src/fifo-queue/FifoQueue.ts"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import * as metrics from "../../../src/gatekeeper/metrics.ts"
import {
  BEGIN,
  begin,
  caller,
  enqueue,
  eventsOf,
  gateLayer,
  gateTest,
  hangUp,
  makeWorld,
  platformIsAway,
  stateOf,
} from "../../support/gate.ts"
import { iso } from "../ticket-support.ts"

const limited = { VoiceAiPlatform: { SilenceSeconds: 30 } }

const silence = (ticket: string, seconds: number) => Gatekeeper.use((gate) => gate.silence(ticket, seconds * 1000))
const statusOf = (ticket: string) => Gatekeeper.use((gate) => gate.status(ticket))
const silentCalls = Effect.map(Metric.value(metrics.over("default", "silent")), ({ count }) => count)

describe("a silent call", () => {
  gateTest(
    "is ended at the platform when the limit has passed, told, counted, and its slot goes on",
    limited,
    (world) =>
      Effect.gen(function* () {
        world.end = () => Effect.succeed(true)
        const before = yield* silentCalls
        const call = yield* begin()
        expect(call.silenceSeconds).toBe(30)
        const next = yield* enqueue(caller(1))
        world.connected.add(next)
        yield* TestClock.adjust("60 seconds")
        const endsAt = yield* silence(call.uniqueRequestId, 15)
        expect(new Date(endsAt ?? 0).toISOString()).toBe(iso(75_000))
        expect(yield* statusOf(call.uniqueRequestId)).toMatchObject({
          state: "live",
          silenceSeconds: 30,
          warning: { reason: "silence", endsAt: iso(75_000) },
        })
        yield* TestClock.adjust("14 seconds")
        expect(world.endings).toEqual([])
        yield* TestClock.adjust("6 seconds")
        expect(world.endings).toEqual(["web-1"])
        expect(yield* stateOf(call.uniqueRequestId)).toBe("silent")
        expect(eventsOf(world, call.uniqueRequestId)).toMatchObject([
          { type: "ended", reason: "silent", message: "The call ended because nobody spoke." },
        ])
        expect(yield* stateOf(next)).toBe("called")
        expect(yield* silentCalls).toBe(before + 1)
      }),
  )

  gateTest("goes on when somebody speaks before", limited, (world) =>
    Effect.gen(function* () {
      world.end = () => Effect.succeed(true)
      const { uniqueRequestId } = yield* begin()
      yield* TestClock.adjust("60 seconds")
      yield* silence(uniqueRequestId, 15)
      yield* TestClock.adjust("14 seconds")
      expect(yield* silence(uniqueRequestId, 0)).toBeUndefined()
      expect(yield* statusOf(uniqueRequestId)).not.toHaveProperty("warning")
      yield* TestClock.adjust("2 minutes")
      expect(world.endings).toEqual([])
      expect(yield* stateOf(uniqueRequestId)).toBe("live")
    }),
  )

  gateTest("a call whose page reports nothing is not silent: MaxCallMinutes ends it", limited, (world) =>
    Effect.gen(function* () {
      world.end = () => Effect.succeed(true)
      const { uniqueRequestId } = yield* begin()
      yield* TestClock.adjust("28 minutes")
      expect(world.endings).toEqual([])
      yield* TestClock.adjust("2 minutes")
      expect(yield* stateOf(uniqueRequestId)).toBe("ended")
    }),
  )

  gateTest("is asked for again while the platform does not confirm its end", limited, (world) =>
    Effect.gen(function* () {
      const answers = [Effect.fail(platformIsAway), Effect.succeed(false), Effect.succeed(true)]
      world.end = () => answers.shift() ?? Effect.die("asked too often")
      const { uniqueRequestId } = yield* begin()
      yield* TestClock.adjust("60 seconds")
      yield* silence(uniqueRequestId, 30)
      yield* TestClock.adjust("60 seconds")
      expect(answers).toEqual([])
      expect(yield* stateOf(uniqueRequestId)).toBe("silent")
    }),
  )

  gateTest("a silent call at a platform that limits its calls itself is ended all the same", limited, (world) =>
    Effect.gen(function* () {
      world.end = () => Effect.succeed(true)
      world.limitsCalls = true
      const { uniqueRequestId } = yield* begin()
      yield* TestClock.adjust("60 seconds")
      yield* silence(uniqueRequestId, 15)
      yield* TestClock.adjust("20 seconds")
      expect(yield* stateOf(uniqueRequestId)).toBe("silent")
    }),
  )

  gateTest("a silent call at a platform that the gate cannot ask is left to its page", limited, (world) =>
    Effect.gen(function* () {
      const { uniqueRequestId } = yield* begin()
      yield* TestClock.adjust("60 seconds")
      world.lengthControl = "bounded"
      expect(yield* silence(uniqueRequestId, 15)).toBeDefined()
      yield* TestClock.adjust("60 seconds")
      expect(world.endings).toEqual([])
      expect(yield* stateOf(uniqueRequestId)).toBe("live")
      yield* hangUp("web-1")
      expect(yield* stateOf(uniqueRequestId)).toBe("silent")
    }),
  )

  gateTest("may be silent without SilenceSeconds, and the page is not asked to report", {}, (world) =>
    Effect.gen(function* () {
      world.end = () => Effect.succeed(true)
      const call = yield* begin()
      expect(call).not.toHaveProperty("silenceSeconds")
      expect(yield* silence(call.uniqueRequestId, 600)).toBeUndefined()
      yield* TestClock.adjust("2 minutes")
      expect(world.endings).toEqual([])
    }),
  )

  gateTest("is refused to a ticket that is unknown or over", limited, () =>
    Effect.gen(function* () {
      const { uniqueRequestId } = yield* begin()
      yield* hangUp("web-1")
      expect(yield* Effect.flip(silence(uniqueRequestId, 5))).toMatchObject({ _tag: "TicketOver", state: "ended" })
      const unknown = `${"x".repeat(22)}${uniqueRequestId.slice(-4)}`
      expect(yield* Effect.flip(silence(unknown, 5))).toMatchObject({ _tag: "TicketUnknown" })
    }),
  )
})

describe("a connection in a call", () => {
  it.effect("is told within a tick that the call has ended, though its message was lost", () =>
    Effect.gen(function* () {
      const world = makeWorld()
      yield* TestClock.setTime(BEGIN)
      yield* Effect.gen(function* () {
        const { uniqueRequestId } = yield* begin()
        world.connected.add(uniqueRequestId)
        yield* TestClock.adjust("60 seconds")
        const sent = world.pushed.length
        yield* hangUp("web-1")
        world.pushed.length = sent
        yield* TestClock.adjust(TICK_MILLIS)
        expect(eventsOf(world, uniqueRequestId)[0]).toMatchObject({ type: "ended", reason: "ended" })
      }).pipe(Effect.provide(gateLayer(world, {})))
    }),
  )
})
