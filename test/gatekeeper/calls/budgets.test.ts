/** Budgets: what a call holds, uses and gives back, and what happens when nothing is left. */
import { describe, expect } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { callerBook, campaignBook } from "../../../src/budgets/keys.ts"
import { rules } from "../../../src/budgets/rules.ts"
import { eventKeysOf } from "../../../src/events/keys.ts"
import { rules as eventRules } from "../../../src/events/rules.ts"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { limitKey } from "../../../src/lib/ip/address.ts"
import { NO_CONTEXT } from "../../../src/store/rule.ts"
import { type Rule, Store } from "../../../src/store/Store.ts"
import {
  ask,
  atCapacity,
  awaitedSession,
  BEGIN,
  begin,
  CALLER,
  caller,
  enqueue,
  eventsOf,
  gateTest,
  hangUp,
  remaining,
  start,
  stateOf,
} from "../../support/gate.ts"
import { iso } from "../ticket-support.ts"

const HOUR = 3_600_000
/** when the day of the test begins */
const DAY = Math.floor(BEGIN / (24 * HOUR)) * 24 * HOUR

const team = (Cap: number, more: object = {}) => ({
  Name: "team",
  Of: "campaign",
  Unit: "minutes",
  Per: "day",
  Cap,
  ...more,
})
const own = (Cap: number) => ({ Name: "own", Of: "caller", Unit: "minutes", Per: "day", Cap })
const given = (Budgets: ReadonlyArray<object>, more: object = {}) => ({
  VoiceAiPlatform: { MaxConcurrency: 2, Budgets, ...more },
})

/** What a budget has settled and holds, in its unit. */
const balance = (name: string, keys: ReadonlyArray<string> = campaignBook("business/campaign"), from = DAY) =>
  Effect.gen(function* () {
    const store = yield* Store
    const call = { windows: [{ name, from }] }
    const { standings } = yield* store.run(rules.balance, { keys, now: yield* store.now, context: NO_CONTEXT, call })
    return { settled: standings[0]?.settled, held: standings[0]?.held }
  })
const ofCaller = (address = CALLER) => balance("own", callerBook(limitKey(address)))

/** The store loses these keys. */
const lose = (keys: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const store = yield* Store
    const drop: Rule<object, object, boolean> = {
      name: "test.lose",
      run: (db, [ledger = "", records = "", holds = ""], _now, _context, calls) =>
        calls.map(() => {
          for (const key of [ledger, records, holds]) db.del(key)
          return true
        }),
      lua: "return '[true]'",
      decode: Boolean,
      batch: false,
    }
    return yield* store.run(drop, { keys, now: yield* store.now, context: NO_CONTEXT, call: {} })
  })

