/** What a ticket's holder can do with it, in each of its states. */
import { describe, expect } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../src/Gatekeeper.ts"
import {
  ask,
  BEGIN,
  begin,
  CALLER,
  caller,
  enqueue,
  eventsOf,
  figures,
  type Given,
  gateTest,
  hangUp,
  platformRefuses,
  remaining,
  session,
  start,
  stateOf,
} from "../support/gate.ts"

/** Delays the platform's answer until it is released. */
const held = Effect.gen(function* () {
  const gate = yield* Deferred.make<void>()
  return {
    initiate: (n: number) => Effect.as(Deferred.await(gate), session(n)),
    letGo: Deferred.succeed(gate, undefined),
  }
})

const iso = (millis: number): string => new Date(BEGIN + millis).toISOString()

describe("a start", () => {
  const both: Given = { VoiceAiPlatform: { AllowedTransportTypes: ["websocket", "webrtc"] } }
  gateTest("by a called ticket begins its own session, with the content of its request", both, (world) =>
    Effect.gen(function* () {
      yield* begin()
      const ticket = yield* enqueue(caller(1), {
        clientIdentifier: "visitor-1",
        metadata: { page: "/prices" },
        transportType: 1,
        audioConfiguration: { inputSampleRate: 8000 },
      })
      yield* hangUp("web-1")
      expect(yield* start(ticket)).toMatchObject({
        _tag: "Started",
        uniqueRequestId: ticket,
        webSocketUrl: session(2).webSocketUrl,
        sessionId: "web-2",
      })
      expect(world.initiated[1]).toEqual({
        campaign: "default",
        regionId: "eu",
        transportType: 1,
        clientIdentifier: "visitor-1",
        dynamicVariables: {},
        metadata: { page: "/prices" },
        audio: { inputSampleRate: 8000 },
      })
    }),
  )

  gateTest("repeated while the session is live returns the same session and asks the platform once", {}, (world) =>
    Effect.gen(function* () {
      yield* begin()
      const ticket = yield* enqueue(caller(1))
      yield* hangUp("web-1")
      const first = yield* start(ticket)
      expect(yield* start(ticket)).toEqual(first)
      expect(world.initiated.length).toBe(2)
    }),
  )

  gateTest("repeated while the first is in progress is refused with that reason", {}, (world) =>
    Effect.gen(function* () {
      yield* begin()
      const ticket = yield* enqueue(caller(1))
      yield* hangUp("web-1")
      const platform = yield* held
      world.initiate = platform.initiate
      const first = yield* Effect.forkChild(start(ticket))
      yield* Effect.yieldNow
      expect(yield* start(ticket)).toMatchObject({ _tag: "NotYourTurn", code: "start_in_progress" })
      expect(yield* stateOf(ticket)).toBe("starting")
      yield* platform.letGo
      expect(yield* Fiber.join(first)).toMatchObject({ _tag: "Started", sessionId: "web-2" })
      expect(world.initiated.length).toBe(2)
    }),
  )

  gateTest("too early is refused with its position", {}, () =>
    Effect.gen(function* () {
      yield* begin()
      yield* enqueue(caller(1))
      const second = yield* enqueue(caller(2))
      expect(yield* start(second)).toMatchObject({ _tag: "NotYourTurn", code: "not_your_turn", queuePosition: 2 })
    }),
  )

  gateTest("too late has missed its turn, which passed to the next", {}, (world) =>
    Effect.gen(function* () {
      yield* begin()
      const late = yield* enqueue(caller(1))
      const next = yield* enqueue(caller(2))
      world.connected.add(late).add(next)
      yield* hangUp("web-1")
      expect(eventsOf(world, late)).toEqual([{ type: "start_call", startBefore: iso(30_000) }])
      yield* TestClock.adjust("32 seconds")
      expect(yield* start(late)).toMatchObject({ _tag: "TicketOver", state: "missed" })
      expect(eventsOf(world, late)).toContainEqual(expect.objectContaining({ type: "ended", reason: "missed" }))
      expect(yield* start(next)).toMatchObject({ _tag: "Started" })
      expect(world.initiated.length).toBe(2)
    }),
  )

  gateTest("after the start window but before a sweep calls the next at once", {}, (world) =>
    Effect.gen(function* () {
      yield* begin()
      const late = yield* enqueue(caller(1))
      const next = yield* enqueue(caller(2))
      world.connected.add(next)
      yield* TestClock.adjust("500 millis")
      yield* hangUp("web-1")
      yield* TestClock.adjust("30001 millis")
      expect(yield* stateOf(next)).toBe("waiting")
      expect(yield* start(late)).toMatchObject({ _tag: "TicketOver", state: "missed" })
      expect(yield* stateOf(next)).toBe("called")
    }),
  )

  gateTest("of an unknown or malformed ticket is answered as unknown", {}, () =>
    Effect.gen(function* () {
      const ticket = (yield* begin()).uniqueRequestId
      const forged = `${ticket.startsWith("A") ? "B" : "A"}${ticket.slice(1)}`
      for (const id of [forged, "", "x", "__proto__", "../../etc", "a".repeat(4096)]) {
        expect((yield* start(id))._tag).toBe("TicketUnknown")
      }
    }),
  )

  gateTest("that the platform refuses ends: the quota is given back, and the next is called", {}, (world) =>
    Effect.gen(function* () {
      yield* begin()
      const ticket = yield* enqueue(caller(1))
      const next = yield* enqueue(caller(2))
      yield* hangUp("web-1")
      world.initiate = () => Effect.fail(platformRefuses)
      expect(yield* start(ticket)).toMatchObject({ _tag: "PlatformUnavailable", kind: "rejected" })
      expect(yield* start(ticket)).toMatchObject({ _tag: "TicketOver", state: "failed" })
      expect(yield* remaining(caller(1))).toBe(20)
      expect(yield* stateOf(next)).toBe("called")
    }),
  )
})

