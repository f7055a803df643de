/** What an operator sees of a campaign and does with it, and what that does not affect. */
import { createHash } from "node:crypto"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { isoTime } from "../../../src/Session.ts"
import { Store } from "../../../src/Store.ts"
import { type Bench, OPERATOR } from "../../support/queue-bench.ts"
import { GRACE, ids, type QueueTest, WINDOW } from "./harness.ts"

const hash = (id: string): string => createHash("sha1").update(id).digest("hex").slice(0, 10)
const seqOf = (q: Bench, id: string): number => q.state().tickets.get(id)?.seq ?? 0
const leaseOf = (q: Bench, id: string): readonly [string, number] => [
  q.state().tickets.get(id)?.lease ?? "",
  q.state().leases.get(id) ?? 0,
]

export const operator = (test: QueueTest): void => {
  test("an operator sees an empty campaign", { slots: 3 }, (q) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* q.operator.snapshot(), {
        waiting: 0,
        present: 0,
        held: 0,
        live: 0,
        averageMillis: 0,
        backoffUntil: 0,
        disrupted: false,
        probeUntil: 0,
        doubts: 0,
        paused: false,
        draining: false,
        accepted: 0,
        firstAcceptedAt: 0,
        slotPage: [],
        waitingPage: [],
      })
      assert.deepStrictEqual(yield* q.operator.auditLog(), { total: 0, lines: [] })
    }),
  )

  test(
    "an operator sees since when each slot is held and how long each ticket waits, but no ticket's id",
    { slots: 2 },
    (q) =>
      Effect.gen(function* () {
        const began = yield* (yield* Store).now
        yield* q.enter("first-secret-ticket")
        yield* q.enter("second-secret-ticket")
        yield* TestClock.adjust(2_000)
        yield* q.wait("third-secret-ticket", "fourth-secret-ticket")
        yield* q.end("session of second-secret-ticket")
        yield* q.attach("third-secret-ticket")
        const seen = yield* q.operator.snapshot()
        assert.deepInclude(seen, {
          waiting: 1,
          present: 1,
          held: 2,
          live: 1,
          accepted: 4,
          firstAcceptedAt: began + 2_000,
        })
        assert.deepStrictEqual(seen.slotPage, [
          {
            ticket: hash("third-secret-ticket"),
            state: "called",
            lease: "3",
            since: began + 2_000,
            deadline: began + 2_000 + WINDOW,
            acceptedAt: began + 2_000,
            attached: true,
          },
          {
            ticket: hash("first-secret-ticket"),
            state: "live",
            lease: "1",
            since: began,
            deadline: q.state().leases.get("first-secret-ticket") ?? 0,
            acceptedAt: began,
            attached: false,
          },
        ])
        assert.deepStrictEqual(seen.waitingPage, [
          {
            ticket: hash("fourth-secret-ticket"),
            seq: 4,
            acceptedAt: began + 2_000,
            presentUntil: began + 2_000 + GRACE,
          },
        ])
        assert.notInclude(JSON.stringify(seen), "secret")
      }),
  )

  test("an operator sees pages: slots by deadline, and places in the queue", { slots: 3 }, (q) =>
    Effect.gen(function* () {
      for (const id of ids(3)) yield* q.enter(id)
      yield* q.wait("w1", "w2", "w3", "w4", "w5")
      const seen = yield* q.operator.snapshot({ firstSlot: 1, slots: 1, firstPlace: 2, places: 2 })
      assert.deepStrictEqual(
        seen.waitingPage.map(({ ticket }) => ticket),
        [hash("w3"), hash("w4")],
      )
      assert.lengthOf(seen.slotPage, 1)
      assert.strictEqual(seen.waiting, 5)
      assert.deepStrictEqual((yield* q.operator.snapshot({ firstPlace: 5 })).waitingPage, [])
    }),
  )

  test("of 10,000 waiting tickets an operator gets at most 100 at once, from any place on", { slots: 0 }, (q) =>
    Effect.gen(function* () {
      yield* Effect.forEach(ids(10_000), (id) => q.unchecked.admit(id), { concurrency: 200, discard: true })
      const seen = yield* q.unchecked.snapshot({ firstSlot: 0, slots: 100, firstPlace: 9_950, places: 5_000 })
      assert.strictEqual(seen.waiting, 10_000)
      assert.lengthOf(seen.waitingPage, 50)
      const first = yield* q.unchecked.snapshot({ firstSlot: 0, slots: 100, firstPlace: 0, places: 5_000 })
      assert.lengthOf(first.waitingPage, 100)
    }),
  )

  test("an absent waiting ticket counts as waiting, not as present", { slots: 0 }, (q) =>
    Effect.gen(function* () {
      yield* q.wait("t1", "t2")
      yield* TestClock.adjust(GRACE - 1)
      yield* q.heartbeat("t2")
      yield* TestClock.adjust(2)
      assert.deepInclude(yield* q.operator.snapshot(), { waiting: 2, present: 1 })
    }),
  )

  test("a paused campaign calls and admits nobody, and newcomers queue", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      assert.strictEqual((yield* q.operator.turn("pause")).result, "done")
      assert.strictEqual((yield* q.admit("t2"))._tag, "waiting")
      yield* q.end("session of t1")
      yield* q.sweep
      assert.deepStrictEqual([q.called(), q.line()], [[], ["t2"]])
      assert.deepInclude(yield* q.operator.snapshot(), { paused: true, draining: false, waiting: 1, held: 0 })
    }),
  )

  test("a pause until a time ends by itself, and the next sweep calls", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const until = (yield* q.now) + 10_000
      yield* q.operator.pauseUntil(until)
      yield* q.wait("t0")
      assert.deepInclude(yield* q.operator.snapshot(), { paused: true, pausedUntil: until })
      assert.deepInclude(yield* q.admit("t1"), { paused: true, pausedUntil: until })
      assert.deepInclude(yield* q.attach("t1"), { paused: true, pausedUntil: until })
      assert.deepInclude(yield* q.heartbeat("t1"), { paused: true, pausedUntil: until })
      yield* TestClock.adjust(9_999)
      yield* q.sweep
      assert.deepStrictEqual(q.called(), [])
      yield* TestClock.adjust(1)
      assert.notProperty(yield* q.operator.snapshot(), "pausedUntil")
      yield* q.sweep
      assert.deepStrictEqual(q.called(), ["t0"])
      // nothing of it stays, which gates of versions without an end would take for a pause
      const { meta } = q.state()
      assert.deepStrictEqual([meta.get("paused"), meta.get("pausedUntil")], [undefined, undefined])
      assert.strictEqual((yield* q.operator.turn("resume")).result, "already")
      const [, line] = (yield* q.operator.auditLog()).lines
      assert.deepInclude(line, { action: "pause", target: `until ${isoTime(until)}`, result: "done" })
    }),
  )

  test("a pause until a time that has passed ends no other pause", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.operator.turn("pause")
      assert.strictEqual((yield* q.operator.pauseUntil(yield* q.now)).result, "gone")
      assert.deepInclude(yield* q.operator.snapshot(), { paused: true })
    }),
  )

  test("a pause may get another end, or none, and a newcomer is admitted once it is over", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const until = (yield* q.now) + 10_000
      const results: Array<string> = []
      for (const end of [until, until, until + 5_000]) {
        results.push((yield* q.operator.pauseUntil(end)).result)
      }
      results.push((yield* q.operator.turn("pause")).result, (yield* q.operator.turn("pause")).result)
      assert.deepStrictEqual(results, ["done", "already", "done", "done", "already"])
      assert.notProperty(yield* q.operator.snapshot(), "pausedUntil")
      yield* q.operator.pauseUntil(until)
      yield* TestClock.adjust(10_000)
      assert.strictEqual((yield* q.admit("t1"))._tag, "starting")
    }),
  )

  test("a ticket learns with its place that the campaign is paused, and when it no longer is", { slots: 0 }, (q) =>
    Effect.gen(function* () {
      assert.notProperty(yield* q.admit("t1"), "paused")
      yield* q.operator.turn("pause")
      assert.propertyVal(yield* q.admit("t2"), "paused", true)
      assert.propertyVal(yield* q.attach("t1"), "paused", true)
      assert.propertyVal(yield* q.heartbeat("t1", "t2"), "paused", true)
      yield* q.operator.turn("resume")
      assert.notProperty(yield* q.attach("t1"), "paused")
      assert.notProperty(yield* q.heartbeat("t1", "t2"), "paused")
    }),
  )

  test("a ticket called before a pause may start", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2", "t3")
      yield* q.end("session of t1")
      yield* q.operator.turn("pause")
      yield* q.run("t2")
      yield* q.end("session of t2")
      assert.deepStrictEqual(q.called(), [])
    }),
  )

  test("resuming calls one ticket per free slot at once, in order", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.operator.turn("pause")
      yield* q.wait("t1", "t2", "t3")
      yield* q.operator.turn("resume")
      assert.deepStrictEqual(q.called(), ["t1", "t2"])
      assert.strictEqual((yield* q.operator.turn("resume")).result, "already")
    }),
  )

  test("a pause does not keep the places of absent tickets", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.operator.turn("pause")
      yield* q.wait("t1")
      yield* TestClock.adjust(GRACE + 1)
      yield* q.sweep
      assert.strictEqual(q.stateOf("t1"), "abandoned")
    }),
  )

  test("a draining campaign refuses newcomers and serves waiting tickets", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2")
      assert.strictEqual((yield* q.operator.turn("drain")).result, "done")
      assert.deepStrictEqual(yield* q.admit("t3"), { _tag: "draining" })
      assert.isUndefined(q.stateOf("t3"))
      yield* q.end("session of t1")
      assert.deepStrictEqual(q.called(), ["t2"])
      yield* q.run("t2")
      yield* q.end("session of t2")
      assert.deepStrictEqual(yield* q.admit("t4"), { _tag: "draining" })
      yield* q.operator.turn("reopen")
      assert.strictEqual((yield* q.admit("t5"))._tag, "starting")
    }),
  )

  test("neither a backoff nor a pause prevents an operator's call", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const admitted = yield* q.admit("t1")
      yield* q.wait("t2")
      yield* q.rest("t1", admitted._tag === "starting" ? admitted.lease : "")
      yield* q.sweep
      assert.deepStrictEqual(q.called(), [])
      yield* q.operator.turn("pause")
      assert.deepStrictEqual(yield* q.operator.callOne, { result: "called", ticket: hash("t1") })
      assert.deepStrictEqual(q.called(), ["t1"])
      assert.isAbove((yield* q.operator.snapshot()).backoffUntil, 0)
    }),
  )

  test("an operator's call calls one ticket, and never exceeds the slots", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.operator.turn("pause")
      assert.strictEqual((yield* q.operator.callOne).result, "nobody")
      yield* q.wait("t1", "t2", "t3")
      yield* q.operator.callOne
      assert.deepStrictEqual(q.called(), ["t1"])
      yield* q.operator.callOne
      assert.deepStrictEqual(yield* q.operator.callOne, { result: "no_slot", ticket: "-" })
      assert.deepStrictEqual(q.line(), ["t3"])
    }),
  )

  test("an operator's call passes over absent tickets, like any call", { slots: 0 }, (q) =>
    Effect.gen(function* () {
      yield* q.wait("t1", "t2")
      yield* TestClock.adjust(GRACE - 1)
      yield* q.heartbeat("t2")
      yield* TestClock.adjust(2)
      q.setSlots(1)
      assert.deepStrictEqual(yield* q.operator.callOne, { result: "called", ticket: hash("t2") })
      assert.strictEqual(q.stateOf("t1"), "abandoned")
    }),
  )

  test("a ticket removed from the queue is notified, and the others move up", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2", "t3")
      q.on(q.there)
      yield* q.attach("t2")
      q.on(q.here)
      assert.deepStrictEqual(yield* q.operator.remove(seqOf(q, "t2")), { result: "removed", ticket: hash("t2") })
      assert.deepStrictEqual(q.published(), [{ ticket: "t2", kind: { _tag: "ended", state: "removed" } }])
      assert.deepStrictEqual(yield* q.start("t2"), { _tag: "ended", state: "removed" })
      assert.deepStrictEqual(q.line(), ["t3"])
    }),
  )

  test("a removed ticket gets back its concurrent unit but no quota", { slots: 0 }, (q) =>
    Effect.gen(function* () {
      yield* q.admit("t1", { caller: "192.0.2.1", holds: true })
      yield* q.admit("t2", { caller: "192.0.2.1", holds: false })
      yield* q.operator.remove(seqOf(q, "t1"))
      assert.deepStrictEqual(q.settlements(), [{ kind: "release", ticket: "t1", caller: "192.0.2.1" }])
      yield* q.operator.remove(seqOf(q, "t2"))
      assert.deepStrictEqual(q.settlements(), [])
    }),
  )

  test("a ticket that was called meanwhile is not removed", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2")
      const seq = seqOf(q, "t2")
      yield* q.end("session of t1")
      assert.strictEqual((yield* q.operator.remove(seq)).result, "gone")
      assert.strictEqual((yield* q.operator.remove(99)).result, "gone")
      assert.strictEqual(q.stateOf("t2"), "called")
    }),
  )

  test(
    "when an operator ends the lease of a live session its slot goes to the next, and its webhook is a repeat",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* q.enter("t1")
        yield* q.wait("t2")
        assert.deepStrictEqual(yield* q.operator.endLease(...leaseOf(q, "t1")), { result: "freed", ticket: hash("t1") })
        assert.deepStrictEqual(q.called(), ["t2"])
        assert.strictEqual(q.stateOf("t1"), "stopped")
        assert.strictEqual(yield* q.end("session of t1"), "repeat")
        // a call that an operator ended is not measured
        assert.strictEqual(q.state().meta.get("averageMillis"), undefined)
      }),
  )

  test("a call that an operator ends holds its slot until the platform has ended it", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const now = yield* (yield* Store).now
      yield* q.enter("t1")
      yield* q.wait("t2")
      const [lease, longest] = leaseOf(q, "t1")
      const asked = yield* q.operator.endCall(lease, longest)
      const deadline = now + 60_000
      assert.strictEqual(asked.result, "ending")
      assert.strictEqual(asked.session?.deadline, deadline)
      assert.include(asked.session?.data, "session of t1")
      const { slotPage } = yield* q.operator.snapshot()
      assert.deepInclude(slotPage[0], { ticket: hash("t1"), state: "ending", deadline })
      assert.deepStrictEqual(q.called(), [])
      // the gate that asked has died, and another one asks
      assert.deepStrictEqual(yield* q.dueEnds("at_once", 20_000), [])
      yield* TestClock.adjust(20_000)
      assert.deepStrictEqual(yield* q.dueEnds("at_once", 20_000), ["session of t1"])
      assert.strictEqual(yield* q.end("session of t1"), "released")
      assert.deepStrictEqual(q.called(), ["t2"])
      assert.strictEqual(q.stateOf("t1"), "stopped")
      assert.strictEqual(yield* q.end("session of t1"), "repeat")
      assert.strictEqual(q.state().meta.get("averageMillis"), undefined)
      const { lines } = yield* q.operator.auditLog()
      assert.deepStrictEqual(
        lines.map(({ result, target, who }) => [who, target, result]),
        [
          [OPERATOR, hash("t1"), "ended_at_platform"],
          [OPERATOR, hash("t1"), "ending_live"],
        ],
      )
    }),
  )

  test("a call that the platform does not end gives its slot back within a minute", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2")
      yield* q.operator.endCall(...leaseOf(q, "t1"))
      for (let i = 0; i < 3; i++) {
        yield* TestClock.adjust(19_999)
        yield* q.heartbeat("t2")
        yield* q.sweep
      }
      assert.strictEqual(q.stateOf("t1"), "live")
      yield* TestClock.adjust(4)
      yield* q.sweep
      assert.strictEqual(q.stateOf("t1"), "stopped")
      assert.deepStrictEqual(q.called(), ["t2"])
      assert.deepStrictEqual(yield* q.dueEnds("all", 20_000), [])
      assert.strictEqual((yield* q.operator.auditLog()).lines[0]?.result, "freed_live")
    }),
  )

  test("a call that is being ended is freed when the platform cannot do it", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.operator.endCall(...leaseOf(q, "t1"))
      assert.strictEqual((yield* q.operator.endLease(...leaseOf(q, "t1"))).result, "freed")
      assert.deepStrictEqual(
        (yield* q.operator.auditLog()).lines.map(({ result }) => result),
        ["freed_live", "ending_live"],
      )
      assert.strictEqual((yield* q.admit("t2"))._tag, "starting")
    }),
  )

  test("a start whose lease an operator ended finds it stale", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const admitted = yield* q.admit("t1")
      yield* q.operator.endLease(...leaseOf(q, "t1"))
      const lease = admitted._tag === "starting" ? admitted.lease : ""
      assert.strictEqual(yield* q.bind("t1", lease, ["s1"]), "stale")
      assert.strictEqual(yield* q.fail("t1", lease), "stale")
      assert.strictEqual((yield* q.admit("t2"))._tag, "starting")
    }),
  )

  test("when an operator ends the lease of a called ticket the slot goes to the next", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2", "t3")
      yield* q.end("session of t1")
      yield* q.operator.endLease(...leaseOf(q, "t2"))
      assert.deepStrictEqual(q.called(), ["t3"])
    }),
  )

  test("a lease that has changed since the operator saw it is not ended", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.admit("t1")
      const seen = leaseOf(q, "t1")
      yield* q.bind("t1", seen[0], ["s1"])
      assert.strictEqual((yield* q.operator.endLease(...seen)).result, "gone")
      assert.strictEqual((yield* q.operator.endLease("77", leaseOf(q, "t1")[1])).result, "gone")
      assert.strictEqual(q.stateOf("t1"), "live")
    }),
  )

  test("of several leases with the same deadline the right one is ended", { slots: 3 }, (q) =>
    Effect.gen(function* () {
      for (const id of ids(3)) yield* q.admit(id)
      yield* q.operator.endLease(...leaseOf(q, "t2"))
      assert.deepStrictEqual([q.stateOf("t1"), q.stateOf("t2"), q.stateOf("t3")], ["starting", "removed", "starting"])
    }),
  )

  test("every action of an operator is logged: when, who, what, on what, with what result", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const now = yield* (yield* Store).now
      yield* q.enter("t1")
      yield* q.wait("t2", "t3")
      const lease = leaseOf(q, "t1")
      yield* q.operator.turn("pause")
      yield* q.operator.turn("pause")
      yield* q.operator.callOne
      yield* q.operator.remove(seqOf(q, "t2"))
      yield* q.operator.remove(2)
      yield* TestClock.adjust(5)
      yield* q.operator.endLease(...lease)
      const line = (n: number, at: number, action: string, target: string, result: string) => ({
        n,
        at,
        who: OPERATOR,
        action,
        target,
        result,
      })
      const changes = '{"settings":[{"setting":"Queue.MaxLength"}],"more":0}'
      yield* q.unchecked.act({ type: "settings", changed: "Queue.MaxLength", changes })
      const all = [
        { ...line(7, now + 5, "settings", "Queue.MaxLength", "done"), changes },
        line(6, now + 5, "end", hash("t1"), "freed_live"),
        line(5, now, "remove", "#2", "gone"),
        line(4, now, "remove", hash("t2"), "removed"),
        line(3, now, "call", "-", "no_slot"),
        line(2, now, "pause", "-", "already"),
        line(1, now, "pause", "-", "done"),
      ]
      assert.deepStrictEqual(yield* q.operator.auditLog(), { total: 7, lines: all })
      assert.deepStrictEqual(yield* q.operator.auditLog(2, 3), { total: 7, lines: all.slice(2, 5) })
    }),
  )

  test("the last 1,000 lines of the audit log are kept", { slots: 0 }, (q) =>
    Effect.gen(function* () {
      yield* Effect.forEach(ids(1_003), () => q.unchecked.act({ type: "pause" }), { discard: true })
      const { lines, total } = yield* q.operator.auditLog(990, 100)
      assert.strictEqual(total, 1_000)
      assert.deepStrictEqual(
        lines.map(({ n }) => n),
        [13, 12, 11, 10, 9, 8, 7, 6, 5, 4],
      )
    }),
  )
}
