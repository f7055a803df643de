/** Budgets of gates at moments at which calendars and clocks are not regular: what is used up is so until the next window, and no longer. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { campaignBook } from "../../../src/budgets/keys.ts"
import { rules } from "../../../src/budgets/rules.ts"
import type { Period } from "../../../src/settings/groups/budgets.ts"
import { NO_CONTEXT } from "../../../src/store/rule.ts"
import { ask, begin, caller, type Given, hangUp, makeWorld } from "../../support/gate.ts"
import { makeStore, startGate } from "../../support/gates.ts"

/** Enough for one block: while a call runs, and after most of a minute, nothing is left for another. */
const given = (Per: Period, Zone: string): Given => ({
  VoiceAiPlatform: {
    MaxConcurrency: 3,
    Budgets: [{ Name: "team", Of: "campaign", Unit: "minutes", Per, Cap: 1 }],
    Budget: { Zone },
  },
})

const MINUTE_MILLIS = 60_000

describe("a budget that is used up", () => {
  it.effect.each([
    ["in the hour that comes twice, the first time", "hour", "Europe/Berlin", "2026-10-25T01:00Z"],
    ["in the hour that comes twice, the second time", "hour", "Europe/Berlin", "2026-10-25T02:00Z"],
    ["in the hour before the one that is skipped", "hour", "America/New_York", "2027-03-14T07:00Z"],
    ["on a day of 23 hours", "day", "Europe/Berlin", "2026-03-29T22:00Z"],
    ["on a day of 25 hours", "day", "Europe/Berlin", "2026-10-25T23:00Z"],
    ["on the day before one whose midnight is skipped", "day", "America/Santiago", "2026-09-06T04:00Z"],
    ["on the last day of a short month", "month", "Europe/Berlin", "2027-02-28T23:00Z"],
    ["on a leap day", "day", "UTC", "2028-03-01T00:00Z"],
    ["in February of a leap year", "month", "UTC", "2028-03-01T00:00Z"],
    ["at the end of a year", "month", "Europe/Berlin", "2026-12-31T23:00Z"],
  ] as const)("%s has its minute again when the next one begins, and not before", ([, period, zone, next]) =>
    Effect.gen(function* () {
      const begins = Date.parse(next)
      yield* TestClock.setTime(begins - MINUTE_MILLIS)
      const gate = yield* startGate(makeWorld(), yield* makeStore, given(period, zone))
      const { sessionId } = yield* gate.on(begin())
      yield* TestClock.adjust("45 seconds")
      yield* gate.on(hangUp(sessionId))
      expect(yield* gate.on(ask(caller(1)))).toMatchObject({ _tag: "BudgetExhausted", resetsAt: begins })
      yield* TestClock.adjust("14 seconds")
      expect((yield* gate.on(ask(caller(2))))._tag).toBe("BudgetExhausted")
      yield* TestClock.adjust("2 seconds")
      expect((yield* gate.on(ask(caller(3))))._tag).toBe("Started")
    }).pipe(Effect.scoped),
  )

  it.effect("on the 28th of February of a leap year is so until March", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.parse("2028-02-28T23:59Z"))
      const gate = yield* startGate(makeWorld(), yield* makeStore, given("month", "UTC"))
      const { sessionId } = yield* gate.on(begin())
      yield* TestClock.adjust("45 seconds")
      yield* gate.on(hangUp(sessionId))
      yield* TestClock.adjust("17 seconds")
      expect(yield* gate.on(ask(caller(1)))).toMatchObject({
        _tag: "BudgetExhausted",
        resetsAt: Date.parse("2028-03-01T00:00Z"),
      })
    }).pipe(Effect.scoped),
  )

  it.effect(
    "has its minute again when its zone is changed; a call that runs counts in the window in which it began",
    () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(Date.parse("2027-01-15T22:30Z"))
        const [world, store] = [makeWorld(), yield* makeStore]
        const before = yield* startGate(world, store, given("day", "UTC"))
        const first = yield* before.on(begin())
        yield* TestClock.adjust("10 seconds")
        expect((yield* before.on(ask(caller(1))))._tag).toBe("BudgetExhausted")
        yield* before.stop
        const after = yield* startGate(world, store, given("day", "Europe/Berlin"))
        const second = yield* after.on(begin(caller(2)))
        expect(yield* after.on(ask(caller(3)))).toMatchObject({
          _tag: "BudgetExhausted",
          resetsAt: Date.parse("2027-01-15T23:00Z"),
        })
        yield* TestClock.adjust("20 seconds")
        yield* after.on(hangUp(first.sessionId))
        yield* after.on(hangUp(second.sessionId))
        const windows = ["2027-01-15T00:00Z", "2027-01-14T23:00Z"].map((from) => ({
          name: "team",
          from: Date.parse(from),
        }))
        const keys = campaignBook("business/campaign")
        const { standings } = yield* store.run(rules.balance, {
          keys,
          now: yield* store.now,
          context: NO_CONTEXT,
          call: { windows },
        })
        expect(standings.map(({ held, settled }) => [settled, held])).toEqual([
          [30, 0],
          [20, 0],
        ])
      }).pipe(Effect.scoped),
  )
})