describe("leaving", () => {
  gateTest("a waiting place frees it at once and moves the others up", {}, () =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      yield* begin()
      const first = yield* enqueue(caller(1))
      const second = yield* enqueue(caller(2))
      yield* gate.leave(first)
      expect(yield* gate.status(second)).toMatchObject({ state: "waiting", queuePosition: 1, queueLength: 1 })
      expect(yield* stateOf(first)).toBe("left")
      expect(yield* start(first)).toMatchObject({ _tag: "TicketOver", state: "left" })
    }),
  )

  gateTest("a reserved slot passes it on at once", {}, (world) =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      yield* begin()
      const first = yield* enqueue(caller(1))
      const second = yield* enqueue(caller(2))
      yield* hangUp("web-1")
      yield* gate.leave(first)
      expect(eventsOf(world, second)).toMatchObject([{ type: "start_call" }])
      expect(yield* figures()).toEqual({ leases: 1, waiting: 0, live: 0 })
    }),
  )

  gateTest("while starting, live, over or unknown changes nothing and does not fail", {}, (world) =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      const platform = yield* held
      world.initiate = platform.initiate
      const asked = yield* Effect.forkChild(begin())
      yield* Effect.yieldNow
      yield* platform.letGo
      const { uniqueRequestId } = yield* Fiber.join(asked)
      yield* gate.leave(uniqueRequestId)
      expect(yield* stateOf(uniqueRequestId)).toBe("live")
      yield* hangUp("web-1")
      yield* gate.leave(uniqueRequestId)
      expect(yield* stateOf(uniqueRequestId)).toBe("ended")
      yield* gate.leave("nobody")
      expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
    }),
  )

  gateTest("twice frees one place", {}, () =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      yield* begin()
      const first = yield* enqueue(caller(1))
      yield* enqueue(caller(2))
      yield* gate.leave(first)
      yield* gate.leave(first)
      expect(yield* figures()).toEqual({ leases: 1, waiting: 1, live: 1 })
    }),
  )
})

