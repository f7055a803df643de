/** Each command to the store fails once: no slot and no quota is lost. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import {
  ask,
  atCapacity,
  begin,
  caller,
  figures,
  hangUp,
  platformRefuses,
  remaining,
  session,
  start,
  stateOf,
  type World,
} from "../support/gate.ts"
import { withFaults } from "./faulty-store.ts"

/** All slots are free and nobody waits, once every deadline has passed; and every caller may call again. */
const nothingLeft = Effect.gen(function* () {
  // of tickets that are called to test a platform that has refused, some turns pass
  yield* TestClock.adjust("6 minutes")
  expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
  const again = yield* begin(caller(99))
  yield* hangUp(again.sessionId)
})

/** Scenarios in which each run of the store fails once. */
const scenarios: Record<string, (world: World) => Effect.Effect<void, never, Gatekeeper>> = {
  "a session that starts and ends": () =>
    Effect.gen(function* () {
      yield* ask(caller(1))
      yield* Effect.ignore(hangUp("web-1"))
    }),
  "a ticket that waits, is called, starts and ends": () =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      yield* ask(caller(1))
      const queued = yield* ask(caller(2))
      const ticket = "uniqueRequestId" in queued ? queued.uniqueRequestId : ""
      yield* Effect.ignore(gate.attach(ticket))
      yield* Effect.ignore(hangUp("web-1"))
      yield* start(ticket)
      yield* Effect.ignore(gate.status(ticket))
      yield* Effect.ignore(hangUp("web-2"))
    }),
  "a platform that refuses": (world) =>
    Effect.gen(function* () {
      world.initiate = () => Effect.fail(platformRefuses)
      yield* ask(caller(1))
      yield* ask(caller(2))
    }),
  "a platform at capacity": (world) =>
    Effect.gen(function* () {
      world.initiate = () => Effect.fail(atCapacity)
      yield* ask(caller(1))
      yield* ask(caller(2))
    }),
  "a place given up": () =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      yield* ask(caller(1))
      const queued = yield* ask(caller(2))
      yield* Effect.ignore(gate.leave("uniqueRequestId" in queued ? queued.uniqueRequestId : ""))
      yield* Effect.ignore(hangUp("web-1"))
    }),
}

describe("a store that fails once", () => {
  for (const [name, scenario] of Object.entries(scenarios)) {
    for (const fault of ["request lost", "answer lost"] as const) {
      it.effect(`loses no slot permanently, at any step of ${name} (${fault})`, () =>
        Effect.gen(function* () {
          const life = (failing: number) =>
            withFaults(
              (world, faults) =>
                Effect.gen(function* () {
                  faults.countdown = failing
                  yield* Effect.forkChild(scenario(world)).pipe(
                    Effect.tap(() => TestClock.adjust("6 seconds")),
                    Effect.flatMap(Fiber.join),
                  )
                  // of other names: the end of one that never began is remembered
                  world.initiate = (n) => Effect.succeed(session(n + 1000))
                  yield* nothingLeft
                }),
              fault,
            )
          const steps = yield* withFaults((world, faults) =>
            Effect.andThen(
              scenario(world),
              Effect.sync(() => expect(faults.runs).toBeGreaterThan(1)),
            ),
          )
          for (let failing = 1; failing <= steps; failing++) yield* life(failing)
        }),
      )
    }
  }

  for (const fault of ["request lost", "answer lost"] as const) {
    it.effect.each([
      // the limits and the admission, with either answer of the platform, and the way back to the queue
      { crossSlot: false, expected: 5 },
      { crossSlot: true, expected: 3 },
    ])(
      `gives the caller's budgets back whenever the answer was that it is away (${fault}, crossSlot $crossSlot)`,
      ({ expected, crossSlot }) =>
        Effect.gen(function* () {
          let refusals = 0
          for (const platform of [() => Effect.fail(atCapacity), (n: number) => Effect.succeed(session(n))]) {
            for (let failing = 1; failing <= 4; failing++) {
              yield* withFaults(
                (world, faults) =>
                  Effect.gen(function* () {
                    world.initiate = platform
                    faults.countdown = failing
                    const asked = yield* Effect.forkChild(ask(caller(1)))
                    yield* TestClock.adjust("6 seconds")
                    const outcome = yield* Fiber.join(asked)
                    if (outcome._tag !== "StoreUnavailable") return
                    refusals++
                    yield* TestClock.adjust("40 seconds")
                    expect(yield* remaining(caller(1))).toBe(20)
                  }),
                fault,
                crossSlot,
              )
            }
          }
          expect(refusals).toBe(expected)
        }),
    )
  }

  it.effect("keeps a session that was bound although the answer was lost", () =>
    withFaults(
      (world, faults) =>
        Effect.gen(function* () {
          faults.countdown = 3
          const asked = yield* Effect.forkChild(ask(caller(1)))
          yield* TestClock.adjust("1 second")
          const outcome = yield* Fiber.join(asked)
          expect(outcome).toMatchObject({ _tag: "Started", sessionId: "web-1" })
          expect(yield* stateOf("uniqueRequestId" in outcome ? outcome.uniqueRequestId : "")).toBe("live")
          expect(world.initiated.length).toBe(1)
        }),
      "answer lost",
    ),
  )
})
