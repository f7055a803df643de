/** What the sweep does on deadlines, and what the tick pushes. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { FifoQueue } from "../../../src/fifo-queue/FifoQueue.ts"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { ticketUnknown } from "../../../src/gatekeeper/outcomes.ts"
import { RateLimiter } from "../../../src/rate-limiter/RateLimiter.ts"
import {
  ask,
  begin,
  CALLER,
  caller,
  enqueue,
  eventsOf,
  figures,
  gateTest,
  hangUp,
  remaining,
  stateOf,
} from "../../support/gate.ts"

const at = { campaign: "business/campaign", slots: 1, instance: "" }

describe("the sweep", () => {
  gateTest("passes on the slot of a ticket that misses its turn, within a second", {}, (world) =>
    Effect.gen(function* () {
      yield* begin()
      const first = yield* enqueue(caller(1))
      const second = yield* enqueue(caller(2))
      world.connected.add(second)
      yield* hangUp("web-1")
      yield* TestClock.adjust("30 seconds")
      expect(eventsOf(world, second).filter(({ type }) => type === "start_call")).toEqual([])
      yield* TestClock.adjust("1 second")
      expect(eventsOf(world, second).filter(({ type }) => type === "start_call").length).toBeGreaterThan(0)
      expect(yield* stateOf(first)).toBe("missed")
    }),
  )

  gateTest("abandons only tickets that are absent longer than the grace", {}, (world) =>
    Effect.gen(function* () {
      yield* begin()
      const absent = yield* enqueue(caller(1))
      const present = yield* enqueue(caller(2))
      world.connected.add(present)
      yield* TestClock.adjust("30 seconds")
      expect(eventsOf(world, absent)).toEqual([])
      yield* TestClock.adjust("1 second")
      expect(eventsOf(world, absent)).toMatchObject([{ type: "ended", reason: "abandoned" }])
      world.connected.delete(present)
      // the last tick kept it for the grace and one tick more
      yield* TestClock.adjust("29 seconds")
      expect(yield* figures()).toMatchObject({ waiting: 1 })
      yield* TestClock.adjust("5 seconds")
      expect(yield* figures()).toMatchObject({ waiting: 0 })
    }),
  )

  gateTest(
    "requeues the ticket of a start whose process died, and holds the slot until the platform knows no session",
    {},
    () =>
      Effect.gen(function* () {
        const queue = yield* FifoQueue
        const limiter = yield* RateLimiter
        // as left by a process that dies during a start
        yield* limiter.take(CALLER, "orphan")
        yield* queue.admit(at, { id: "orphan", caller: CALLER, holds: false, network: "", data: "{}" })
        const next = yield* enqueue(caller(1))
        expect(yield* remaining()).toBe(19)
        yield* TestClock.adjust("30 seconds")
        yield* stateOf(next)
        yield* TestClock.adjust("1 second")
        expect(yield* figures()).toMatchObject({ leases: 1, waiting: 2 })
        yield* queue.leave(at, "orphan")
        // the platform has no such session, as it says twice
        yield* TestClock.adjust("4 seconds")
        expect(yield* stateOf(next)).toBe("waiting")
        yield* TestClock.adjust("7 seconds")
        expect(yield* stateOf(next)).toBe("called")
      }),
  )

  gateTest("carries out settlements of a process that died", { Security: { RateLimitConcurrency: 1 } }, () =>
    Effect.gen(function* () {
      const queue = yield* FifoQueue
      yield* begin()
      // the process that took this webhook died before it told the limiter
      const ended = yield* queue.end(at, ["web-1"])
      expect(ended.settlements).toMatchObject([{ kind: "release", caller: CALLER }])
      expect(yield* ask()).toMatchObject({ _tag: "RateLimited", limit: "concurrent" })
      yield* TestClock.adjust("7 seconds")
      expect((yield* ask())._tag).toBe("Started")
    }),
  )

  gateTest("recovers a lost wake-up within a second", {}, (world) =>
    Effect.gen(function* () {
      const queue = yield* FifoQueue
      yield* begin()
      const ticket = yield* enqueue(caller(1))
      // with no slots at this moment the end calls nobody
      yield* queue.end({ ...at, slots: 0 }, ["web-1"])
      expect(eventsOf(world, ticket)).toEqual([])
      yield* TestClock.adjust("1 second")
      expect(eventsOf(world, ticket)).toMatchObject([{ type: "start_call" }])
    }),
  )

  gateTest("deletes tickets ten minutes after their end", {}, () =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      const { uniqueRequestId } = yield* begin()
      yield* hangUp("web-1")
      yield* TestClock.adjust("9 minutes")
      expect(yield* stateOf(uniqueRequestId)).toBe("ended")
      yield* TestClock.adjust("2 minutes")
      expect(yield* Effect.flip(gate.status(uniqueRequestId))).toMatchObject({ _tag: ticketUnknown()._tag })
    }),
  )
})

describe("the tick", () => {
  gateTest("sends their position to connected tickets only", {}, (world) =>
    Effect.gen(function* () {
      yield* begin()
      const first = yield* enqueue(caller(1))
      const second = yield* enqueue(caller(2))
      world.connected.add(second)
      yield* TestClock.adjust("2 seconds")
      expect(world.pushed).toEqual([
        [second, { type: "position", position: 2, queueLength: 2, estimatedWaitSeconds: null }],
      ])
      const gate = yield* Gatekeeper
      yield* gate.leave(first)
      yield* TestClock.adjust("2 seconds")
      expect(eventsOf(world, second).at(-1)).toMatchObject({ position: 1, queueLength: 1 })
    }),
  )

  gateTest("sends a start call again whose message was lost", {}, (world) =>
    Effect.gen(function* () {
      const queue = yield* FifoQueue
      yield* begin()
      const ticket = yield* enqueue(caller(1))
      world.connected.add(ticket)
      // the signal goes nowhere
      expect((yield* queue.end(at, ["web-1"])).signals).toMatchObject([{ kind: { _tag: "ended" } }, { ticket }])
      expect(eventsOf(world, ticket)).toEqual([])
      yield* TestClock.adjust("2 seconds")
      expect(eventsOf(world, ticket)).toMatchObject([{ type: "start_call" }])
    }),
  )

  gateTest("informs a page whose ticket the store has lost", {}, (world) =>
    Effect.gen(function* () {
      const { uniqueRequestId } = yield* begin()
      const lost = `0${uniqueRequestId.slice(1, -5)}0${uniqueRequestId.slice(-4)}`
      world.connected.add(lost)
      yield* TestClock.adjust("2 seconds")
      expect(eventsOf(world, lost)).toMatchObject([{ type: "ended", reason: "unknown" }])
    }),
  )

  gateTest("sends nothing to a live ticket", {}, (world) =>
    Effect.gen(function* () {
      const { uniqueRequestId } = yield* begin()
      world.connected.add(uniqueRequestId)
      yield* TestClock.adjust("10 seconds")
      expect(world.pushed).toEqual([])
    }),
  )
})
