/** Ends of sessions, and background tasks: deadlines, lost messages, pushed positions. */
import { describe, expect } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { FifoQueue } from "../../src/FifoQueue.ts"
import { Gatekeeper } from "../../src/Gatekeeper.ts"
import { ticketUnknown } from "../../src/gatekeeper/outcomes.ts"
import { RateLimiter } from "../../src/RateLimiter.ts"
import {
  ask,
  begin,
  CALLER,
  caller,
  enqueue,
  eventsOf,
  figures,
  gateTest,
  hangUp,
  platformIsAway,
  remaining,
  session,
  start,
  stateOf,
  type World,
} from "../support/gate.ts"

const at = { campaign: "business/campaign", slots: 1, instance: "" }

describe("a session-ended webhook", () => {
  gateTest("frees the slot under either id, and a repeat frees nothing", {}, () =>
    Effect.gen(function* () {
      yield* begin()
      const first = yield* enqueue(caller(1))
      const second = yield* enqueue(caller(2))
      expect(yield* hangUp("conversation-1")).toBe(true)
      expect(yield* hangUp("web-1")).toBe(false)
      expect(yield* hangUp("web-1", "conversation-1")).toBe(false)
      expect(yield* stateOf(first)).toBe("called")
      expect(yield* stateOf(second)).toBe("waiting")
      expect(yield* figures()).toEqual({ leases: 1, waiting: 1, live: 0 })
    }),
  )

  gateTest("of an unknown session frees nothing", {}, () =>
    Effect.gen(function* () {
      yield* begin()
      expect(yield* hangUp("somebody-else")).toBe(false)
      expect(yield* figures()).toEqual({ leases: 1, waiting: 0, live: 1 })
    }),
  )

  gateTest("that comes before its session is bound ends it at the bind, with the quota back", {}, (world) =>
    Effect.gen(function* () {
      const answer = yield* Deferred.make<void>()
      world.initiate = (n) => Effect.as(Deferred.await(answer), session(n))
      const asked = yield* Effect.forkChild(ask())
      yield* Effect.yieldNow
      expect(yield* hangUp("conversation-1")).toBe(false)
      yield* Deferred.succeed(answer, undefined)
      expect(yield* Fiber.join(asked)).toMatchObject({ _tag: "PlatformUnavailable", kind: "unavailable" })
      expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
      expect(yield* remaining()).toBe(20)
    }),
  )

  gateTest(
    "that comes after the slot was reclaimed touches no newer lease",
    { Queue: { MaxCallMinutes: 1 } },
    (world) =>
      Effect.gen(function* () {
        const old = yield* begin()
        yield* TestClock.adjust("62 seconds")
        expect(yield* stateOf(old.uniqueRequestId)).toBe("reclaimed")
        expect(eventsOf(world, old.uniqueRequestId)).toMatchObject([{ type: "ended", reason: "reclaimed" }])
        const next = yield* begin(caller(1))
        expect(yield* hangUp("web-1")).toBe(false)
        expect(yield* stateOf(next.uniqueRequestId)).toBe("live")
        expect(yield* figures()).toEqual({ leases: 1, waiting: 0, live: 1 })
      }),
  )
})

