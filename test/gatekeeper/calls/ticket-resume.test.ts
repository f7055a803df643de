/** Returning to a ticket: by a request that names it, by a push channel, or by polling. */
import { describe, expect } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import {
  ask,
  begin,
  CALLER,
  caller,
  enqueue,
  figures,
  gateTest,
  hangUp,
  remaining,
  session,
  start,
  stateOf,
} from "../../support/gate.ts"
import { calledTicket, delayStarts, inBackground, iso } from "../ticket-support.ts"

describe("joining again", () => {
  gateTest("joining again with a waiting ticket returns its place and takes no quota", {}, () =>
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

  gateTest("joining again with a called ticket says that it may start", {}, () =>
    Effect.gen(function* () {
      const ticket = yield* calledTicket()
      expect(yield* ask(caller(1), { uniqueRequestId: ticket })).toMatchObject({
        _tag: "Queued",
        uniqueRequestId: ticket,
        queuePosition: 0,
        called: true,
      })
    }),
  )

  gateTest("joining again with a live ticket answers its session", {}, (world) =>
    Effect.gen(function* () {
      const started = yield* begin()
      expect(yield* ask(CALLER, { uniqueRequestId: started.uniqueRequestId })).toEqual({ _tag: "Started", ...started })
      expect(world.initiated.length).toBe(1)
      expect(yield* remaining()).toBe(19)
    }),
  )

  gateTest("joining again with a ticket that is over, forged or malformed is a new request", {}, () =>
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
      const answer = yield* delayStarts(world)
      const starting = yield* inBackground(start(ticket))
      expect(yield* gate.attach(ticket)).toBeUndefined()
      yield* answer
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
      // a poll is not written each time, so it may keep the place for half a grace longer
      yield* TestClock.adjust("29 seconds")
      expect(yield* stateOf(ticket)).toBe("waiting")
      yield* TestClock.adjust("47 seconds")
      expect(yield* stateOf(ticket)).toBe("abandoned")
    }),
  )
})
