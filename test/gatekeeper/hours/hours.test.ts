/** The hours of a campaign: newcomers are refused while it is closed, and those who wait at the close are served for a while. Every test begins on a Friday at 8:00 in UTC. */
import { assert, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { FifoQueue } from "../../../src/fifo-queue/FifoQueue.ts"
import { Operator } from "../../../src/operator/Operator.ts"
import { Closed } from "../../../src/protocol/refusals.ts"
import type { Store } from "../../../src/store/Store.ts"
import {
  ask,
  BEGIN,
  begin,
  caller,
  enqueue,
  eventsOf,
  figures,
  type Given,
  gateTest,
  hangUp,
  makeWorld,
  remaining,
  start,
  stateOf,
} from "../../support/gate.ts"
import { makeStore, startGate } from "../../support/gates.ts"

const open = (Open: string, more: object = {}): Given => ({
  VoiceAiPlatform: { Hours: { Zone: "UTC", Open, ...more } },
  // an address is looked up
  IpIntel: { Provider: "ipapi.is", ApiKey: "the-key-of-the-provider" },
})
const MONDAY = "2027-01-18T07:00:00.000Z"

const waitingFor = (n: number) => Effect.forEach(Array.from({ length: n }), (_, i) => enqueue(caller(i + 1)))
const present = (tickets: ReadonlyArray<string>) =>
  Effect.forEach(tickets, (ticket) => stateOf(ticket), { concurrency: 1 })
/** Lets time pass for callers who ask for their state all the time, as pages do. */
const pass = Effect.fnUntraced(function* (minutes: number, tickets: ReadonlyArray<string>) {
  for (let n = 0; n < minutes * 4; n++) {
    yield* TestClock.adjust("15 seconds")
    yield* present(tickets)
  }
})

describe("a campaign that is closed", () => {
  gateTest("refuses newcomers with the time when it opens, and spends nothing", open("Mon 07:00-09:00"), (world) =>
    Effect.gen(function* () {
      const refused = yield* ask()
      expect(refused).toMatchObject({ _tag: "Closed", opensAt: MONDAY, retryAfterSeconds: 3 * 86_400 - 3_600 })
      assert.strictEqual(
        refused instanceof Closed ? refused.message : "",
        "We're closed. We open on Monday, 18 January 2027 at 07:00 (UTC).",
      )
      assert.deepStrictEqual(world.lookedUp, [])
      assert.strictEqual(yield* remaining(), 20)
      expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
    }),
  )

  gateTest("opens by itself, and closes again", open("Fri 08:30-09:00"), () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* ask())._tag, "Closed")
      yield* TestClock.adjust("29 minutes")
      assert.strictEqual((yield* ask())._tag, "Closed")
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* ask())._tag, "Started")
      yield* TestClock.adjust("30 minutes")
      expect(yield* ask(caller(1))).toMatchObject({ _tag: "Closed", opensAt: "2027-01-22T08:30:00.000Z" })
    }),
  )

  gateTest(
    "says no time if it does not open within a year",
    open("Mon 07:00-09:00", { Closed: "Jan 1 to Dec 31" }),
    () =>
      Effect.gen(function* () {
        const refused = yield* ask()
        expect(refused).toMatchObject({ _tag: "Closed", retryAfterSeconds: 86_400 })
        assert.notProperty(refused, "opensAt")
      }),
  )

  gateTest(
    "refuses no caller whose estimate is unknown, and one whose turn would come too late",
    open("Fri 07:00-09:00"),
    () =>
      Effect.gen(function* () {
        yield* begin()
        yield* enqueue(caller(1))
        yield* TestClock.adjust("20 minutes")
        yield* hangUp("web-1")
        yield* TestClock.adjust("31 seconds")
        // the one call that was measured took 20 minutes, and the called one has missed the turn
        yield* begin(caller(2))
        yield* enqueue(caller(3))
        yield* TestClock.adjust("2 seconds")
        // it is 8:20, so there is time for the second and not for the third
        expect(yield* ask(caller(4))).toMatchObject({ _tag: "Closed", opensAt: "2027-01-22T07:00:00.000Z" })
        yield* hangUp("web-2")
      }),
  )

  gateTest("answers who waits already", open("Fri 07:00-08:10", { AfterCloseMinutes: 10 }), () =>
    Effect.gen(function* () {
      yield* begin()
      const ticket = yield* enqueue(caller(1))
      yield* pass(11, [ticket])
      expect(yield* ask(caller(1), { uniqueRequestId: ticket })).toMatchObject({ _tag: "Queued", queuePosition: 1 })
      assert.strictEqual((yield* ask(caller(2)))._tag, "Closed")
    }),
  )
})

