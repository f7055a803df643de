/** A campaign that only some of the gates serve. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { UNSERVED_MILLIS } from "../../../src/gatekeeper/peers/drain-removed.ts"
import { MEMBERSHIP_MILLIS } from "../../../src/gatekeeper/peers/Membership.ts"
import { begin, caller, enqueue, eventsOf, hangUp, start, stateOf } from "../../support/gate.ts"
import { startGate } from "../../support/gates.ts"
import { loseHeartbeats, removedUnder, SALES, status, test, without, withSales } from "./removed-campaign.ts"

describe("a campaign that only one of two gates serves, as in a rolling restart,", () => {
  test("is not drained by the gate that does not serve it, and both accept its webhooks", (bench) =>
    Effect.gen(function* () {
      const old = yield* bench.start(withSales)
      const gate = yield* bench.start(without)
      const call = yield* old.on(begin(caller(1), SALES))
      const first = yield* old.on(enqueue(caller(2), SALES))
      const second = yield* old.on(enqueue(caller(3), SALES))
      yield* TestClock.adjust("3 minutes")
      expect(yield* gate.on(status(first))).toMatchObject({ state: "waiting", queuePosition: 1 })
      expect(yield* gate.on(hangUp(call.sessionId))).toBe(true)
      yield* TestClock.adjust("1 second")
      expect(yield* old.on(stateOf(first))).toBe("called")
      expect((yield* old.on(start(first)))._tag).toBe("Started")
      expect(yield* gate.on(hangUp("web-2"))).toBe(true)
      yield* TestClock.adjust("1 second")
      expect(yield* gate.on(stateOf(second))).toBe("called")
    }))

  test("is not drained when the heartbeats of the gate that serves it do not reach the store", (bench) =>
    Effect.gen(function* () {
      const { setLost, store } = loseHeartbeats(bench.store)
      const old = yield* startGate(bench.world, store, withSales)
      yield* old.on(begin(caller(1), SALES))
      const ticket = yield* old.on(enqueue(caller(2), SALES))
      setLost(true)
      const gate = yield* bench.start(without)
      yield* TestClock.adjust("4 minutes")
      expect(yield* gate.on(stateOf(ticket))).toBe("waiting")
      expect(gate.warnings.filter((line) => line.includes("any more"))).toEqual([])
    }))

  test("requeues a called caller who starts at the gate that cannot serve it, and calls again", (bench) =>
    Effect.gen(function* () {
      const old = yield* bench.start(withSales)
      const gate = yield* bench.start(without)
      const call = yield* old.on(begin(caller(1), SALES))
      const ticket = yield* old.on(enqueue(caller(2), SALES))
      yield* TestClock.adjust(MEMBERSHIP_MILLIS)
      yield* old.on(hangUp(call.sessionId))
      expect(yield* gate.on(start(ticket))).toMatchObject({
        _tag: "NotYourTurn",
        code: "agent_busy",
        queuePosition: 1,
      })
      yield* TestClock.adjust("1 second")
      expect(eventsOf(bench.world, ticket).filter(({ type }) => type === "start_call")).toHaveLength(2)
      expect(yield* old.on(start(ticket))).toMatchObject({ _tag: "Started", sessionId: "web-2" })
    }))

  test("loses no caller after it is served again, although the heartbeats of that gate are lost", (bench) =>
    Effect.gen(function* () {
      const { call, gate } = yield* removedUnder(bench, 0)
      yield* TestClock.adjust(UNSERVED_MILLIS + MEMBERSHIP_MILLIS - 300)
      const { setLost, store } = loseHeartbeats(bench.store)
      setLost(true)
      const back = yield* startGate(bench.world, store, withSales)
      const ticket = yield* back.on(enqueue(caller(5), SALES))
      yield* TestClock.adjust("10 seconds")
      expect(gate.warnings.filter((line) => line.includes("any more"))).toEqual([])
      expect(yield* back.on(stateOf(ticket))).toBe("waiting")
      yield* gate.on(hangUp(call.sessionId))
      yield* TestClock.adjust("1 second")
      expect(yield* back.on(stateOf(ticket))).toBe("called")
    }))
})