describe("joining again", () => {
  gateTest("with a waiting ticket returns its place and takes no quota", {}, () =>
    Effect.gen(function* () {
      yield* begin()
      yield* enqueue(caller(1))
      const ticket = yield* enqueue()
      expect(yield* ask(CALLER, { uniqueRequestId: ticket })).toMatchObject({
        _tag: "Queued",
        uniqueRequestId: ticket,
        queuePosition: 2,
        called: false,
      })
      // one for the running call, one for the place
      expect(yield* remaining()).toBe(18)
      expect(yield* figures()).toMatchObject({ waiting: 2 })
    }),
  )

  gateTest("with a called ticket says that it may start", {}, () =>
    Effect.gen(function* () {
      yield* begin()
      const ticket = yield* enqueue(caller(1))
      yield* hangUp("web-1")
      expect(yield* ask(caller(1), { uniqueRequestId: ticket })).toMatchObject({
        _tag: "Queued",
        uniqueRequestId: ticket,
        queuePosition: 0,
        called: true,
      })
    }),
  )

  gateTest("with a live ticket answers its session", {}, (world) =>
    Effect.gen(function* () {
      const started = yield* begin()
      expect(yield* ask(CALLER, { uniqueRequestId: started.uniqueRequestId })).toEqual({ _tag: "Started", ...started })
      expect(world.initiated.length).toBe(1)
      expect(yield* remaining()).toBe(19)
    }),
  )

  gateTest("with a ticket that is over, forged or malformed is a new request", {}, () =>
    Effect.gen(function* () {
      const { uniqueRequestId } = yield* begin()
      yield* hangUp("web-1")
      const again = yield* begin(CALLER, { uniqueRequestId })
      expect(again.uniqueRequestId).not.toBe(uniqueRequestId)
      yield* hangUp("web-2")
      expect((yield* begin(CALLER, { uniqueRequestId: `forged${uniqueRequestId.slice(6)}` })).sessionId).toBe("web-3")
      yield* hangUp("web-3")
      expect((yield* begin(CALLER, { uniqueRequestId: "" })).sessionId).toBe("web-4")
    }),
  )

  gateTest("is not possible by a clientIdentifier", {}, () =>
    Effect.gen(function* () {
      yield* begin()
      const first = yield* enqueue(CALLER, { clientIdentifier: "me" })
      const second = yield* enqueue(CALLER, { clientIdentifier: "me" })
      expect(second).not.toBe(first)
      expect(yield* figures()).toMatchObject({ waiting: 2 })
    }),
  )
})

describe("attaching", () => {
  gateTest("sends the current state", {}, (world) =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      yield* begin()
      const ticket = yield* enqueue(caller(1))
      expect(yield* gate.attach(ticket)).toEqual({
        type: "position",
        position: 1,
        queueLength: 1,
        estimatedWaitSeconds: null,
      })
      yield* TestClock.adjust("10 seconds")
      yield* hangUp("web-1")
      expect(yield* gate.attach(ticket)).toEqual({ type: "start_call", startBefore: iso(40_000) })
      const platform = yield* held
      world.initiate = platform.initiate
      const starting = yield* Effect.forkChild(start(ticket))
      yield* Effect.yieldNow
      expect(yield* gate.attach(ticket)).toBeUndefined()
      yield* platform.letGo
      yield* Fiber.join(starting)
      expect(yield* gate.attach(ticket)).toEqual({
        type: "session",
        webSocketUrl: session(2).webSocketUrl,
        sessionId: "web-2",
      })
      yield* hangUp("web-2")
      expect(yield* gate.attach(ticket)).toMatchObject({ type: "ended", reason: "ended" })
      yield* TestClock.adjust("11 minutes")
      expect((yield* Effect.flip(gate.attach(ticket)))._tag).toBe("TicketUnknown")
    }),
  )

  gateTest("returns a status with only the fields of its state", {}, () =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      const live = yield* begin()
      const ticket = yield* enqueue(caller(1))
      expect(yield* gate.status(live.uniqueRequestId)).toEqual({ state: "live", ...live })
      expect(yield* gate.status(ticket)).toEqual({
        uniqueRequestId: ticket,
        state: "waiting",
        queuePosition: 1,
        queueLength: 1,
        estimatedWaitSeconds: null,
      })
      yield* hangUp("web-1")
      expect(yield* gate.status(ticket)).toEqual({ uniqueRequestId: ticket, state: "called", startBefore: iso(30_000) })
      expect(yield* gate.status(live.uniqueRequestId)).toEqual({
        uniqueRequestId: live.uniqueRequestId,
        state: "ended",
      })
    }),
  )

  gateTest("polling the status keeps a place", {}, () =>
    Effect.gen(function* () {
      yield* begin()
      const ticket = yield* enqueue(caller(1))
      for (let n = 0; n < 4; n++) {
        yield* TestClock.adjust("25 seconds")
        expect(yield* stateOf(ticket)).toBe("waiting")
      }
      yield* TestClock.adjust("32 seconds")
      expect(yield* stateOf(ticket)).toBe("abandoned")
    }),
  )
})