describe("who waits at the close", () => {
  gateTest(
    "is served until AfterCloseMinutes have passed, then told that it is closed, with a refund",
    open("Fri 07:00-08:05", { AfterCloseMinutes: 10 }),
    (world) =>
      Effect.gen(function* () {
        yield* begin()
        const [first = "", second = "", third = ""] = yield* waitingFor(3)
        yield* pass(10, [first, second, third])
        // after the close, a slot that comes free is the first one's
        yield* hangUp("web-1")
        assert.strictEqual((yield* start(first))._tag, "Started")
        yield* pass(4, [second, third])
        assert.deepStrictEqual(yield* present([second, third]), ["waiting", "waiting"])
        assert.strictEqual(yield* remaining(caller(3)), 19)
        yield* pass(2, [second, third])
        assert.deepStrictEqual(yield* present([first, second, third]), ["live", "closed", "closed"])
        expect(eventsOf(world, third).at(-1)).toEqual({
          type: "ended",
          reason: "closed",
          message: "We have closed before your turn came.",
        })
        assert.strictEqual(yield* remaining(caller(3)), 20)
        // the running call goes on
        expect(yield* figures()).toEqual({ leases: 1, waiting: 0, live: 1 })
        yield* TestClock.adjust("10 minutes")
        expect(yield* figures()).toEqual({ leases: 1, waiting: 0, live: 1 })
      }),
  )

  gateTest("keeps the start window of a turn that has come", open("Fri 07:00-08:05"), () =>
    Effect.gen(function* () {
      yield* begin()
      const [first = "", second = ""] = yield* waitingFor(2)
      yield* pass(4.75, [first, second])
      yield* hangUp("web-1")
      yield* TestClock.adjust("14 seconds")
      assert.deepStrictEqual(yield* present([first, second]), ["called", "waiting"])
      yield* TestClock.adjust("8 seconds")
      assert.deepStrictEqual(yield* present([first, second]), ["called", "closed"])
      assert.strictEqual((yield* start(first))._tag, "Started")
    }),
  )
})

const two = Effect.fnUntraced(function* (given: Given, other: Given = given) {
  yield* TestClock.setTime(BEGIN)
  const world = makeWorld()
  const store = yield* makeStore
  return { world, store, here: yield* startGate(world, store, given), there: yield* startGate(world, store, other) }
})

/** The store as a gate of version 0.1 uses it: its sweeps tell no hours, and its settings have none. */
const withoutHours = (store: Store["Service"]): Store["Service"] => ({
  ...store,
  run: (rule, ask) => {
    if (rule.name === "queue.sweep") return store.run(rule, { ...ask, call: { ...ask.call, hours: undefined } })
    const settings: unknown = rule.name === "gates.heartbeat" ? Reflect.get(ask.call, "settings") : undefined
    if (typeof settings !== "string") return store.run(rule, ask)
    const all: Readonly<Record<string, string>> = JSON.parse(settings)
    const known = Object.entries(all).filter(([path]) => !path.endsWith(" Hours"))
    return store.run(rule, { ...ask, call: { ...ask.call, settings: JSON.stringify(Object.fromEntries(known)) } })
  },
})

