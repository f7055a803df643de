/** Limits of what one address can take from others, and refunds. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import {
  ask,
  begin,
  CALLER,
  caller,
  enqueue,
  figures,
  gateTest,
  hangUp,
  platformRefuses,
  remaining,
  stateOf,
} from "../../support/gate.ts"
import { calledTicket } from "../ticket-support.ts"

const ten = { VoiceAiPlatform: { MaxConcurrency: 10 }, Security: { RateLimitConcurrency: 3 } }
const costly = { Security: { MissedTurnCost: 3 } }

describe("one address under the defaults", () => {
  gateTest("has as many requests accepted in an hour as the limit says, whatever it does with them", {}, () =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      yield* begin(caller(1))
      let accepted = 0
      for (let n = 0; n < 30; n++) {
        const outcome = yield* ask(CALLER)
        if (outcome._tag !== "Queued") continue
        accepted++
        yield* gate.leave(outcome.uniqueRequestId)
      }
      expect(accepted).toBe(20)
    }),
  )

  gateTest(
    "an address that many people share has its whole limit at once",
    { VoiceAiPlatform: { MaxConcurrency: 5 } },
    () =>
      Effect.gen(function* () {
        const outcomes = []
        for (let n = 0; n < 21; n++) outcomes.push((yield* ask(CALLER))._tag)
        expect(outcomes.filter((tag) => tag === "Started").length).toBe(5)
        expect(outcomes.filter((tag) => tag === "Queued").length).toBe(15)
        expect(outcomes.at(-1)).toBe("RateLimited")
      }),
  )

  gateTest("an address with a limit of three open tickets holds three of ten slots", ten, () =>
    Effect.gen(function* () {
      const outcomes = []
      for (let n = 0; n < 21; n++) outcomes.push((yield* ask(CALLER))._tag)
      expect(outcomes.filter((tag) => tag === "Started").length).toBe(3)
      expect(outcomes.filter((tag) => tag === "RateLimited").length).toBe(18)
      expect(yield* figures(10)).toEqual({ leases: 3, waiting: 0, live: 3 })
      // an end of any of them makes room at once
      yield* hangUp("web-2")
      expect((yield* ask(CALLER))._tag).toBe("Started")
      expect((yield* ask(CALLER))._tag).toBe("RateLimited")
    }),
  )

  gateTest("is charged for being called and leaving as for a call", {}, () =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      const ticket = yield* calledTicket(CALLER, caller(1))
      expect(yield* stateOf(ticket)).toBe("called")
      yield* gate.leave(ticket)
      expect(yield* remaining()).toBe(19)
      // and it is open no more
      for (let n = 0; n < 3; n++) expect((yield* ask())._tag).not.toBe("RateLimited")
    }),
  )

  gateTest("is charged the cost of a missed turn for holding a slot for 29 s and then leaving", costly, (world) =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      yield* begin(caller(1))
      const ticket = yield* enqueue()
      world.connected.add(ticket)
      yield* hangUp("web-1")
      yield* TestClock.adjust("29 seconds")
      expect(yield* stateOf(ticket)).toBe("called")
      yield* gate.leave(ticket)
      expect(yield* remaining()).toBe(17)
    }),
  )

  gateTest("is charged the cost of a missed turn for one, and a unit for an abandoned place", costly, (world) =>
    Effect.gen(function* () {
      yield* begin(caller(1))
      const missing = yield* enqueue()
      world.connected.add(missing)
      yield* hangUp("web-1")
      yield* TestClock.adjust("31 seconds")
      expect(yield* stateOf(missing)).toBe("missed")
      expect(yield* remaining()).toBe(17)
      yield* begin(caller(2))
      const absent = yield* enqueue(caller(3))
      yield* TestClock.adjust("33 seconds")
      expect(yield* stateOf(absent)).toBe("abandoned")
      expect(yield* remaining(caller(3))).toBe(19)
    }),
  )

  gateTest(
    "gets its quota back if the platform refuses the key, ten times an hour",
    { Queue: { OnPlatformRefusal: "refuse" } },
    (world) =>
      Effect.gen(function* () {
        world.initiate = () => Effect.fail(platformRefuses)
        for (let n = 0; n < 13; n++) expect((yield* ask())._tag).toBe("PlatformUnavailable")
        expect(yield* remaining()).toBe(17)
      }),
  )

  for (const [what, end] of [
    ["left", (ticket: string) => Gatekeeper.use((gate) => gate.leave(ticket))],
    ["abandoned", () => TestClock.adjust("33 seconds")],
  ] as const) {
    gateTest(`has no open ticket of one that it ${what}`, { Security: { RateLimitConcurrency: 1 } }, () =>
      Effect.gen(function* () {
        yield* begin(caller(1))
        yield* end(yield* enqueue())
        expect((yield* ask())._tag).toBe("Queued")
        expect((yield* ask())._tag).toBe("RateLimited")
      }),
    )
  }

  gateTest(
    "has no open ticket of a call that was reclaimed",
    { Security: { RateLimitConcurrency: 1 }, Queue: { MaxCallMinutes: 1 } },
    () =>
      Effect.gen(function* () {
        yield* begin()
        yield* TestClock.adjust("62 seconds")
        expect((yield* ask())._tag).toBe("Started")
      }),
  )
})
