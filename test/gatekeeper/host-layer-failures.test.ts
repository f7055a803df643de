/** A host's layers that fail with a defect or hang: only that request fails, within a time limit. */
import { describe, expect } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import { noFacts } from "../../src/ip-intel/facts.ts"
import { ask, begin, caller, enqueue, figures, gateTest, hangUp, session, start, stateOf } from "../support/gate.ts"

/** A layer's bug, thrown before there is an effect. */
const broken = (): never => {
  throw new TypeError("a bug of the host")
}
const hangs = Effect.uninterruptible(Effect.never)

describe("a host's platform", () => {
  for (const [what, initiate] of [
    ["dies", () => Effect.die(new Error("a bug"))],
    ["throws", broken],
  ] as const) {
    gateTest(
      `a request to a host's platform that ${what} is answered, keeps its place, and its slot is free at once`,
      {},
      (world) =>
        Effect.gen(function* () {
          world.initiate = initiate
          const ticket = yield* enqueue(caller(1))
          expect(yield* figures()).toEqual({ leases: 0, waiting: 1, live: 0 })
          world.initiate = (n) => Effect.succeed(session(n))
          yield* TestClock.adjust("3 seconds")
          expect((yield* start(ticket))._tag).toBe("Started")
        }),
    )
  }

  gateTest(
    "a request to a host's platform that hangs and cannot be interrupted is answered after 16 s, keeps its place, and its slot is held",
    {},
    (world) =>
      Effect.gen(function* () {
        world.initiate = () => hangs
        const asked = yield* Effect.forkChild(ask(caller(1)))
        yield* TestClock.adjust("15 seconds")
        expect(asked.pollUnsafe()).toBeUndefined()
        yield* TestClock.adjust("1 second")
        expect(yield* Fiber.join(asked)).toMatchObject({ _tag: "Queued", queuePosition: 1 })
        expect(yield* figures()).toEqual({ leases: 1, waiting: 1, live: 0 })
      }),
  )

  gateTest("a host's platform whose concurrency and history hang does not stop the background tasks", {}, (world) =>
    Effect.gen(function* () {
      const { uniqueRequestId } = yield* begin()
      world.sessionStatus = () => hangs
      yield* TestClock.adjust("5 minutes")
      world.sessionStatus = () => Effect.succeed("over")
      yield* TestClock.adjust("3 minutes")
      expect(yield* stateOf(uniqueRequestId)).toBe("ended")
    }),
  )
})

describe("a host's IP provider", () => {
  for (const OnError of ["allow", "block"] as const) {
    for (const [what, lookup] of [
      ["dies", () => Effect.die(new Error("a bug"))],
      ["throws", broken],
      ["hangs", () => hangs],
    ] as const) {
      gateTest(`OnError ${OnError} decides for a host's IP provider that ${what}`, { IpIntel: { OnError } }, (world) =>
        Effect.gen(function* () {
          world.lookup = lookup
          const asked = yield* Effect.forkChild(ask(caller(1)))
          yield* TestClock.adjust("8 seconds")
          const outcome = yield* Fiber.join(asked)
          expect(outcome).toMatchObject(
            OnError === "allow" ? { _tag: "Started" } : { _tag: "Blocked", reason: "ip_check_failed" },
          )
          world.lookup = () => Effect.succeed(noFacts)
          expect((yield* ask(caller(2)))._tag).toBe(OnError === "allow" ? "Queued" : "Started")
        }),
      )
    }
  }
})

describe("a host's push channel", () => {
  gateTest("a host's push channel that fails or hangs does not fail the step that calls the next one", {}, (world) =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      for (const send of [broken, () => hangs]) {
        const first = yield* begin(caller(1))
        const next = yield* enqueue(caller(2))
        world.send = send
        const ended = yield* Effect.forkChild(hangUp(first.sessionId))
        // two are told, one after the other
        yield* TestClock.adjust("4 seconds")
        expect(yield* Fiber.join(ended)).toBe(true)
        expect(yield* stateOf(next)).toBe("called")
        yield* gate.leave(next)
      }
    }),
  )
})