const endedEvents = (world: ReturnType<typeof makeWorld>) =>
  world.pushed.filter(([, event]) => event.type === "ended").map(([ticket]) => ticket)

describe("two gates", () => {
  it.effect("end those who wait once, and give their quota back, also when one of them dies half-way", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(BEGIN)
      const world = makeWorld()
      const store = yield* makeStore
      const given = { ...open("Fri 07:00-08:01"), IpIntel: {} }
      const dying = yield* startGate(world, store, given)
      yield* dying.on(begin())
      const tickets = yield* dying.on(waitingFor(450))
      for (const ticket of tickets) world.connected.add(ticket)
      yield* TestClock.adjust("60 seconds")
      // the last that it does is one step of the queue, whose effects nobody carries out
      yield* TestClock.adjust("3500 millis")
      assert.deepStrictEqual(endedEvents(world), [])
      const { sweep } = yield* dying.on(FifoQueue)
      yield* dying.stop
      yield* TestClock.adjust("2 seconds")
      const at = { campaign: "business/campaign", slots: 1, instance: "" }
      const { result, settlements } = yield* sweep(
        at,
        undefined,
        {},
        { _tag: "closed", since: BEGIN + 60_000, servedMillis: 0 },
      )
      assert.deepStrictEqual([result.more, result.waiting, settlements.length], [true, 350, 100])
      yield* startGate(world, store, given)
      const there = yield* startGate(world, store, given)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(new Set(endedEvents(world)), new Set(tickets))
      assert.deepStrictEqual(
        yield* there.on(Effect.forEach([1, 200, 300, 450], (n) => remaining(caller(n)))),
        [20, 20, 20, 20],
      )
      assert.strictEqual(yield* there.on(stateOf(tickets.at(-1) ?? "")), "closed")
    }),
  )

  it.effect("of which one says that it is open end nobody; the place is kept until both say that it is closed", () =>
    Effect.gen(function* () {
      const given = { ...open("Fri 07:00-09:00"), IpIntel: {} }
      const { here, store, there, world } = yield* two(given)
      yield* here.on(begin())
      const ticket = yield* here.on(enqueue(caller(1)))
      world.connected.add(ticket)
      // a reload: the zone is another one, in which it closed an hour ago
      const moved = {
        ...given,
        VoiceAiPlatform: { Hours: { Zone: "Europe/Helsinki", Open: "Fri 07:00-09:00", AfterCloseMinutes: 1 } },
      }
      yield* here.stop
      const again = yield* startGate(world, store, moved)
      yield* TestClock.adjust("3 minutes")
      assert.strictEqual((yield* again.on(ask(caller(2))))._tag, "Closed")
      assert.strictEqual(yield* again.on(stateOf(ticket)), "waiting")
      yield* there.stop
      yield* startGate(world, store, moved)
      yield* TestClock.adjust("50 seconds")
      assert.strictEqual(yield* again.on(stateOf(ticket)), "waiting")
      yield* TestClock.adjust("20 seconds")
      assert.strictEqual(yield* again.on(stateOf(ticket)), "closed")
    }),
  )

  it.effect(
    "of which one has no hours yet end nobody; the first hours of a campaign count from when both have them",
    () =>
      Effect.gen(function* () {
        const without: Given = { IpIntel: {} }
        const { here, store, there, world } = yield* two(without)
        yield* here.on(begin())
        const ticket = yield* here.on(enqueue(caller(1)))
        world.connected.add(ticket)
        // it closed an hour ago
        const first = { ...open("Fri 06:00-07:00", { AfterCloseMinutes: 1 }), IpIntel: {} }
        yield* here.stop
        const again = yield* startGate(world, store, first)
        yield* TestClock.adjust("3 minutes")
        assert.strictEqual((yield* again.on(ask(caller(2))))._tag, "Closed")
        // the other one still takes callers
        const late = yield* there.on(enqueue(caller(3)))
        world.connected.add(late)
        yield* TestClock.adjust("3 minutes")
        assert.deepStrictEqual(yield* again.on(present([ticket, late])), ["waiting", "waiting"])
        yield* there.stop
        const other = yield* startGate(world, store, first)
        yield* TestClock.adjust("50 seconds")
        assert.deepStrictEqual(yield* other.on(present([ticket, late])), ["waiting", "waiting"])
        yield* TestClock.adjust("20 seconds")
        assert.deepStrictEqual(yield* again.on(present([ticket, late])), ["closed", "closed"])
        assert.deepStrictEqual(yield* again.on(Effect.forEach([1, 3], (n) => remaining(caller(n)))), [20, 20])
      }),
  )

  it.effect(
    "of which one is of version 0.1, which knows no hours, end nobody; the other one says so, and serves for AfterCloseMinutes after the last word of the older one",
    () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(BEGIN)
        const world = makeWorld()
        const store = yield* makeStore
        const older = yield* startGate(world, withoutHours(store), { IpIntel: {} })
        yield* older.on(begin())
        // it closed an hour ago
        const here = yield* startGate(world, store, {
          ...open("Fri 06:00-07:00", { AfterCloseMinutes: 1 }),
          IpIntel: {},
        })
        const ticket = yield* older.on(enqueue(caller(1)))
        world.connected.add(ticket)
        yield* TestClock.adjust("3 minutes")
        assert.strictEqual((yield* here.on(ask(caller(2))))._tag, "Closed")
        assert.strictEqual(yield* here.on(stateOf(ticket)), "waiting")
        const view = yield* here.on(
          Operator.use((operator) => operator.view("default", { firstSlot: 0, slots: 1, firstPlace: 0, places: 1 }, 0)),
        )
        assert.strictEqual(view?.hours?.state, "closing")
        expect(view?.health.find(({ name }) => name === "Instances")).toMatchObject({
          state: "failed",
          detail: expect.stringContaining("Instances of a version without opening hours serve default:"),
        })
        const said = here.warnings.filter((line) => line.includes("has no opening hours and takes callers of default"))
        assert.strictEqual(said.length, 1)
        yield* older.stop
        yield* TestClock.adjust("80 seconds")
        assert.strictEqual(yield* here.on(stateOf(ticket)), "waiting")
        yield* TestClock.adjust("20 seconds")
        assert.strictEqual(yield* here.on(stateOf(ticket)), "closed")
        const after = yield* here.on(
          Operator.use((operator) => operator.view("default", { firstSlot: 0, slots: 1, firstPlace: 0, places: 1 }, 0)),
        )
        assert.strictEqual(after?.health.find(({ name }) => name === "Instances")?.state, "ok")
      }),
  )

  it.effect(
    "keep the time of those who wait when one of them dies, and give it anew after five minutes without a gate",
    () =>
      Effect.gen(function* () {
        const given = { ...open("Fri 07:00-08:01", { AfterCloseMinutes: 2 }), IpIntel: {} }
        const { here, store, there, world } = yield* two(given)
        yield* here.on(begin())
        const ticket = yield* here.on(enqueue(caller(1)))
        world.connected.add(ticket)
        yield* TestClock.adjust("90 seconds")
        yield* here.stop
        const again = yield* startGate(world, store, given)
        yield* TestClock.adjust("80 seconds")
        assert.strictEqual(yield* again.on(stateOf(ticket)), "waiting")
        yield* again.stop
        yield* there.stop
        yield* TestClock.adjust("6 minutes")
        const last = yield* startGate(world, store, given)
        yield* TestClock.adjust("100 seconds")
        assert.strictEqual(yield* last.on(stateOf(ticket)), "waiting")
        yield* TestClock.adjust("30 seconds")
        assert.strictEqual(yield* last.on(stateOf(ticket)), "closed")
      }),
  )
})
