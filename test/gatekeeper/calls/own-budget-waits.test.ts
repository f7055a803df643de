/** Budgets of callers for which they wait (`Of: caller`, `OnLimit: wait`): who has used up his own waits for it, and nobody else does. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { shortHash } from "../../../src/fifo-queue/short-hash.ts"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { Operator } from "../../../src/operator/Operator.ts"
import {
  ask,
  BEGIN,
  begin,
  CALLER,
  caller,
  enqueue,
  eventsOf,
  gateTest,
  hangUp,
  start,
  stateOf,
} from "../../support/gate.ts"
import { availability, awaited, gauges, given, HOUR, held, status } from "./budget-wait-support.ts"

const own = (Cap: number, more: object = {}) => awaited({ Name: "own", Of: "caller", Cap, ...more })

/** An operator adds so many minutes to the budget of a caller. */
const topUp = (by: number) =>
  Gatekeeper.use(({ internals }) => {
    const { budgets, callerKey, campaigns } = internals()
    const campaign = campaigns.find(undefined)
    if (campaign === undefined) return Effect.die("no campaign")
    const of = callerKey({ address: CALLER })
    return budgets.adjust(campaign, "own", { caller: of, by, id: `by-${by}` }, { operator: "op", reason: "" })
  })

describe("a budget of their own for which callers wait", () => {
  gateTest(
    "refuses callers where the whole cap is too small for a call, until an operator adds to it",
    given([own(0.3)]),
    () =>
      Effect.gen(function* () {
        expect(yield* ask()).toMatchObject({ _tag: "BudgetExhausted" })
        yield* topUp(1)
        yield* begin()
      }),
  )

  gateTest("gives its caller a place, tells him until when, and lets others start", given([own(1)]), (world) =>
    Effect.gen(function* () {
      yield* begin()
      expect(yield* ask()).toMatchObject({ _tag: "Queued", queuePosition: 1, ...held })
      const again = yield* enqueue()
      world.connected.add(again)
      yield* TestClock.adjust("1 second")
      expect(yield* availability).toEqual({ state: "open", estimatedWaitSeconds: 0 })
      yield* begin(caller(1))
      const other = yield* enqueue(caller(2))
      world.connected.add(other)
      expect(yield* status(other)).toMatchObject({ queuePosition: 1 })
      yield* TestClock.adjust("2 seconds")
      expect(eventsOf(world, again)).toMatchObject([{ type: "position", position: 1, ...held }])
      expect(eventsOf(world, other)).toMatchObject([{ type: "position", position: 1 }])
      expect(eventsOf(world, other)[0]).not.toHaveProperty("resumesAt")
      expect(yield* gauges).toEqual([3, 2])
      yield* hangUp("web-2")
      expect([yield* stateOf(again), yield* stateOf(other)]).toEqual(["waiting", "called"])
    }),
  )

  gateTest("is named to an operator, with the time at which the caller is called at the latest", given([own(1)]), () =>
    Effect.gen(function* () {
      yield* begin()
      const waits = yield* enqueue()
      const operator = yield* Operator
      const awaits = { resumesAt: BEGIN + HOUR, budgets: ["own"] }
      const { found } = yield* operator.find({ hash: shortHash(waits) })
      expect(found).toMatchObject([{ state: "waiting", ...awaits }])
      const view = yield* operator.view(undefined, { firstSlot: 0, slots: 0, firstPlace: 0, places: 10 }, 0)
      expect(view?.queue?.waitingPage).toMatchObject([{ passedOver: "budget", ...awaits }])
      expect(view?.queue).not.toHaveProperty("budgets")
    }),
  )

  gateTest("is told to a connected caller, and when it has more", given([own(1)]), (world) =>
    Effect.gen(function* () {
      yield* begin()
      yield* begin(caller(1))
      const waits = yield* enqueue()
      world.connected.add(waits)
      yield* TestClock.adjust("10 seconds")
      for (const event of eventsOf(world, waits)) expect(event).toMatchObject(held)
      // every half minute at most, while nothing changes
      expect(eventsOf(world, waits).length).toBeLessThanOrEqual(2)
      yield* topUp(1)
      yield* TestClock.adjust("7 seconds")
      expect(eventsOf(world, waits).at(-1)).not.toHaveProperty("resumesAt")
      expect(yield* status(waits)).not.toHaveProperty("resumesAt")
    }),
  )

  gateTest("has its caller called in the next window", given([own(0.5)]), (world) =>
    Effect.gen(function* () {
      yield* begin()
      yield* TestClock.adjust("30 seconds")
      yield* hangUp("web-1")
      const waits = yield* enqueue()
      world.connected.add(waits)
      yield* TestClock.adjust(HOUR - 31_000)
      expect(yield* stateOf(waits)).toBe("waiting")
      yield* TestClock.adjust("3 seconds")
      expect(yield* stateOf(waits)).toBe("called")
      expect((yield* start(waits))._tag).toBe("Started")
    }),
  )

  gateTest("has its caller called when a call of his gives back what it held", given([own(1)]), () =>
    Effect.gen(function* () {
      yield* begin()
      const waits = yield* enqueue()
      yield* TestClock.adjust("10 seconds")
      expect(yield* stateOf(waits)).toBe("waiting")
      yield* hangUp("web-1")
      yield* TestClock.adjust("5 seconds")
      expect(yield* stateOf(waits)).toBe("called")
      expect((yield* start(waits))._tag).toBe("Started")
    }),
  )

  gateTest("has its caller called within five seconds of a top-up", given([own(1)]), () =>
    Effect.gen(function* () {
      yield* begin()
      const waits = yield* enqueue()
      yield* TestClock.adjust("10 seconds")
      yield* topUp(1)
      yield* TestClock.adjust("5 seconds")
      expect(yield* stateOf(waits)).toBe("called")
    }),
  )

  gateTest("puts a called caller back who finds nothing, and calls the next", given([own(1)]), (world) =>
    Effect.gen(function* () {
      yield* begin(caller(1))
      yield* begin(caller(2))
      const [first, second] = [yield* enqueue(), yield* enqueue()]
      const next = yield* enqueue(caller(3))
      for (const each of [first, second, next]) world.connected.add(each)
      yield* hangUp("web-1")
      yield* hangUp("web-2")
      expect([yield* stateOf(first), yield* stateOf(second)]).toEqual(["called", "called"])
      expect((yield* start(first))._tag).toBe("Started")
      expect(yield* start(second)).toMatchObject({ _tag: "NotYourTurn", code: "agent_unavailable", queuePosition: 1 })
      expect(yield* status(second)).toMatchObject({ state: "waiting", ...held })
      expect(yield* stateOf(next)).toBe("called")
    }),
  )

  gateTest(
    "refuses its caller while the next window is further away than callers wait",
    given([own(1, { Per: "day" })]),
    () =>
      Effect.gen(function* () {
        yield* begin()
        expect(yield* ask()).toMatchObject({ _tag: "BudgetExhausted", budget: "own", own: true })
        yield* begin(caller(1))
      }),
  )

  gateTest(
    "refuses its caller where the campaign closes before",
    given([own(1)], { Hours: { Zone: "UTC", Open: "Fri 07:00-08:30", AfterCloseMinutes: 0 } }),
    () =>
      Effect.gen(function* () {
        yield* begin()
        expect(yield* ask()).toMatchObject({ _tag: "BudgetExhausted", own: true })
      }),
  )

  gateTest(
    "is one of several: the last of those that are used up counts",
    given([own(1), own(1, { Name: "day", Per: "day", OnLimit: "refuse" })]),
    () =>
      Effect.gen(function* () {
        yield* begin()
        expect(yield* ask()).toMatchObject({ _tag: "BudgetExhausted", budget: "day" })
      }),
  )

  gateTest(
    "ends the wait of a called caller whom another budget refuses",
    given([own(1), own(1, { Name: "day", Per: "day", OnLimit: "refuse" })]),
    () =>
      Effect.gen(function* () {
        yield* begin(caller(1))
        yield* begin(caller(2))
        const [first, second] = [yield* enqueue(), yield* enqueue()]
        yield* hangUp("web-1")
        yield* hangUp("web-2")
        expect((yield* start(first))._tag).toBe("Started")
        expect(yield* start(second)).toMatchObject({ _tag: "BudgetExhausted", budget: "day" })
        expect(yield* stateOf(second)).toBe("budget")
      }),
  )
})