describe("the sweep", () => {
  gateTest("passes on the slot of a ticket that misses its turn, within a second", {}, (world) =>
    Effect.gen(function* () {
      yield* begin()
      const first = yield* enqueue(caller(1))
      const second = yield* enqueue(caller(2))
      world.connected.add(second)
      yield* hangUp("web-1")
      yield* TestClock.adjust("30 seconds")
      expect(eventsOf(world, second).filter(({ type }) => type === "start_call")).toEqual([])
      yield* TestClock.adjust("1 second")
      expect(eventsOf(world, second).filter(({ type }) => type === "start_call").length).toBeGreaterThan(0)
      expect(yield* stateOf(first)).toBe("missed")
    }),
  )

  gateTest("abandons only tickets that are absent longer than the grace", {}, (world) =>
    Effect.gen(function* () {
      yield* begin()
      const absent = yield* enqueue(caller(1))
      const present = yield* enqueue(caller(2))
      world.connected.add(present)
      yield* TestClock.adjust("30 seconds")
      expect(eventsOf(world, absent)).toEqual([])
      yield* TestClock.adjust("1 second")
      expect(eventsOf(world, absent)).toMatchObject([{ type: "ended", reason: "abandoned" }])
      world.connected.delete(present)
      // the last tick kept it for the grace and one tick more
      yield* TestClock.adjust("29 seconds")
      expect(yield* figures()).toMatchObject({ waiting: 1 })
      yield* TestClock.adjust("5 seconds")
      expect(yield* figures()).toMatchObject({ waiting: 0 })
    }),
  )

  gateTest(
    "requeues the ticket of a start whose process died, and holds the slot until the platform knows no session",
    {},
    () =>
      Effect.gen(function* () {
        const queue = yield* FifoQueue
        const limiter = yield* RateLimiter
        // as left by a process that dies during a start
        yield* limiter.take(CALLER, "orphan")
        yield* queue.admit(at, { id: "orphan", caller: CALLER, holds: false, network: "", data: "{}" })
        const next = yield* enqueue(caller(1))
        expect(yield* remaining()).toBe(19)
        yield* TestClock.adjust("30 seconds")
        yield* stateOf(next)
        yield* TestClock.adjust("1 second")
        expect(yield* figures()).toMatchObject({ leases: 1, waiting: 2 })
        yield* queue.leave(at, "orphan")
        // the platform has no such session, as it says twice
        yield* TestClock.adjust("4 seconds")
        expect(yield* stateOf(next)).toBe("waiting")
        yield* TestClock.adjust("7 seconds")
        expect(yield* stateOf(next)).toBe("called")
      }),
  )

  gateTest("carries out settlements of a process that died", { Security: { RateLimitConcurrency: 1 } }, () =>
    Effect.gen(function* () {
      const queue = yield* FifoQueue
      yield* begin()
      // the process that took this webhook died before it told the limiter
      const ended = yield* queue.end(at, ["web-1"])
      expect(ended.settlements).toMatchObject([{ kind: "release", caller: CALLER }])
      expect(yield* ask()).toMatchObject({ _tag: "RateLimited", limit: "concurrent" })
      yield* TestClock.adjust("7 seconds")
      expect((yield* ask())._tag).toBe("Started")
    }),
  )

  gateTest("recovers a lost wake-up within a second", {}, (world) =>
    Effect.gen(function* () {
      const queue = yield* FifoQueue
      yield* begin()
      const ticket = yield* enqueue(caller(1))
      // with no slots at this moment the end calls nobody
      yield* queue.end({ ...at, slots: 0 }, ["web-1"])
      expect(eventsOf(world, ticket)).toEqual([])
      yield* TestClock.adjust("1 second")
      expect(eventsOf(world, ticket)).toMatchObject([{ type: "start_call" }])
    }),
  )

  gateTest("deletes tickets ten minutes after their end", {}, () =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      const { uniqueRequestId } = yield* begin()
      yield* hangUp("web-1")
      yield* TestClock.adjust("9 minutes")
      expect(yield* stateOf(uniqueRequestId)).toBe("ended")
      yield* TestClock.adjust("2 minutes")
      expect(yield* Effect.flip(gate.status(uniqueRequestId))).toMatchObject({ _tag: ticketUnknown()._tag })
    }),
  )
})

describe("the tick", () => {
  gateTest("sends their position to connected tickets only", {}, (world) =>
    Effect.gen(function* () {
      yield* begin()
      const first = yield* enqueue(caller(1))
      const second = yield* enqueue(caller(2))
      world.connected.add(second)
      yield* TestClock.adjust("2 seconds")
      expect(world.pushed).toEqual([
        [second, { type: "position", position: 2, queueLength: 2, estimatedWaitSeconds: null }],
      ])
      const gate = yield* Gatekeeper
      yield* gate.leave(first)
      yield* TestClock.adjust("2 seconds")
      expect(eventsOf(world, second).at(-1)).toMatchObject({ position: 1, queueLength: 1 })
    }),
  )

  gateTest("sends a start call again whose message was lost", {}, (world) =>
    Effect.gen(function* () {
      const queue = yield* FifoQueue
      yield* begin()
      const ticket = yield* enqueue(caller(1))
      world.connected.add(ticket)
      // the signal goes nowhere
      expect((yield* queue.end(at, ["web-1"])).signals).toMatchObject([{ kind: { _tag: "ended" } }, { ticket }])
      expect(eventsOf(world, ticket)).toEqual([])
      yield* TestClock.adjust("2 seconds")
      expect(eventsOf(world, ticket)).toMatchObject([{ type: "start_call" }])
    }),
  )

  gateTest("informs a page whose ticket the store has lost", {}, (world) =>
    Effect.gen(function* () {
      const { uniqueRequestId } = yield* begin()
      const lost = `0${uniqueRequestId.slice(1, -5)}0${uniqueRequestId.slice(-4)}`
      world.connected.add(lost)
      yield* TestClock.adjust("2 seconds")
      expect(eventsOf(world, lost)).toMatchObject([{ type: "ended", reason: "unknown" }])
    }),
  )

  gateTest("sends nothing to a live ticket", {}, (world) =>
    Effect.gen(function* () {
      const { uniqueRequestId } = yield* begin()
      world.connected.add(uniqueRequestId)
      yield* TestClock.adjust("10 seconds")
      expect(world.pushed).toEqual([])
    }),
  )
})

