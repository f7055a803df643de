/** Requests that were answered 503 are withdrawn when the store is back. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { MAX_PER_CALLER, MAX_REMEMBERED } from "../../../src/gatekeeper/calls/NotGivenBack.ts"
import { ask, atCapacity, caller, enqueue, figures, remaining, stateOf } from "../../support/gate.ts"
import { type Faults, LOST_MILLIS, withFaults } from "../faulty-store.ts"

/** Requests of callers from this many networks at once; the store applies each, and its answer is lost. */
const unanswered = (faults: Faults, count: number) =>
  Effect.gen(function* () {
    faults.losesAnswers = true
    const asked = yield* Effect.forEach(
      Array.from({ length: count }, (_, n) => n),
      (n) => Effect.forkChild(ask(`203.1.${n}.1`), { startImmediately: true }),
    )
    yield* TestClock.adjust(LOST_MILLIS)
    faults.losesAnswers = false
    for (const fiber of asked) expect((yield* Fiber.join(fiber))._tag).toBe("StoreUnavailable")
  })

describe("a request that was answered 503 because the store is unavailable", () => {
  it.effect("holds no slot and no place when the store is back, and blocks no other caller", () =>
    withFaults(
      (world, faults) =>
        Effect.gen(function* () {
          yield* unanswered(faults, 60)
          expect(yield* figures()).toEqual({ leases: 1, waiting: 59, live: 0 })
          const known = yield* enqueue(caller(1))
          world.connected.add(known)
          faults.away = true
          yield* TestClock.adjust("4 seconds")
          faults.away = false
          yield* TestClock.adjust("1 second")
          expect(yield* figures()).toEqual({ leases: 1, waiting: 0, live: 0 })
          expect(yield* stateOf(known)).toBe("called")
          // only the connected caller receives events
          expect(new Set(world.pushed.map(([ticket]) => ticket))).toEqual(new Set([known]))
          expect(yield* remaining("203.1.7.1")).toBe(20)
        }),
      "answer lost",
      true,
    ),
  )

  for (const crossSlot of [true, false]) {
    it.effect(`takes no slot if its admission is applied after its withdrawal (crossSlot ${crossSlot})`, () =>
      withFaults(
        (_world, faults) =>
          Effect.gen(function* () {
            // of two steps, the second
            faults.countdown = crossSlot ? 1 : 2
            expect((yield* ask(caller(1)))._tag).toBe("StoreUnavailable")
            yield* TestClock.adjust("1 second")
            for (const command of faults.later) yield* Effect.orDie(command)
            expect(faults.later.length).toBe(1)
            expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
            expect((yield* ask(caller(2)))._tag).toBe("Started")
            yield* TestClock.adjust("10 seconds")
            expect(yield* remaining(caller(1))).toBe(20)
          }),
        "carried out later",
        crossSlot,
      ),
    )
  }

  it.effect("does not use up its caller's limits while the node of a cluster that has the queue is away", () =>
    withFaults((_world, faults) =>
      Effect.gen(function* () {
        faults.queueAway = true
        for (let n = 0; n < 8; n++) {
          expect((yield* ask(caller(1)))._tag).toBe("StoreUnavailable")
          yield* TestClock.adjust("1 second")
        }
        expect(yield* remaining(caller(1))).toBe(20)
        faults.queueAway = false
        yield* TestClock.adjust("1 second")
        expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
        expect((yield* ask(caller(1)))._tag).toBe("Started")
      }),
    ),
  )

  it.effect("keeps no place when the platform was full and requeueing was not answered", () =>
    withFaults(
      (world, faults) =>
        Effect.gen(function* () {
          world.initiate = () => Effect.fail(atCapacity)
          faults.countdown = 2
          expect((yield* ask(caller(1)))._tag).toBe("StoreUnavailable")
          expect(yield* figures()).toEqual({ leases: 0, waiting: 1, live: 0 })
          yield* TestClock.adjust("1 second")
          expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
          expect(yield* remaining(caller(1))).toBe(20)
        }),
      "answer lost",
      true,
    ),
  )

  it.effect(
    "is remembered up to a limit of each caller and network",
    () =>
      withFaults(
        (_world, faults) =>
          Effect.gen(function* () {
            faults.away = true
            for (let n = 0; n < 2 * MAX_PER_CALLER; n++) yield* ask(caller(1))
            for (let n = 0; n < MAX_REMEMBERED; n++) yield* ask(`198.20.0.${n & 255}`)
            faults.away = false
            yield* unanswered(faults, 3)
            yield* TestClock.adjust("10 seconds")
            expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
          }),
        "answer lost",
        true,
      ),
    60_000,
  )
})
