/** Sessions end by a webhook, or by an audit that asks the platform. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import {
  ask,
  begin,
  caller,
  enqueue,
  eventsOf,
  figures,
  gateTest,
  hangUp,
  makeWorld,
  platformIsAway,
  remaining,
  start,
  stateOf,
} from "../../support/gate.ts"
import { makeStore, startGate } from "../../support/gates.ts"
import { delayStarts, inBackground } from "../ticket-support.ts"

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

  gateTest("a session-ended webhook of an unknown session frees nothing", {}, () =>
    Effect.gen(function* () {
      yield* begin()
      expect(yield* hangUp("somebody-else")).toBe(false)
      expect(yield* figures()).toEqual({ leases: 1, waiting: 0, live: 1 })
    }),
  )

  gateTest(
    "a session-ended webhook that comes before its session is bound ends it at the bind, with the quota back",
    {},
    (world) =>
      Effect.gen(function* () {
        const answer = yield* delayStarts(world)
        const asked = yield* inBackground(ask())
        expect(yield* hangUp("conversation-1")).toBe(false)
        yield* answer
        expect(yield* Fiber.join(asked)).toMatchObject({ _tag: "PlatformUnavailable", kind: "unavailable" })
        expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
        expect(yield* remaining()).toBe(20)
      }),
  )

  gateTest(
    "a session-ended webhook that comes after the slot was reclaimed touches no newer lease",
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

describe("the longest call", () => {
  const longest = { Queue: { MaxCallMinutes: 2 } }

  gateTest(
    "is ended at the platform shortly before its slot is freed, and the next caller is called",
    longest,
    (world) =>
      Effect.gen(function* () {
        world.end = () => Effect.succeed(true)
        const { uniqueRequestId } = yield* begin()
        const next = yield* enqueue(caller(1))
        world.connected.add(next)
        yield* TestClock.adjust("105 seconds")
        expect(world.endings).toEqual([])
        yield* TestClock.adjust("10 seconds")
        expect(world.endings).toEqual(["web-1"])
        expect(yield* stateOf(uniqueRequestId)).toBe("ended")
        expect(yield* stateOf(next)).toBe("called")
      }),
  )

  gateTest(
    "is asked for again while the platform does not confirm its end",
    { Queue: { MaxCallMinutes: 10 } },
    (world) =>
      Effect.gen(function* () {
        const answers = [Effect.fail(platformIsAway), Effect.succeed(false), Effect.succeed(true)]
        world.end = () => answers.shift() ?? Effect.die("asked too often")
        const { uniqueRequestId } = yield* begin()
        yield* TestClock.adjust("9 minutes")
        yield* TestClock.adjust("20 seconds")
        expect(yield* stateOf(uniqueRequestId)).toBe("live")
        yield* TestClock.adjust("39 seconds")
        expect(world.endings).toEqual(["web-1", "web-1", "web-1"])
        expect(yield* stateOf(uniqueRequestId)).toBe("ended")
      }),
  )

  gateTest("is left to a platform that limits calls itself", longest, (world) =>
    Effect.gen(function* () {
      world.limitsCalls = true
      const { uniqueRequestId } = yield* begin()
      yield* TestClock.adjust("3 minutes")
      expect(world.endings).toEqual([])
      expect(yield* stateOf(uniqueRequestId)).toBe("reclaimed")
    }),
  )

  it.effect("is ended once by two gates, and by the other one if the first dies meanwhile", () =>
    Effect.gen(function* () {
      const world = makeWorld()
      const store = yield* makeStore
      const given = { Queue: { MaxCallMinutes: 10 } }
      const [first, second] = [yield* startGate(world, store, given), yield* startGate(world, store, given)]
      const died: Array<string> = []
      world.end = ({ sessionIds: [id = ""] }) => {
        died.push(id)
        return died.length === 1 ? Effect.never : Effect.succeed(true)
      }
      const { uniqueRequestId } = yield* first.on(begin())
      yield* TestClock.adjust("9 minutes")
      yield* TestClock.adjust("15 seconds")
      expect(world.endings).toEqual(["web-1"])
      // whichever of them is asking
      yield* first.stop
      yield* TestClock.adjust("30 seconds")
      expect(world.endings).toEqual(["web-1", "web-1"])
      expect(yield* second.on(stateOf(uniqueRequestId))).toBe("ended")
    }),
  )
})

describe("a platform that does not answer", () => {
  const SLOW = 10
  const two = {
    VoiceAiPlatform: { MaxConcurrency: SLOW, Campaigns: { other: { WebCampaignId: "other", MaxConcurrency: 1 } } },
    Queue: { MaxCallMinutes: 8 },
  }
  const isSlow = (id = ""): boolean => id !== `web-${SLOW + 1}`
  /** Calls of the slow platform, and a later one of the other campaign's. */
  const beginAll = Effect.gen(function* () {
    for (let n = 0; n < SLOW; n++) yield* begin(caller(n))
    yield* TestClock.adjust("10 seconds")
    return yield* begin(caller(SLOW), { campaignId: "other" })
  })

  gateTest("delays the audit of its own campaign alone", two, (world) =>
    Effect.gen(function* () {
      world.sessionStatus = (id) => (isSlow(id) ? Effect.never : Effect.succeed("over"))
      const { uniqueRequestId } = yield* beginAll
      yield* TestClock.adjust("4 minutes")
      expect(yield* stateOf(uniqueRequestId)).toBe("ended")
    }),
  )

  gateTest("delays the end of its own calls alone", two, (world) =>
    Effect.gen(function* () {
      world.end = ({ sessionIds: [id] }) => (isSlow(id) ? Effect.never : Effect.succeed(true))
      const { uniqueRequestId } = yield* beginAll
      // 48 s before the longest call
      yield* TestClock.adjust("440 seconds")
      expect(yield* stateOf(uniqueRequestId)).toBe("ended")
    }),
  )
})

gateTest("one slot serves three callers in turn: each is queued, called, started and ended", {}, (world) =>
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
