/** A platform that cannot be reached, or whose answer to a start is lost: no caller loses a place, and no slot is given twice. */

import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { DOUBT_MILLIS } from "../../../src/fifo-queue/bounds.ts"
import { INITIAL_DISRUPTED_MILLIS } from "../../../src/fifo-queue/rules/fail.ts"
import { DOUBT_AGE_MILLIS, DOUBT_CHECK_MILLIS } from "../../../src/gatekeeper/calls/doubts.ts"
import { identifierOf } from "../../../src/gatekeeper/calls/stored-config.ts"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { refused, unavailable } from "../../../src/platform-api/errors.ts"
import {
  ask,
  caller,
  enqueue,
  figures,
  gateLayer,
  gateTest,
  hangUp,
  makeWorld,
  platformIsAway,
  session,
  start,
  stateOf,
  type World,
} from "../../support/gate.ts"
import { calledTicket } from "../ticket-support.ts"

const status = (ticket: string) => Gatekeeper.use((gate) => gate.status(ticket))
const mayRun = unavailable("timeout", true, "no answer within 15 s")

/** A start with an unknown outcome: the ticket waits again, and its slot is held. */
const inDoubt = Effect.fnUntraced(function* (world: World, who = caller(1)) {
  world.initiate = () => Effect.fail(mayRun)
  const ticket = yield* enqueue(who)
  world.initiate = (n) => Effect.succeed(session(n))
  return ticket
})

/** A gate that asks the platform how many calls the account may have at once. */
const accountTest = (
  name: string,
  limit: number,
  body: (world: World) => Effect.Effect<void, unknown, Gatekeeper>,
): void =>
  it.effect(name, () => {
    const world = makeWorld()
    world.concurrency = () => Effect.succeed({ limit, inUse: 0 })
    return Effect.provide(body(world), gateLayer(world, { VoiceAiPlatform: { MaxConcurrency: undefined } }))
  })

describe("a platform that cannot be reached", () => {
  gateTest(
    "leaves all callers in the queue, informs them, and is tested by one at a time",
    { VoiceAiPlatform: { MaxConcurrency: 3 } },
    (world) =>
      Effect.gen(function* () {
        world.initiate = () => Effect.fail(platformIsAway)
        const tickets = yield* Effect.forEach([1, 2, 3, 4, 5], (n) => enqueue(caller(n)))
        for (const ticket of tickets) world.connected.add(ticket)
        expect(world.initiated.length).toBe(1)
        expect(yield* ask(caller(6))).toMatchObject({ _tag: "Queued", queuePosition: 6, disrupted: true })
        expect(yield* status(tickets[1] ?? "")).toMatchObject({ state: "waiting", queuePosition: 2, disrupted: true })
        yield* TestClock.adjust("3 seconds")
        expect(world.pushed.findLast(([ticket]) => ticket === tickets[1])).toMatchObject([
          tickets[1],
          { type: "position", position: 1, disrupted: true },
        ])
        expect(yield* Effect.forEach(tickets, stateOf)).toEqual(["called", "waiting", "waiting", "waiting", "waiting"])
        expect(yield* start(tickets[0] ?? "")).toMatchObject({ code: "agent_unavailable", queuePosition: 1 })

        world.initiate = (n) => Effect.succeed(session(n))
        yield* TestClock.adjust(`${2 * INITIAL_DISRUPTED_MILLIS + 1_000} millis`)
        expect((yield* start(tickets[0] ?? ""))._tag).toBe("Started")
        expect(yield* Effect.forEach(tickets, stateOf)).toEqual(["live", "called", "called", "waiting", "waiting"])
        expect(yield* status(tickets[3] ?? "")).not.toHaveProperty("disrupted")
      }),
  )

  gateTest("is not asked before its circuit allows a call", { VoiceAiPlatform: { MaxConcurrency: 1 } }, (world) =>
    Effect.gen(function* () {
      const open = unavailable("circuit_open", false, "not asked", 7_000)
      world.initiate = () => Effect.fail(open)
      const ticket = yield* enqueue(caller(1))
      world.connected.add(ticket)
      yield* TestClock.adjust("6 seconds")
      expect(yield* stateOf(ticket)).toBe("waiting")
      yield* TestClock.adjust("2 seconds")
      expect(yield* stateOf(ticket)).toBe("called")
    }),
  )
})

describe("a platform that fails with one caller's request", () => {
  gateTest(
    "ends only that ticket, if others have started meanwhile",
    { VoiceAiPlatform: { MaxConcurrency: 2 } },
    (world) =>
      Effect.gen(function* () {
        const poison = "poison"
        world.initiate = (n) =>
          world.initiated.at(-1)?.metadata.is === poison
            ? Effect.fail(unavailable("server_error", false, "HTTP 503"))
            : Effect.succeed(session(n))
        const ticket = yield* enqueue(caller(1), { metadata: { is: poison } })
        world.connected.add(ticket)
        for (const n of [2, 3]) {
          // no other caller is affected
          const other = yield* enqueue(caller(n))
          yield* TestClock.adjust("1 second")
          expect((yield* start(other))._tag).toBe("Started")
          yield* TestClock.adjust("16 seconds")
          yield* start(ticket)
          yield* hangUp(`web-${world.initiated.length - 1}`)
        }
        expect(yield* stateOf(ticket)).toBe("failed")
      }),
  )
})

