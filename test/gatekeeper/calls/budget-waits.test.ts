/** Budgets for which callers wait (`OnLimit: wait`): the queue holds, callers are told until when, and it goes on by itself. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { shortHash } from "../../../src/fifo-queue/short-hash.ts"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { Operator } from "../../../src/operator/Operator.ts"
import { ask, BEGIN, begin, caller, enqueue, eventsOf, gateTest, hangUp, start, stateOf } from "../../support/gate.ts"
import { iso } from "../ticket-support.ts"
import { availability, awaited, gauges, given, HOUR, held, status } from "./budget-wait-support.ts"

const team = (Cap: number, more: object = {}) => awaited({ Name: "team", Of: "campaign", Cap, ...more })

/** An operator adds so many minutes. */
const topUp = (by: number) =>
  Gatekeeper.use(({ internals }) => {
    const { budgets, campaigns } = internals()
    const campaign = campaigns.find(undefined)
    if (campaign === undefined) return Effect.die("no campaign")
    return budgets.adjust(campaign, "team", { by, id: `by-${by}` }, { operator: "op", reason: "" })
  })

describe("a budget for which callers wait", () => {
  gateTest(
    "refuses callers where the whole cap is too small for a call, until an operator adds to it",
    given([team(0.3)]),
    () =>
      Effect.gen(function* () {
        expect(yield* ask()).toMatchObject({ _tag: "BudgetExhausted" })
        yield* topUp(1)
        yield* begin()
      }),
  )

  gateTest("has newcomers wait while too little is left, and tells them until when", given([team(1)]), (world) =>
    Effect.gen(function* () {
      yield* begin()
      expect(yield* ask(caller(1))).toMatchObject({ _tag: "Queued", queuePosition: 1, ...held })
      const second = yield* enqueue(caller(2))
      world.connected.add(second)
      yield* TestClock.adjust("3 seconds")
      expect(yield* status(second)).toMatchObject({ state: "waiting", queuePosition: 2, ...held })
      expect(eventsOf(world, second)).toMatchObject([{ type: "position", position: 2, ...held }])
      expect(yield* availability).toEqual({ state: "paused", pausedUntil: iso(HOUR) })
      expect(yield* gauges).toEqual([2, 2])
      const operator = yield* Operator
      const awaits = { resumesAt: BEGIN + HOUR, budgets: ["team"] }
      expect((yield* operator.campaigns).campaigns[0]?.figures).toMatchObject(awaits)
      expect((yield* operator.find({ hash: shortHash(second) })).found).toMatchObject([{ state: "waiting", ...awaits }])
    }),
  )

  gateTest("lets the queue go on in the next window, in order", given([team(0.5)]), (world) =>
    Effect.gen(function* () {
      yield* begin()
      yield* TestClock.adjust("30 seconds")
      yield* hangUp("web-1")
      const first = yield* enqueue(caller(1))
      const second = yield* enqueue(caller(2))
      world.connected.add(first)
      world.connected.add(second)
      yield* TestClock.adjust(HOUR - 31_000)
      expect([yield* stateOf(first), yield* stateOf(second)]).toEqual(["waiting", "waiting"])
      yield* TestClock.adjust("2 seconds")
      // the budget has time for one of the two who could be called
      expect([yield* stateOf(first), yield* stateOf(second)]).toEqual(["called", "waiting"])
      expect((yield* start(first))._tag).toBe("Started")
      yield* TestClock.adjust("2 seconds")
      expect(yield* status(second)).toMatchObject({ state: "waiting", queuePosition: 1, resumesAt: iso(2 * HOUR) })
    }),
  )

  gateTest("lets the queue go on when a call gives back what it held", given([team(1)]), () =>
    Effect.gen(function* () {
      yield* begin()
      const next = yield* enqueue(caller(1))
      yield* TestClock.adjust("10 seconds")
      expect(yield* stateOf(next)).toBe("waiting")
      yield* hangUp("web-1")
      yield* TestClock.adjust("1 second")
      expect(yield* stateOf(next)).toBe("called")
      expect((yield* start(next))._tag).toBe("Started")
    }),
  )

  gateTest("lets the queue go on within a second of a top-up", given([team(0.5)]), () =>
    Effect.gen(function* () {
      yield* begin()
      const next = yield* enqueue(caller(1))
      yield* TestClock.adjust("10 seconds")
      expect(yield* stateOf(next)).toBe("waiting")
      yield* topUp(1)
      yield* TestClock.adjust("1 second")
      expect(yield* stateOf(next)).toBe("called")
      expect(yield* status(next)).not.toHaveProperty("resumesAt")
    }),
  )

  gateTest("does not end running calls, and counts what they use beyond it", given([team(0.5)]), (world) =>
    Effect.gen(function* () {
      world.end = () => Effect.succeed(true)
      yield* begin()
      yield* TestClock.adjust("5 minutes")
      expect(world.endings).toEqual([])
    }),
  )

  gateTest(
    "puts a called caller back who finds nothing, and says so",
    // another campaign of the account uses it up meanwhile
    {
      VoiceAiPlatform: {
        MaxConcurrency: 1,
        Account: { Name: "account", MaxConcurrency: 2 },
        Budgets: [{ ...team(1), Of: "account" }],
        Campaigns: { other: { WebCampaignId: "other", Account: { Name: "account", MaxConcurrency: 2 } } },
      },
    },
    (world) =>
      Effect.gen(function* () {
        yield* begin()
        const next = yield* enqueue(caller(1))
        world.connected.add(next)
        yield* TestClock.adjust("10 seconds")
        yield* hangUp("web-1")
        yield* TestClock.adjust("1 second")
        expect(yield* stateOf(next)).toBe("called")
        yield* begin(caller(2), { campaignId: "other" })
        expect(yield* start(next)).toMatchObject({ _tag: "NotYourTurn", code: "agent_unavailable", queuePosition: 1 })
        expect(yield* status(next)).toMatchObject({ state: "waiting", queuePosition: 1, ...held })
        yield* hangUp("web-2")
        yield* TestClock.adjust("2 seconds")
        expect(yield* stateOf(next)).toBe("called")
      }),
  )

  gateTest(
    "refuses callers while the next window is further away than they wait",
    given([team(1, { Per: "day" })]),
    () =>
      Effect.gen(function* () {
        yield* begin()
        expect(yield* ask(caller(1))).toMatchObject({ _tag: "BudgetExhausted", budget: "team", own: false })
      }),
  )

  gateTest("counts the expected wait from when it has more again", given([team(1)], { MaxConcurrency: 1 }), () =>
    Effect.gen(function* () {
      yield* begin()
      yield* TestClock.adjust("60 seconds")
      yield* hangUp("web-1")
      // a call takes a minute
      expect(yield* ask(caller(1))).toMatchObject({ _tag: "Queued", estimatedWaitSeconds: 3540 + 60 })
    }),
  )

  gateTest(
    "counts what money is left by the price",
    given([{ ...team(0.12), Unit: "money" }], {
      Price: { PerMinute: 0.12, Currency: "EUR" },
    }),
    () =>
      Effect.gen(function* () {
        yield* begin()
        expect(yield* ask(caller(1))).toMatchObject({ _tag: "Queued", ...held })
      }),
  )
})
