/** What a session request becomes when the platform refuses it, limits it or is at capacity. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import {
  ask,
  atCapacity,
  begin,
  caller,
  enqueue,
  figures,
  gateTest,
  hangUp,
  keyIsLimited,
  platformRefuses,
  platformRefusesRequest,
  remaining,
  session,
  start,
  stateOf,
} from "../../support/gate.ts"

describe("the platform", () => {
  gateTest(
    "refuses the key: new callers are refused where the settings say so, and slot and quota are given back",
    { Security: { RateLimitConcurrency: 1 }, Queue: { OnPlatformRefusal: "refuse" } },
    (world) =>
      Effect.gen(function* () {
        world.initiate = () => Effect.fail(platformRefuses)
        const outcome = yield* ask()
        expect(outcome).toMatchObject({ _tag: "PlatformUnavailable", kind: "rejected" })
        expect(JSON.stringify(outcome)).not.toContain("the-platform-key")
        expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
        expect(yield* remaining()).toBe(20)
        // one caller after the other tests it, the others are refused at once
        expect(yield* ask(caller(2))).toMatchObject({ _tag: "PlatformUnavailable", kind: "rejected" })
        expect(world.initiated.length).toBe(1)
        expect(yield* remaining(caller(2))).toBe(20)
        world.initiate = (n) => Effect.succeed(session(n))
        yield* TestClock.adjust("2 seconds")
        expect((yield* ask())._tag).toBe("Started")
      }),
  )

  gateTest("refuses a caller's request: only that caller fails, and keeps being charged", {}, (world) =>
    Effect.gen(function* () {
      world.initiate = () => Effect.fail(platformRefusesRequest)
      const outcome = yield* ask(caller(1))
      expect(outcome).toMatchObject({ _tag: "PlatformUnavailable", kind: "refused" })
      expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
      yield* TestClock.adjust("1 minute")
      expect(yield* remaining(caller(1))).toBe(19)
      world.initiate = (n) => Effect.succeed(session(n))
      expect((yield* ask(caller(2)))._tag).toBe("Started")
    }),
  )

  gateTest("limits the key's requests: the ticket keeps its place, and starts resume soon", {}, (world) =>
    Effect.gen(function* () {
      world.initiate = () => Effect.fail(keyIsLimited(60_000))
      const first = yield* enqueue(caller(1))
      const second = yield* enqueue(caller(2))
      world.connected.add(first).add(second)
      // not doubled: each time five seconds at most, until it is called again
      for (let n = 0; n < 5; n++) {
        yield* TestClock.adjust("4 seconds")
        expect(yield* stateOf(first)).toBe("waiting")
        yield* TestClock.adjust("2 seconds")
        expect(yield* stateOf(first)).toBe("called")
        expect(yield* start(first)).toMatchObject({ _tag: "NotYourTurn", code: "agent_busy", queuePosition: 1 })
      }
      world.initiate = (n) => Effect.succeed(session(n))
      yield* TestClock.adjust("6 seconds")
      expect((yield* start(first))._tag).toBe("Started")
      expect(yield* stateOf(second)).toBe("waiting")
    }),
  )

  gateTest("receives the group of the caller, for an immediate and for a later start", {}, (world) =>
    Effect.gen(function* () {
      yield* begin("8.8.8.7")
      const sameNetwork = yield* enqueue("8.8.8.200")
      const another = yield* enqueue("8.8.4.7")
      yield* hangUp("web-1")
      yield* start(sameNetwork)
      yield* hangUp("web-2")
      yield* start(another)
      const [first, second, third] = world.groups
      expect(second).toBe(first)
      expect(third).not.toBe(first)
      // it does not reveal the address
      expect(first).toMatch(/^[0-9a-z]{1,4}$/)
    }),
  )

  gateTest("is at capacity: the ticket keeps its place, and the campaign backs off and retries", {}, (world) =>
    Effect.gen(function* () {
      world.initiate = () => Effect.fail(atCapacity)
      const first = yield* enqueue(caller(1))
      const second = yield* enqueue(caller(2))
      world.connected.add(first).add(second)
      expect(world.initiated.length).toBe(1)
      yield* TestClock.adjust("1 second")
      expect(yield* stateOf(first)).toBe("waiting")
      yield* TestClock.adjust("2 seconds")
      expect(yield* stateOf(first)).toBe("called")
      // refused again: back to the head, with a longer backoff
      expect(yield* start(first)).toMatchObject({ _tag: "NotYourTurn", code: "agent_busy", queuePosition: 1 })
      yield* TestClock.adjust("3 seconds")
      expect(yield* stateOf(first)).toBe("waiting")
      yield* TestClock.adjust("2 seconds")
      expect(yield* stateOf(first)).toBe("called")
      world.initiate = (n) => Effect.succeed(session(n))
      expect((yield* start(first))._tag).toBe("Started")
      expect(yield* stateOf(second)).toBe("waiting")
      expect(yield* figures()).toMatchObject({ leases: 1, waiting: 1 })
    }),
  )

  gateTest(
    "a platform at capacity is asked again at once when a session ends",
    { VoiceAiPlatform: { MaxConcurrency: 2 } },
    (world) =>
      Effect.gen(function* () {
        yield* begin()
        world.initiate = () => Effect.fail(atCapacity)
        const waiting = yield* enqueue(caller(1))
        yield* hangUp("conversation-1")
        expect(yield* stateOf(waiting)).toBe("called")
      }),
  )
})
