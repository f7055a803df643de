/** An operator ends a call: at the platform first, and only then has the next caller its slot. */

import { expect } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { FifoQueue } from "../../src/fifo-queue/FifoQueue.ts"
import type { Action } from "../../src/fifo-queue/operator/actions.ts"
import { identifierOf } from "../../src/gatekeeper/calls/stored-config.ts"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import { Operator } from "../../src/operator/Operator.ts"
import { unavailable } from "../../src/platform-api/errors.ts"
import { delayStarts, inBackground } from "../gatekeeper/ticket-support.ts"
import {
  ask,
  begin,
  caller,
  enqueue,
  figures,
  gateTest,
  hangUp,
  makeWorld,
  platformIsAway,
  session,
  stateOf,
  type World,
} from "../support/gate.ts"
import { makeStore, startGate } from "../support/gates.ts"

const PAGES = { firstSlot: 0, slots: 1, firstPlace: 0, places: 0 }

/** The action that ends what holds the only slot, as the console sends it. */
const endAction = Operator.use((operator) => operator.view(undefined, PAGES, 0)).pipe(
  Effect.map((view): Action => {
    const slot = view?.queue?.slotPage[0]
    return { type: "end", lease: slot?.lease ?? "", deadline: slot?.deadline ?? 0 }
  }),
)
const act = (action: Action) => Operator.use((operator) => operator.act(undefined, "me", action))
const endCall = Effect.flatMap(endAction, act)
const slotState = Effect.map(
  Operator.use((operator) => operator.view(undefined, PAGES, 0)),
  (view) => view?.queue?.slotPage[0]?.state,
)
/** What the activity log says of it, oldest first. */
const logged = Effect.map(
  Operator.use((operator) => operator.auditLog(undefined, 0, 10)),
  (log) => log?.lines.map(({ result, who }) => `${who} ${result}`).reverse(),
)

gateTest(
  "the slot is free once the platform has ended the call, and the page is told nothing of the session",
  {},
  (world) =>
    Effect.gen(function* () {
      const { uniqueRequestId } = yield* begin()
      const next = yield* enqueue(caller(1))
      const queue = yield* FifoQueue
      let stateAtPlatform: unknown
      world.end = () =>
        Effect.map(Effect.orDie(Effect.provideService(figures(), FifoQueue, queue)), (held) => {
          stateAtPlatform = held
          return true
        })
      const outcome = yield* endCall
      expect(outcome).toEqual({ result: "ended", ticket: expect.stringMatching(/^[0-9a-f]{10}$/) })
      // nobody was called before the platform said that the session is over
      expect(stateAtPlatform).toEqual({ leases: 1, waiting: 1, live: 1 })
      expect(world.endings).toEqual(["web-1"])
      expect([yield* stateOf(uniqueRequestId), yield* stateOf(next)]).toEqual(["stopped", "called"])
      expect(yield* logged).toEqual(["me ending_live", "me ended_at_platform"])
      expect(yield* hangUp("conversation-1")).toBe(false)
    }),
)

gateTest("the platform's webhook may come before its answer", {}, (world) =>
  Effect.gen(function* () {
    const { uniqueRequestId } = yield* begin()
    const gate = yield* Gatekeeper
    world.end = () => Effect.as(Effect.orDie(gate.sessionEnded(["web-1"])), true)
    expect(yield* endCall).toMatchObject({ result: "ended" })
    expect(yield* stateOf(uniqueRequestId)).toBe("stopped")
    expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
    expect(yield* logged).toEqual(["me ending_live", "me ended_at_platform"])
  }),
)

gateTest(
  "a platform that cannot be asked frees the slot at once, and the answer says that the call may run on",
  {},
  (world) =>
    Effect.gen(function* () {
      const { uniqueRequestId } = yield* begin()
      world.end = () => Effect.succeed("unsupported")
      // its answer would change nothing
      world.sessionStatus = () => Effect.die("the state of the session was read")
      expect(yield* endCall).toMatchObject({ result: "freed" })
      expect(yield* stateOf(uniqueRequestId)).toBe("stopped")
      expect(yield* logged).toEqual(["me ending_live", "me freed_live"])
    }),
)

gateTest("a platform that is away is asked again, and the slot is held meanwhile", {}, (world) =>
  Effect.gen(function* () {
    const { uniqueRequestId } = yield* begin()
    world.end = () => Effect.fail(platformIsAway)
    expect(yield* endCall).toMatchObject({ result: "ending" })
    expect(yield* slotState).toBe("ending")
    world.end = () => Effect.succeed(true)
    yield* TestClock.adjust("26 seconds")
    expect(world.endings).toEqual(["web-1", "web-1"])
    expect(yield* stateOf(uniqueRequestId)).toBe("stopped")
    expect(yield* logged).toEqual(["me ending_live", "me ended_at_platform"])
  }),
)