describe("a start that may have happened", () => {
  gateTest("keeps its slot until the platform has said twice that it has no such session", {}, (world) =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      world.sessionsOf = (client) => {
        asked.push(client)
        return Effect.succeed([])
      }
      const ticket = yield* inDoubt(world)
      world.connected.add(ticket)
      expect(yield* figures()).toEqual({ leases: 1, waiting: 1, live: 0 })
      yield* TestClock.adjust(`${DOUBT_AGE_MILLIS} millis`)
      expect(yield* stateOf(ticket)).toBe("waiting")
      yield* TestClock.adjust(`${2 * DOUBT_CHECK_MILLIS + 1_000} millis`)
      expect(yield* stateOf(ticket)).toBe("called")
      const [first = ""] = asked
      expect(asked).toEqual([first, first])
      // the client identifier of the start, which does not reveal the ticket
      expect([first, first]).toEqual([world.initiated[0]?.clientIdentifier, identifierOf(ticket, {})])
      expect(first).not.toContain(ticket)
    }),
  )

  gateTest("keeps its slot while the session that runs has not ended", {}, (world) =>
    Effect.gen(function* () {
      world.sessionsOf = () => Effect.succeed([["web-9", "conversation-9"]])
      const ticket = yield* inDoubt(world)
      world.connected.add(ticket)
      yield* TestClock.adjust(`${DOUBT_MILLIS + 60_000} millis`)
      expect(yield* stateOf(ticket)).toBe("waiting")
      expect(yield* Gatekeeper.use((gate) => gate.sessionEnded(["conversation-9"]))).toBe(true)
      expect(yield* stateOf(ticket)).toBe("called")
    }),
  )

  gateTest("is not resolved while the platform cannot be asked", {}, (world) =>
    Effect.gen(function* () {
      world.sessionsOf = () => Effect.fail(platformIsAway)
      const ticket = yield* inDoubt(world)
      world.connected.add(ticket)
      yield* TestClock.adjust(`${DOUBT_MILLIS - 1_000} millis`)
      expect(yield* stateOf(ticket)).toBe("waiting")
      yield* TestClock.adjust("3 seconds")
      expect(yield* stateOf(ticket)).toBe("called")
    }),
  )

  accountTest("frees its slot if all running calls are known", 1, (world) =>
    Effect.gen(function* () {
      let inUse = 1
      world.concurrency = () => Effect.succeed({ limit: 1, inUse })
      world.sessionsOf = () => Effect.succeed(undefined)
      const ticket = yield* inDoubt(world)
      world.connected.add(ticket)
      yield* TestClock.adjust("2 minutes")
      expect(yield* stateOf(ticket)).toBe("waiting")
      inUse = 0
      yield* TestClock.adjust("11 seconds")
      expect(yield* stateOf(ticket)).toBe("called")
    }),
  )

  gateTest("is not resolved by an end of an unknown session, which may be another id of a known one", {}, (world) =>
    Effect.gen(function* () {
      world.sessionsOf = () => Effect.succeed(undefined)
      const ticket = yield* inDoubt(world)
      world.connected.add(ticket)
      yield* TestClock.adjust(`${DOUBT_AGE_MILLIS + DOUBT_CHECK_MILLIS} millis`)
      expect(yield* Gatekeeper.use((gate) => gate.sessionEnded(["never heard of"]))).toBe(false)
      expect(yield* stateOf(ticket)).toBe("waiting")
    }),
  )

  accountTest("does not reduce the number of slots twice", 2, (world) =>
    Effect.gen(function* () {
      world.concurrency = () => Effect.succeed({ limit: 2, inUse: 1 })
      const ticket = yield* inDoubt(world)
      world.connected.add(ticket)
      yield* TestClock.adjust("15 seconds")
      const next = yield* enqueue(caller(2))
      world.connected.add(next)
      yield* TestClock.adjust("1 second")
      // one slot is held and counted by the platform, one is free
      expect(yield* stateOf(next)).toBe("called")
    }),
  )

  gateTest("is resolved although the key was changed and refused meanwhile", {}, (world) =>
    Effect.gen(function* () {
      const ticket = yield* calledTicket()
      world.initiate = () => Effect.fail(refused(403, "KEY_NOT_FOUND", "no"))
      expect(yield* start(ticket)).toMatchObject({ _tag: "NotYourTurn", code: "agent_unavailable" })
      expect(yield* figures()).toEqual({ leases: 0, waiting: 1, live: 0 })
    }),
  )
})
