/** Limits of what one address can take from others, and refunds. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../src/Gatekeeper.ts"
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
} from "../support/gate.ts"
import { calledTicket } from "./ticket-support.ts"

const ten = { VoiceAiPlatform: { MaxConcurrency: 10 } }

describe("one address under the defaults", () => {
  gateTest("has at most three open tickets: it holds three of ten slots", ten, () =>
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

  gateTest("gets its quota back for waiting in vain, ten times an hour", {}, () =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      yield* begin(caller(1))
      for (let n = 0; n < 12; n++) yield* gate.leave(yield* enqueue())
      expect(yield* remaining()).toBe(18)
      yield* TestClock.adjust("1 hour")
      yield* gate.leave(yield* enqueue())
      expect(yield* remaining()).toBe(20)
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

  gateTest("is charged three units for holding a slot for 29 s and then leaving, as for a missed turn", {}, (world) =>
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

  gateTest("is charged three units for a missed turn, and one for an abandoned place", {}, (world) =>
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

  gateTest("gets its quota back if the platform refuses the key, ten times an hour", {}, (world) =>
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
