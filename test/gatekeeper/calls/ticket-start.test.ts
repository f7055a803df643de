import { describe, expect } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import {
  begin,
  caller,
  enqueue,
  eventsOf,
  type Given,
  gateTest,
  hangUp,
  platformRefuses,
  session,
  start,
  stateOf,
} from "../../support/gate.ts"
import { calledTicket, delayStarts, inBackground, iso } from "../ticket-support.ts"

describe("a start", () => {
  const both: Given = { VoiceAiPlatform: { AllowedTransportTypes: ["websocket", "webrtc"] } }
  gateTest("a start by a called ticket begins its own session, with the content of its request", both, (world) =>
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
        correlationId: expect.stringMatching(/^[\w-]{22}$/),
      })
    }),
  )

  gateTest(
    "a start repeated while the session is live returns the same session and asks the platform once",
    {},
    (world) =>
      Effect.gen(function* () {
        const ticket = yield* calledTicket()
        const first = yield* start(ticket)
        expect(yield* start(ticket)).toEqual(first)
        expect(world.initiated.length).toBe(2)
      }),
  )

  gateTest("a start repeated while the first is in progress is refused with that reason", {}, (world) =>
    Effect.gen(function* () {
      const ticket = yield* calledTicket()
      const answer = yield* delayStarts(world)
      const first = yield* inBackground(start(ticket))
      expect(yield* start(ticket)).toMatchObject({ _tag: "NotYourTurn", code: "start_in_progress" })
      expect(yield* stateOf(ticket)).toBe("starting")
      yield* answer
      expect(yield* Fiber.join(first)).toMatchObject({ _tag: "Started", sessionId: "web-2" })
      expect(world.initiated.length).toBe(2)
    }),
  )

  gateTest("a start that is too early is refused with its position", {}, () =>
    Effect.gen(function* () {
      yield* begin()
      yield* enqueue(caller(1))
      const second = yield* enqueue(caller(2))
      expect(yield* start(second)).toMatchObject({ _tag: "NotYourTurn", code: "not_your_turn", queuePosition: 2 })
    }),
  )

  gateTest("a start that is too late has missed its turn, which passed to the next", {}, (world) =>
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

  gateTest("a start after the start window but before a sweep calls the next at once", {}, (world) =>
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

  gateTest("a start of an unknown or malformed ticket is answered as unknown", {}, () =>
    Effect.gen(function* () {
      const ticket = (yield* begin()).uniqueRequestId
      const forged = `${ticket.startsWith("A") ? "B" : "A"}${ticket.slice(1)}`
      for (const id of [forged, "", "x", "__proto__", "../../etc", "a".repeat(4096)]) {
        expect((yield* start(id))._tag).toBe("TicketUnknown")
      }
    }),
  )

  gateTest("a start that the platform refuses returns the ticket to its place", {}, (world) =>
    Effect.gen(function* () {
      yield* begin()
      const ticket = yield* enqueue(caller(1))
      const next = yield* enqueue(caller(2))
      yield* hangUp("web-1")
      world.initiate = () => Effect.fail(platformRefuses)
      expect(yield* start(ticket)).toMatchObject({ _tag: "NotYourTurn", code: "agent_unavailable", queuePosition: 1 })
      expect(yield* stateOf(ticket)).toBe("waiting")
      // it may be this ticket's own fault, because a session has just started
      expect(yield* stateOf(next)).toBe("called")
    }),
  )
})
