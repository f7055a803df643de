import { describe, expect } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { Gatekeeper } from "../../src/Gatekeeper.ts"
import { begin, caller, enqueue, eventsOf, figures, gateTest, hangUp, start, stateOf } from "../support/gate.ts"
import { delayedPlatform } from "./ticket-support.ts"

describe("leaving", () => {
  gateTest("a waiting place frees it at once and moves the others up", {}, () =>
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

  gateTest("a reserved slot passes it on at once", {}, (world) =>
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

  gateTest("while starting, live, over or unknown changes nothing and does not fail", {}, (world) =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      const platform = yield* delayedPlatform
      world.initiate = platform.initiate
      const asked = yield* Effect.forkChild(begin())
      yield* Effect.yieldNow
      yield* platform.release
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

  gateTest("twice frees one place", {}, () =>
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