gateTest("a call whose end is never confirmed gives its slot back after a minute", {}, (world) =>
  Effect.gen(function* () {
    yield* begin()
    world.end = () => Effect.succeed(false)
    expect(yield* endCall).toMatchObject({ result: "ending" })
    yield* TestClock.adjust("58 seconds")
    expect(yield* figures()).toMatchObject({ leases: 1 })
    yield* TestClock.adjust("4 seconds")
    expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
    expect(yield* logged).toEqual(["me ending_live", "me freed_live"])
  }),
)

gateTest("a cancelled start ends the session that the platform starts nevertheless", {}, (world) =>
  Effect.gen(function* () {
    world.end = () => Effect.succeed(true)
    const answer = yield* delayStarts(world)
    const asked = yield* inBackground(ask())
    expect(yield* endCall).toMatchObject({ result: "ended" })
    yield* answer
    expect(yield* Fiber.join(asked)).toMatchObject({ _tag: "PlatformUnavailable" })
    yield* TestClock.adjust(1)
    expect(world.endings).toEqual(["web-1"])
    expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
  }),
)

/** A caller whose start may have happened: it waits again, and its slot is held. */
const startInDoubt = Effect.fnUntraced(function* (world: World, clientIdentifier?: string) {
  world.initiate = () => Effect.fail(unavailable("timeout", true, "no answer within 15 s"))
  const ticket = yield* enqueue(caller(1), clientIdentifier === undefined ? {} : { clientIdentifier })
  world.initiate = (n) => Effect.succeed(session(n))
  return ticket
})

gateTest("a start in doubt is searched for, and the session that it has begun is ended", {}, (world) =>
  Effect.gen(function* () {
    world.end = () => Effect.succeed(true)
    const ticket = yield* startInDoubt(world)
    const searched: Array<string> = []
    world.sessionsOf = (client) => Effect.sync(() => [[`found-${searched.push(client)}`]])
    expect(yield* endCall).toMatchObject({ result: "ended" })
    expect(searched).toEqual([identifierOf(ticket, {})])
    expect(world.endings).toEqual(["found-1"])
    expect(yield* figures()).toMatchObject({ live: 0 })
    expect(yield* logged).toEqual(["me ending_live", "me ended_at_platform"])
    // the caller has kept the place, and is called again
    expect(yield* stateOf(ticket)).toBe("called")
  }),
)

gateTest(
  "the slot of a start in doubt is held while the platform does not confirm the end of its session",
  {},
  (world) =>
    Effect.gen(function* () {
      world.end = () => Effect.fail(platformIsAway)
      const ticket = yield* startInDoubt(world)
      world.sessionsOf = () => Effect.succeed([["found"]])
      expect(yield* endCall).toMatchObject({ result: "ending" })
      expect([yield* slotState, yield* stateOf(ticket)]).toEqual(["ending", "waiting"])
      world.end = () => Effect.succeed(true)
      yield* TestClock.adjust("26 seconds")
      expect(world.endings).toEqual(["found", "found"])
      expect(yield* logged).toEqual(["me ending_live", "me ended_at_platform"])
    }),
)

gateTest(
  "a start in doubt that the platform does not show is freed, and so is one that cannot be searched for",
  {},
  (world) =>
    Effect.gen(function* () {
      world.end = () => Effect.succeed(true)
      for (const answer of [Effect.succeed([]), Effect.undefined, Effect.fail(platformIsAway), Effect.never]) {
        const ticket = yield* startInDoubt(world)
        world.sessionsOf = () => answer
        const ending = yield* Effect.forkChild(endCall)
        yield* TestClock.adjust(2_500)
        expect(yield* Fiber.join(ending)).toMatchObject({ result: "freed" })
        yield* Gatekeeper.use((gate) => gate.leave(ticket))
      }
      expect(world.endings).toEqual([])
    }),
)

gateTest("a session is not ended that may be another caller's with the same identifier", {}, (world) =>
  Effect.gen(function* () {
    world.end = () => Effect.succeed(true)
    yield* startInDoubt(world, "ada")
    world.sessionsOf = () => Effect.succeed([["of somebody else"]])
    expect(yield* endCall).toMatchObject({ result: "freed" })
    expect(world.endings).toEqual([])
    expect(yield* logged).toEqual(["me ended_in_doubt"])
  }),
)

gateTest("when an instance dies before the platform has answered, another one ends the call", {}, () =>
  Effect.gen(function* () {
    const world = makeWorld()
    const store = yield* makeStore
    const given = { VoiceAiPlatform: { MaxConcurrency: 1 } }
    const one = yield* startGate(world, store, given)
    const two = yield* startGate(world, store, given)
    const started = yield* one.on(begin())
    world.end = () => Effect.never
    yield* Effect.forkChild(one.on(endCall))
    yield* TestClock.adjust(1)
    expect(world.endings).toEqual(["web-1"])
    yield* one.stop
    world.end = () => Effect.succeed(true)
    yield* TestClock.adjust("26 seconds")
    expect(world.endings).toEqual(["web-1", "web-1"])
    expect(yield* two.on(stateOf(started.uniqueRequestId))).toBe("stopped")
    expect(yield* two.on(logged)).toEqual(["me ending_live", "me ended_at_platform"])
  }).pipe(Effect.scoped),
)
