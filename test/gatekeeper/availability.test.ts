/** What a newcomer would find, before asking for a session. Every test begins on a Friday at 8:00 in UTC. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import { Operator } from "../../src/operator/Operator.ts"
import { ask, BEGIN, begin, caller, enqueue, figures, gateTest, hangUp, remaining, start } from "../support/gate.ts"

const found = (campaignId?: string) => Gatekeeper.use((gate) => Effect.orDie(gate.availability(campaignId)))

describe("availability", () => {
  gateTest("tells the expected wait: none while a slot is free, unknown before the first call has ended", {}, () =>
    Effect.gen(function* () {
      expect(yield* found()).toEqual({ state: "open", estimatedWaitSeconds: 0 })
      yield* begin()
      yield* TestClock.adjust("1 second")
      expect(yield* found()).toEqual({ state: "open", estimatedWaitSeconds: null })
      const next = yield* enqueue(caller(1))
      yield* TestClock.adjust("9 seconds")
      yield* hangUp("web-1")
      yield* start(next)
      yield* enqueue(caller(2))
      yield* TestClock.adjust("1 second")
      // one waits and one talks: behind both, after a call of ten seconds
      expect(yield* found()).toEqual({ state: "open", estimatedWaitSeconds: 20 })
    }),
  )

  gateTest(
    "says that a full queue is full, and takes neither place nor quota",
    { Queue: { MaxLength: 1, DisconnectGraceSeconds: 600 } },
    () =>
      Effect.gen(function* () {
        yield* begin()
        yield* enqueue(caller(1))
        yield* ask(caller(2))
        const before = [yield* figures(), yield* remaining()]
        expect(yield* found()).toEqual({ state: "full" })
        expect([yield* figures(), yield* remaining()]).toEqual(before)
      }),
  )

  gateTest(
    "says that a closed campaign is closed, and when it opens",
    { VoiceAiPlatform: { Hours: { Zone: "UTC", Open: "Mon 07:00-09:00" } } },
    () =>
      Effect.gen(function* () {
        expect(yield* found()).toEqual({ state: "closed", opensAt: "2027-01-18T07:00:00.000Z" })
      }),
  )

  gateTest(
    "has what is offered to those who are not let in",
    {
      VoiceAiPlatform: {
        Hours: { Zone: "UTC", Open: "Mon 07:00-09:00" },
        Overflow: { AfterSeconds: 60, Offers: ["Call us tel:+4930123456"] },
      },
    },
    () =>
      Effect.gen(function* () {
        const offers = [{ kind: "number", label: "Call us", target: "tel:+4930123456" }]
        expect(yield* found()).toMatchObject({ state: "closed", offers })
      }),
  )

  gateTest("says what an operator has decided: that nobody is let in, or that newcomers wait, and until when", {}, () =>
    Effect.gen(function* () {
      const act = (action: Parameters<Operator["Service"]["act"]>[2]) =>
        Operator.use((operator) => operator.act(undefined, "me", action))
      yield* act({ type: "drain" })
      yield* TestClock.adjust("1 second")
      expect(yield* found()).toEqual({ state: "draining" })
      yield* act({ type: "reopen" })
      yield* act({ type: "pause" })
      yield* TestClock.adjust("1 second")
      expect(yield* found()).toEqual({ state: "paused" })
      yield* act({ type: "pause", until: BEGIN + 60_000 })
      yield* TestClock.adjust("1 second")
      expect(yield* found()).toEqual({ state: "paused", pausedUntil: new Date(BEGIN + 60_000).toISOString() })
      yield* TestClock.adjust("1 minute")
      expect(yield* found()).toEqual({ state: "open", estimatedWaitSeconds: 0 })
    }),
  )

  const budget = (more: object) => ({
    VoiceAiPlatform: {
      MaxConcurrency: 5,
      Budgets: [{ Name: "team", Of: "campaign", Unit: "minutes", Per: "hour", Cap: 1, ...more }],
    },
  })
  const usedUp = { state: "budget_exhausted", resetsAt: new Date(BEGIN + 3_600_000).toISOString() }

  gateTest("says that a budget is used up, and until when, at once after a refusal", budget({}), () =>
    Effect.gen(function* () {
      yield* begin()
      expect((yield* ask(caller(1)))._tag).toBe("BudgetExhausted")
      expect(yield* found()).toEqual(usedUp)
      yield* hangUp("web-1")
      yield* TestClock.adjust("16 seconds")
      expect(yield* found()).toEqual({ state: "open", estimatedWaitSeconds: 0 })
    }),
  )

  gateTest(
    "has what is offered while a budget is used up",
    {
      VoiceAiPlatform: {
        ...budget({}).VoiceAiPlatform,
        Overflow: { AfterSeconds: 60, Offers: ["Call us tel:+4930123456"] },
      },
    },
    () =>
      Effect.gen(function* () {
        yield* begin()
        yield* ask(caller(1))
        expect(yield* found()).toEqual({
          ...usedUp,
          offers: [{ kind: "number", label: "Call us", target: "tel:+4930123456" }],
        })
      }),
  )

  gateTest("says that a budget is used up before anybody is refused", budget({}), () =>
    Effect.gen(function* () {
      yield* begin()
      expect(yield* found()).toMatchObject({ state: "open" })
      yield* TestClock.adjust("16 seconds")
      expect(yield* found()).toEqual(usedUp)
      yield* TestClock.adjust("1 hour")
      expect(yield* found()).toMatchObject({ state: "open" })
    }),
  )

  gateTest("says nothing of the budgets of callers", budget({ Of: "caller" }), () =>
    Effect.gen(function* () {
      yield* begin()
      expect(yield* ask()).toMatchObject({ _tag: "BudgetExhausted", own: true })
      yield* TestClock.adjust("16 seconds")
      expect(yield* found()).toMatchObject({ state: "open" })
    }),
  )

  gateTest("fails for a campaign that is not configured, naming the field", {}, () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Gatekeeper.use((gate) => gate.availability("none")))
      expect(error).toMatchObject({
        _tag: "InvalidRequest",
        code: "unknown_campaign",
        issues: [{ field: "campaignId" }],
      })
    }),
  )
})
