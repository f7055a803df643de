import { describe, expect } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import {
  atCapacity,
  begin,
  caller,
  enqueue,
  eventsOf,
  figures,
  gateTest,
  hangUp,
  platformIsAway,
  start,
  stateOf,
} from "../../support/gate.ts"
import { calledTicket, delayStarts, inBackground } from "../ticket-support.ts"

describe("leaving", () => {
  gateTest("leaving a waiting place frees it at once and moves the others up", {}, () =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      yield* begin()
      const first = yield* enqueue(caller(1))
      const second = yield* enqueue(caller(2))
      yield* gate.leave(first)
      expect(yield* gate.status(second)).toMatchObject({ state: "waiting", queuePosition: 1, queueLength: 1 })
      expect(yield* stateOf(first)).toBe("left")
      expect(yield* start(first)).toMatchObject({ _tag: "TicketOver", state: "left" })
    }),
  )

  gateTest("leaving a reserved slot passes it on at once", {}, (world) =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      yield* begin()
      const first = yield* enqueue(caller(1))
      const second = yield* enqueue(caller(2))
      yield* hangUp("web-1")
      yield* gate.leave(first)
      expect(eventsOf(world, second)).toMatchObject([{ type: "start_call" }])
      expect(yield* figures()).toEqual({ leases: 1, waiting: 0, live: 0 })
    }),
  )

  gateTest("leaving while live, over or unknown frees nothing by itself and does not fail", {}, (world) =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      const answer = yield* delayStarts(world)
      const asked = yield* inBackground(begin())
      yield* answer
      const { uniqueRequestId } = yield* Fiber.join(asked)
      yield* gate.leave(uniqueRequestId)
      expect(yield* stateOf(uniqueRequestId)).toBe("live")
      yield* hangUp("web-1")
      yield* gate.leave(uniqueRequestId)
      expect(yield* stateOf(uniqueRequestId)).toBe("ended")
      yield* gate.leave("nobody")
      expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
    }),
  )

  gateTest("leaving during a start ends the call once it has begun", {}, (world) =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      world.end = () => Effect.succeed(true)
      const ticket = yield* calledTicket()
      const answer = yield* delayStarts(world)
      const started = yield* inBackground(start(ticket))
      yield* gate.leave(ticket)
      yield* gate.leave(ticket)
      yield* TestClock.adjust("10 seconds")
      expect(yield* stateOf(ticket)).toBe("starting")
      expect(world.endings).toEqual([])
      yield* answer
      expect(yield* Fiber.join(started)).toMatchObject({ sessionId: "web-2" })
      yield* TestClock.adjust("1 second")
      expect(world.endings).toEqual(["web-2"])
      expect(yield* stateOf(ticket)).toBe("ended")
      expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
    }),
  )

  gateTest("leaving during a start gives up the place that a platform at capacity leaves to the ticket", {}, (world) =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      const ticket = yield* calledTicket()
      const answer = yield* delayStarts(world, () => Effect.fail(atCapacity))
      const started = yield* inBackground(start(ticket))
      yield* gate.leave(ticket)
      yield* answer
      yield* Fiber.join(started)
      expect(yield* stateOf(ticket)).toBe("waiting")
      yield* TestClock.adjust("1 second")
      expect(yield* stateOf(ticket)).toBe("left")
      expect(world.endings).toEqual([])
    }),
  )

  gateTest(
    "leaving a call frees its slot at once where the platform ends it, and the webhook after it frees nothing again",
    {},
    (world) =>
      Effect.gen(function* () {
        const gate = yield* Gatekeeper
        world.end = () => Effect.succeed(true)
        const { uniqueRequestId } = yield* begin()
        const first = yield* enqueue(caller(1))
        const second = yield* enqueue(caller(2))
        yield* gate.leave(uniqueRequestId)
        expect(world.endings).toEqual(["web-1"])
        expect(yield* stateOf(uniqueRequestId)).toBe("ended")
        expect(eventsOf(world, first)).toMatchObject([{ type: "start_call" }])
        expect(yield* figures()).toEqual({ leases: 1, waiting: 1, live: 0 })
        expect(yield* hangUp("conversation-1")).toBe(false)
        expect(eventsOf(world, second)).not.toContainEqual(expect.objectContaining({ type: "start_call" }))
        expect(yield* figures()).toEqual({ leases: 1, waiting: 1, live: 0 })
      }),
  )

  gateTest(
    "leaving a call that the platform cannot end frees its slot only when the platform says that it is over",
    {},
    (world) =>
      Effect.gen(function* () {
        const gate = yield* Gatekeeper
        const { uniqueRequestId } = yield* begin()
        yield* gate.leave(uniqueRequestId)
        expect(yield* stateOf(uniqueRequestId)).toBe("live")
        expect(yield* figures()).toEqual({ leases: 1, waiting: 0, live: 1 })
        yield* TestClock.adjust("31 seconds")
        world.sessionStatus = () => Effect.succeed("over")
        yield* gate.leave(uniqueRequestId)
        expect(yield* stateOf(uniqueRequestId)).toBe("ended")
        expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
      }),
  )

  gateTest("leaving a call whose end the platform does not answer keeps its slot", {}, (world) =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      world.end = () => Effect.fail(platformIsAway)
      const { uniqueRequestId } = yield* begin()
      yield* gate.leave(uniqueRequestId)
      expect(yield* stateOf(uniqueRequestId)).toBe("live")
      expect(yield* hangUp("web-1")).toBe(true)
    }),
  )

  gateTest("leaving a call again and again asks the platform once in half a minute", {}, (world) =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      const { uniqueRequestId } = yield* begin()
      for (let times = 0; times < 20; times++) yield* gate.leave(uniqueRequestId)
      expect(world.endings).toHaveLength(1)
      yield* TestClock.adjust("31 seconds")
      yield* gate.leave(uniqueRequestId)
      expect(world.endings).toHaveLength(2)
    }),
  )

  gateTest("leaving a call never ends that of another ticket, whose session began meanwhile", {}, (world) =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      const { uniqueRequestId } = yield* begin()
      // the call ends and the next one begins while the platform is asked
      const meanwhile = Effect.andThen(hangUp("web-1"), begin(caller(1)))
      world.end = () => Effect.as(Effect.orDie(Effect.provideService(meanwhile, Gatekeeper, gate)), true)
      yield* gate.leave(uniqueRequestId)
      expect(yield* figures()).toEqual({ leases: 1, waiting: 0, live: 1 })
    }),
  )

  gateTest("leaving twice frees one place", {}, () =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      yield* begin()
      const first = yield* enqueue(caller(1))
      yield* enqueue(caller(2))
      yield* gate.leave(first)
      yield* gate.leave(first)
      expect(yield* figures()).toEqual({ leases: 1, waiting: 1, live: 1 })
    }),
  )
})