describe("a platform whose webhook uses another session id than its start", () => {
  const oneId = (world: World): void => {
    world.initiate = (n) => Effect.succeed({ ...session(n), sessionIds: [`web-${n}`] })
    world.sessionIds = (id) => [id, id.replace("web", "conversation")]
  }

  gateTest("has its slot freed by the webhook, because the history was read soon after the start", {}, (world) =>
    Effect.gen(function* () {
      oneId(world)
      const { uniqueRequestId } = yield* begin()
      yield* TestClock.adjust("2 seconds")
      expect(yield* hangUp("conversation-1")).toBe(true)
      expect(yield* stateOf(uniqueRequestId)).toBe("ended")
      expect(yield* hangUp("web-1")).toBe(false)
    }),
  )

  gateTest("has its slot freed even if the webhook came before the history was read", {}, (world) =>
    Effect.gen(function* () {
      oneId(world)
      const { uniqueRequestId } = yield* begin()
      const next = yield* enqueue(caller(2))
      expect(yield* hangUp("conversation-1")).toBe(false)
      yield* TestClock.adjust("2 seconds")
      expect(yield* stateOf(uniqueRequestId)).toBe("ended")
      expect(yield* stateOf(next)).toBe("called")
    }),
  )

  gateTest("is asked once more after a history without further ids, and then no more for a while", {}, (world) =>
    Effect.gen(function* () {
      oneId(world)
      let asked = 0
      world.sessionIds = () => {
        asked++
        return []
      }
      yield* begin()
      yield* TestClock.adjust("10 seconds")
      expect(asked).toBe(2)
      yield* hangUp("web-1")
      yield* begin(caller(2))
      yield* TestClock.adjust("10 seconds")
      expect(asked).toBe(2)
    }),
  )

  gateTest("is covered by the audit if its history had no ids before", {}, (world) =>
    Effect.gen(function* () {
      oneId(world)
      world.sessionIds = () => []
      const { uniqueRequestId } = yield* begin()
      yield* TestClock.adjust("1 minute")
      world.sessionIds = (id) => [id, "conversation-1"]
      yield* TestClock.adjust("4 minutes")
      expect(yield* hangUp("conversation-1")).toBe(true)
      expect(yield* stateOf(uniqueRequestId)).toBe("ended")
    }),
  )

  gateTest("is not asked if the start returned both ids", {}, (world) =>
    Effect.gen(function* () {
      let asked = 0
      world.sessionIds = () => {
        asked++
        return []
      }
      yield* begin()
      yield* TestClock.adjust("10 seconds")
      expect(asked).toBe(0)
    }),
  )
})

describe("the audit of old sessions", () => {
  gateTest("frees the slot of one that has ended at the platform", {}, (world) =>
    Effect.gen(function* () {
      const { uniqueRequestId } = yield* begin()
      const asked: Array<string> = []
      world.sessionStatus = (id) =>
        Effect.sync(() => {
          asked.push(id)
          return "over" as const
        })
      yield* TestClock.adjust("2 minutes")
      expect(asked).toEqual([])
      yield* TestClock.adjust("2 minutes")
      expect(asked).toEqual(["web-1"])
      expect(yield* stateOf(uniqueRequestId)).toBe("ended")
      expect(yield* figures()).toMatchObject({ leases: 0, live: 0 })
      expect(yield* hangUp("conversation-1")).toBe(false)
    }),
  )

  for (const [what, answer] of [
    ["calls running", Effect.succeed("running" as const)],
    ["does not know", Effect.succeed("unknown" as const)],
    ["does not answer for", Effect.fail(platformIsAway)],
  ] as const) {
    gateTest(`leaves one alone that the platform ${what}`, {}, (world) =>
      Effect.gen(function* () {
        const { uniqueRequestId } = yield* begin()
        world.sessionStatus = () => answer
        yield* TestClock.adjust("5 minutes")
        expect(yield* stateOf(uniqueRequestId)).toBe("live")
      }),
    )
  }
})

gateTest("a whole life passes: asked, queued, called, started, ended, with one slot for three callers", {}, (world) =>
  Effect.gen(function* () {
    yield* begin(caller(1))
    const tickets = [yield* enqueue(caller(2)), yield* enqueue(caller(3))]
    for (const ticket of tickets) world.connected.add(ticket)
    for (const [n, ticket] of tickets.entries()) {
      yield* TestClock.adjust("60 seconds")
      expect(yield* hangUp(`web-${n + 1}`)).toBe(true)
      expect(eventsOf(world, ticket).at(-1)).toMatchObject({ type: "start_call" })
      expect(yield* start(ticket)).toMatchObject({ _tag: "Started", sessionId: `web-${n + 2}` })
      world.connected.delete(ticket)
    }
    yield* hangUp("conversation-3")
    expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
    expect(yield* Effect.forEach(tickets, stateOf)).toEqual(["ended", "ended"])
  }),
)