describe("a call of a campaign with budgets", () => {
  gateTest("holds time ahead while it runs, and is charged what it has used", given([team(10)]), () =>
    Effect.gen(function* () {
      yield* begin()
      expect(yield* balance("team")).toEqual({ settled: 0, held: 60 })
      yield* TestClock.adjust("29 seconds")
      expect(yield* balance("team")).toEqual({ settled: 0, held: 60 })
      yield* TestClock.adjust("4 seconds")
      expect(yield* balance("team")).toEqual({ settled: 0, held: 120 })
      yield* TestClock.adjust("54 seconds")
      expect(yield* balance("team")).toEqual({ settled: 0, held: 120 })
      yield* hangUp("web-1")
      expect(yield* balance("team")).toEqual({ settled: 87, held: 0 })
      yield* hangUp("web-1")
      yield* TestClock.adjust("3 minutes")
      expect(yield* balance("team")).toEqual({ settled: 87, held: 0 })
    }),
  )

  gateTest("is warned and ended before its time is used up, and the cap is kept", given([team(1.5)]), (world) =>
    Effect.gen(function* () {
      world.end = () => Effect.succeed(true)
      const { uniqueRequestId: ticket } = yield* begin()
      world.connected.add(ticket)
      yield* TestClock.adjust("35 seconds")
      expect(yield* balance("team")).toEqual({ settled: 0, held: 90 })
      expect(eventsOf(world, ticket)).toEqual([{ type: "warning", reason: "budget", endsAt: iso(80_000) }])
      yield* TestClock.adjust("44 seconds")
      expect(world.endings).toEqual([])
      yield* TestClock.adjust("3 seconds")
      expect(world.endings).toEqual(["web-1"])
      expect(yield* stateOf(ticket)).toBe("budget")
      const { held, settled = 0 } = yield* balance("team")
      expect(held).toBe(0)
      expect(settled).toBeGreaterThanOrEqual(80)
      expect(settled).toBeLessThanOrEqual(90)
    }),
  )

  gateTest(
    "whose first time is its last ends when that is used up, and the cap is kept without any lead",
    given([team(0.17)], { Budget: { EndLeadSeconds: 0 } }),
    (world) =>
      Effect.gen(function* () {
        world.end = () => Effect.succeed(true)
        const { endsAt, uniqueRequestId: ticket } = yield* begin()
        expect(endsAt).toBe(iso(10_000))
        yield* TestClock.adjust("9 seconds")
        expect(world.endings).toEqual([])
        yield* TestClock.adjust("1 second")
        expect(world.endings).toEqual(["web-1"])
        expect(yield* stateOf(ticket)).toBe("budget")
        expect(yield* balance("team")).toEqual({ settled: 10, held: 0 })
      }),
  )

  gateTest(
    "that begins with its page's offer ends when its first time is used up, counted from the offer",
    given([team(0.17)], { Budget: { EndLeadSeconds: 0 } }),
    (world) =>
      Effect.gen(function* () {
        world.end = () => Effect.succeed(true)
        world.initiate = () => Effect.map(Clock.currentTimeMillis, awaitedSession)
        const { credential, uniqueRequestId: ticket } = yield* begin()
        const token = credential?.shape === "sdp-relay" ? credential.token : ""
        yield* TestClock.adjust("12 seconds")
        yield* Gatekeeper.use((gate) => gate.relay(ticket, token, "v=0"))
        yield* TestClock.adjust("9 seconds")
        expect(world.endings).toEqual([])
        yield* TestClock.adjust("1 second")
        expect(world.endings).toEqual(["call-1"])
        expect(yield* balance("team")).toEqual({ settled: 10, held: 0 })
      }),
  )

  gateTest(
    "of a budget that only refuses is not shortened by it, as long as it may begin",
    given([team(0.5, { OnLimit: "refuse" }), { ...team(100), Name: "all" }]),
    (world) =>
      Effect.gen(function* () {
        world.end = () => Effect.succeed(true)
        const { endsAt } = yield* begin()
        expect(endsAt).toBe(iso(30 * 60_000))
        expect(yield* balance("team")).toEqual({ settled: 0, held: 30 })
        expect(yield* balance("all")).toEqual({ settled: 0, held: 60 })
        yield* TestClock.adjust("3 minutes")
        expect(world.endings).toEqual([])
      }),
  )

  gateTest("is refused when too little is left, before anything is spent on it", given([team(1)]), (world) =>
    Effect.gen(function* () {
      yield* begin()
      const looked = world.lookedUp.length
      expect(yield* ask(caller(1))).toMatchObject({
        _tag: "BudgetExhausted",
        budget: "team",
        own: false,
        resetsAt: DAY + 24 * HOUR,
      })
      expect(world.lookedUp.length).toBe(looked)
      expect(yield* remaining(caller(1))).toBe(yield* remaining(caller(2)))
      yield* TestClock.adjust("20 seconds")
      yield* hangUp("web-1")
      expect(yield* balance("team")).toEqual({ settled: 20, held: 0 })
      yield* TestClock.adjust("2 seconds")
      // what is left is the last time that the call can have
      yield* begin(caller(1))
      expect(yield* balance("team")).toEqual({ settled: 20, held: 40 })
    }),
  )

  gateTest("of one caller does not use up the time of another", given([own(1)]), () =>
    Effect.gen(function* () {
      yield* begin()
      expect(yield* ofCaller()).toEqual({ settled: 0, held: 60 })
      expect(yield* ask()).toMatchObject({ _tag: "BudgetExhausted", budget: "own", own: true })
      yield* begin(caller(1))
      yield* TestClock.adjust("15 seconds")
      yield* hangUp("web-1")
      expect(yield* ofCaller()).toEqual({ settled: 15, held: 0 })
      expect(yield* ofCaller(caller(1))).toEqual({ settled: 0, held: 60 })
    }),
  )

  gateTest("that the platform does not start gives back what it held", given([own(10), team(10)]), (world) =>
    Effect.gen(function* () {
      world.initiate = () => Effect.fail(atCapacity)
      expect((yield* ask())._tag).toBe("Queued")
      expect(yield* balance("team")).toEqual({ settled: 0, held: 0 })
      expect(yield* ofCaller()).toEqual({ settled: 0, held: 0 })
    }),
  )

  gateTest(
    "that waits is refused at its turn when nothing is left then, and its quota is given back",
    { VoiceAiPlatform: { MaxConcurrency: 1, Budgets: [team(1.5)] } },
    (world) =>
      Effect.gen(function* () {
        world.end = () => Effect.succeed(true)
        yield* begin()
        const before = yield* remaining(caller(1))
        const next = yield* enqueue(caller(1))
        world.connected.add(next)
        yield* TestClock.adjust("82 seconds")
        expect(yield* stateOf(next)).toBe("called")
        expect(yield* start(next)).toMatchObject({ _tag: "BudgetExhausted", budget: "team" })
        expect(yield* stateOf(next)).toBe("budget")
        expect(yield* remaining(caller(1))).toBe(before)
      }),
  )

  gateTest("is only counted where the budget counts", given([team(0.5, { OnLimit: "count" })]), () =>
    Effect.gen(function* () {
      yield* begin()
      yield* begin(caller(1))
      expect(yield* balance("team")).toEqual({ settled: 0, held: 120 })
    }),
  )

  gateTest(
    "goes on where the budget only refuses new calls, and is charged in full",
    given([team(1.5, { OnLimit: "refuse" })]),
    (world) =>
      Effect.gen(function* () {
        world.end = () => Effect.succeed(true)
        yield* begin()
        yield* TestClock.adjust("5 minutes")
        expect(world.endings).toEqual([])
        expect(yield* balance("team")).toEqual({ settled: 0, held: 90 })
        expect((yield* ask(caller(1)))._tag).toBe("BudgetExhausted")
        yield* hangUp("web-1")
        expect(yield* balance("team")).toEqual({ settled: 300, held: 0 })
      }),
  )

  gateTest(
    "is charged in money, rounded once, at the price at which it began",
    given([{ Name: "bill", Of: "campaign", Unit: "money", Per: "day", Cap: 1, AlertAt: [0.5] }], {
      Price: { PerMinute: 0.12, Currency: "EUR", RoundUpSeconds: 6, MinimumSeconds: 30 },
    }),
    () =>
      Effect.gen(function* () {
        yield* begin()
        expect(yield* balance("bill")).toEqual({ settled: 0, held: 120_000 })
        yield* TestClock.adjust("13 seconds")
        yield* hangUp("web-1")
        expect(yield* balance("bill")).toEqual({ settled: 60_000, held: 0 })
        yield* begin()
        yield* TestClock.adjust("31 seconds")
        yield* hangUp("web-2")
        expect(yield* balance("bill")).toEqual({ settled: 132_000, held: 0 })
      }),
  )

  gateTest(
    "counts in the hour in which it began, and the next hour begins anew",
    given([team(2, { Per: "hour" })]),
    () =>
      Effect.gen(function* () {
        const of = (from: number) => balance("team", campaignBook("business/campaign"), from)
        yield* TestClock.adjust("3580 seconds")
        yield* begin()
        yield* TestClock.adjust("45 seconds")
        expect(yield* of(BEGIN)).toEqual({ settled: 0, held: 120 })
        yield* begin(caller(1))
        yield* hangUp("web-1")
        expect(yield* of(BEGIN)).toEqual({ settled: 45, held: 0 })
        expect(yield* of(BEGIN + HOUR)).toEqual({ settled: 0, held: 60 })
      }),
  )

  gateTest("whose caller has left before the platform answered is charged nothing", given([team(10)]), () =>
    Effect.gen(function* () {
      const { uniqueRequestId } = yield* begin()
      yield* TestClock.adjust("1 seconds")
      yield* Gatekeeper.use((gate) => gate.leave(uniqueRequestId))
      yield* hangUp("web-1")
      expect(yield* balance("team")).toEqual({ settled: 1, held: 0 })
    }),
  )

  gateTest(
    "whose hold the store has lost is charged in the windows in which it began",
    given([team(10), own(10)]),
    () =>
      Effect.gen(function* () {
        yield* begin()
        for (const book of [campaignBook("business/campaign"), callerBook(limitKey(CALLER))]) yield* lose(book)
        yield* TestClock.adjust("40 seconds")
        yield* hangUp("web-1")
        expect(yield* balance("team")).toEqual({ settled: 40, held: 0 })
        expect(yield* ofCaller()).toEqual({ settled: 40, held: 0 })
      }),
  )

  gateTest(
    "that runs is held again within a minute when the store has lost its hold",
    given([team(3), own(10)]),
    (world) =>
      Effect.gen(function* () {
        world.end = () => Effect.succeed(true)
        const { uniqueRequestId: ticket } = yield* begin()
        yield* lose(campaignBook("business/campaign"))
        yield* TestClock.adjust("62 seconds")
        const { held = 0 } = yield* balance("team")
        expect(held).toBeGreaterThanOrEqual(120)
        expect((yield* ofCaller()).held).toBe(held)
        yield* TestClock.adjust("2 minutes")
        expect(yield* stateOf(ticket)).toBe("budget")
        const { held: left, settled = 0 } = yield* balance("team")
        expect(left).toBe(0)
        expect(settled).toBeGreaterThanOrEqual(170)
        expect(settled).toBeLessThanOrEqual(180)
      }),
  )

  const topUp = (by: number) =>
    Effect.gen(function* () {
      const store = yield* Store
      const call = { name: "team", from: DAY, until: DAY + 24 * HOUR, by: by * 60, id: `by-${by}` }
      const keys = campaignBook("business/campaign")
      return yield* store.run(rules.adjust, { keys, now: yield* store.now, context: NO_CONTEXT, call })
    })

  gateTest("that was warned goes on when its budget is topped up, and its page is told", given([team(1.5)]), (world) =>
    Effect.gen(function* () {
      world.end = () => Effect.succeed(true)
      const { uniqueRequestId: ticket } = yield* begin()
      world.connected.add(ticket)
      yield* TestClock.adjust("40 seconds")
      expect(eventsOf(world, ticket)).toEqual([{ type: "warning", reason: "budget", endsAt: iso(80_000) }])
      yield* topUp(0.5)
      yield* TestClock.adjust("6 seconds")
      // 30 s more, and no more
      expect(eventsOf(world, ticket).at(-1)).toEqual({ type: "warning", reason: "budget", endsAt: iso(110_000) })
      yield* topUp(5)
      yield* TestClock.adjust("6 seconds")
      // the limit of all calls
      expect(eventsOf(world, ticket).at(-1)).toEqual({ type: "warning", reason: "budget", endsAt: iso(30 * 60_000) })
      const told = eventsOf(world, ticket).length
      yield* TestClock.adjust("3 minutes")
      expect(eventsOf(world, ticket).length).toBe(told)
      expect(world.endings).toEqual([])
      expect(yield* stateOf(ticket)).toBe("live")
      expect((yield* balance("team")).held).toBe(300)
      yield* hangUp("web-1")
      expect(yield* balance("team")).toEqual({ settled: 232, held: 0 })
    }),
  )

  gateTest(
    "that was warned ends at its time limit when its budget is topped up",
    given([team(1.5)], { MaxCallSeconds: 120 }),
    (world) =>
      Effect.gen(function* () {
        world.end = () => Effect.succeed(true)
        const { uniqueRequestId: ticket } = yield* begin()
        world.connected.add(ticket)
        yield* TestClock.adjust("40 seconds")
        expect(eventsOf(world, ticket)).toEqual([{ type: "warning", reason: "budget", endsAt: iso(80_000) }])
        yield* topUp(5)
        yield* TestClock.adjust("6 seconds")
        expect(eventsOf(world, ticket).at(-1)).toEqual({ type: "warning", reason: "budget", endsAt: iso(120_000) })
        yield* TestClock.adjust("60 seconds")
        expect(yield* stateOf(ticket)).toBe("live")
        yield* TestClock.adjust("18 seconds")
        expect(yield* stateOf(ticket)).toBe("too_long")
      }),
  )

  gateTest(
    "has its budget's alerts and its end in the campaign's events, once a window",
    given([team(3, { AlertAt: [0.5, 0.9] })], { Events: { Token: ["the-token-of-the-events"] } }),
    (world) =>
      Effect.gen(function* () {
        world.end = () => Effect.succeed(true)
        const told = Effect.gen(function* () {
          const store = yield* Store
          const keys = eventKeysOf("business/campaign")
          const call = { after: 0, limit: 100 }
          const { events = [] } = yield* store.run(eventRules.read, {
            ...{ keys, now: yield* store.now, context: NO_CONTEXT, call },
          })
          return events
            .map((text): { type: string; budget?: string; share?: number } => JSON.parse(text))
            .filter(({ type }) => type.startsWith("budget."))
            .map(({ budget, share, type }) => [type, budget, share].filter((each) => each !== undefined).join(" "))
        })
        yield* begin()
        expect(yield* told).toEqual([])
        yield* begin(caller(1))
        expect(yield* told).toEqual(["budget.alert team 0.5"])
        yield* TestClock.adjust("40 seconds")
        // all of it is held, and may come back
        expect((yield* ask(caller(2)))._tag).toBe("BudgetExhausted")
        expect(yield* balance("team")).toEqual({ settled: 0, held: 180 })
        expect(yield* told).toEqual(["budget.alert team 0.5", "budget.alert team 0.9"])
        yield* TestClock.adjust("80 seconds")
        const all = ["budget.alert team 0.5", "budget.alert team 0.9", "budget.exhausted team"]
        expect(yield* told).toEqual(all)
        for (const _ of [1, 2]) expect((yield* ask(caller(2)))._tag).toBe("BudgetExhausted")
        expect(yield* told).toEqual(all)
        for (const by of [-1, 0.5]) yield* topUp(by)
        yield* TestClock.adjust("61 seconds")
        expect((yield* ask(caller(2)))._tag).toBe("BudgetExhausted")
        expect(yield* told).toEqual([...all, "budget.exhausted team"])
      }),
  )
})
