/** Calls with a time limit of their own: fixed at their start, warned of, ended by one gate at a time, and never mixed up with another call. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { MAX_PER_STEP } from "../../../src/fifo-queue/rules/shared/expiry.ts"
import type { Bench } from "../../support/queue-bench.ts"
import { LONGEST_CALL, type QueueTest } from "./harness.ts"

const SECOND = 1_000
const CLAIM = 20 * SECOND

/** A newcomer whose call ends so long (ms) after its start; returns when that is. */
const limited = Effect.fnUntraced(function* (q: Bench, id: string, length: number, heldFor?: number) {
  const admitted = yield* q.admit(id)
  assert.strictEqual(admitted._tag, "starting")
  const lease = admitted._tag === "starting" ? admitted.lease : ""
  const now = yield* q.now
  const endsAt = now + length
  const limit = heldFor === undefined ? { endsAt } : { endsAt, heldUntil: now + heldFor }
  assert.strictEqual(yield* q.bind(id, lease, [`session of ${id}`], {}, undefined, limit), "live")
  return endsAt
})

const warned = (q: Bench) =>
  [...q.signals(), ...q.published()].flatMap(({ kind, ticket }) =>
    kind._tag === "warning" ? [[ticket, kind.endsAt]] : [],
  )

const overruns = (q: Bench) =>
  [...q.signals(), ...q.published()].flatMap(({ kind }) => (kind._tag === "ended" ? [kind.overrunMillis] : []))

export const lengths = (test: QueueTest): void => {
  test(
    "a call with a time limit is warned of twice, told when it ends, and ended then; its slot goes to the next caller",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        const endsAt = yield* limited(q, "t1", 300 * SECOND)
        yield* q.wait("t2")
        assert.deepInclude(yield* q.attach("t1"), { _tag: "live", endsAt })
        assert.deepInclude((yield* q.operator.snapshot()).slotPage[0], { state: "live", endsAt })
        assert.deepStrictEqual(yield* q.lengths(CLAIM), { sessions: [], nextAt: endsAt - 60 * SECOND })
        assert.deepStrictEqual(warned(q), [])
        yield* TestClock.adjust(240 * SECOND)
        yield* q.attach("t2")
        assert.deepStrictEqual(yield* q.lengths(CLAIM), { sessions: [], nextAt: endsAt - 10 * SECOND })
        assert.deepStrictEqual(warned(q), [["t1", endsAt]])
        assert.deepStrictEqual(yield* q.lengths(CLAIM), { sessions: [], nextAt: endsAt - 10 * SECOND })
        assert.deepStrictEqual(warned(q), [])
        yield* TestClock.adjust(50 * SECOND)
        yield* q.attach("t2")
        assert.deepStrictEqual(yield* q.lengths(CLAIM), { sessions: [], nextAt: endsAt })
        assert.deepStrictEqual(warned(q), [["t1", endsAt]])
        yield* TestClock.adjust(10 * SECOND - 1)
        assert.deepStrictEqual(yield* q.lengths(CLAIM), { sessions: [], nextAt: endsAt })
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(yield* q.lengths(CLAIM), { sessions: ["session of t1"], nextAt: endsAt + CLAIM })
        assert.strictEqual(yield* q.end("session of t1"), "released")
        assert.strictEqual(q.stateOf("t1"), "too_long")
        assert.deepStrictEqual(overruns(q), [undefined])
        assert.deepStrictEqual(q.called(), ["t2"])
        assert.strictEqual(yield* q.end("session of t1"), "repeat")
        assert.deepStrictEqual(yield* q.lengths(CLAIM), { sessions: [], nextAt: undefined })
      }),
  )

  test("a call shorter than a minute is warned of once, ten seconds before its end", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const endsAt = yield* limited(q, "t1", 30 * SECOND)
      assert.deepStrictEqual(yield* q.lengths(CLAIM), { sessions: [], nextAt: endsAt - 10 * SECOND })
      yield* TestClock.adjust(20 * SECOND)
      yield* q.lengths(CLAIM)
      assert.deepStrictEqual(warned(q), [["t1", endsAt]])
    }),
  )

  test("a warning that is late is told once, and the next ones as if it had not been", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const endsAt = yield* limited(q, "t1", 300 * SECOND)
      yield* TestClock.adjust(295 * SECOND)
      assert.deepStrictEqual(yield* q.lengths(CLAIM), { sessions: [], nextAt: endsAt })
      assert.deepStrictEqual(warned(q), [["t1", endsAt]])
    }),
  )

  test("another gate warns and ends when the gate that took it has died, and none before", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const endsAt = yield* limited(q, "t1", 60 * SECOND)
      yield* q.attach("t1")
      // whichever gate takes it, the gate with the connection tells it
      q.on(q.there)
      yield* TestClock.adjust(50 * SECOND)
      yield* q.lengths(CLAIM)
      assert.deepStrictEqual(q.signals(), [])
      assert.deepStrictEqual(q.published(), [{ ticket: "t1", kind: { _tag: "warning", endsAt } }])
      yield* TestClock.adjust(10 * SECOND)
      assert.deepInclude(yield* q.lengths(CLAIM), { sessions: ["session of t1"] })
      q.on(q.here)
      yield* TestClock.adjust(CLAIM - 1)
      assert.deepInclude(yield* q.lengths(CLAIM), { sessions: [] })
      yield* TestClock.adjust(1)
      assert.deepInclude(yield* q.lengths(CLAIM), { sessions: ["session of t1"] })
    }),
  )

  test(
    "a call that its platform does not end is asked for until its slot is taken back, and what it ran over is told",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        const endsAt = yield* limited(q, "t1", 60 * SECOND)
        assert.strictEqual(q.state().leases.get("t1"), (yield* q.now) + LONGEST_CALL)
        yield* TestClock.adjust(60 * SECOND)
        for (let i = 0; i < 3; i++) {
          assert.deepInclude(yield* q.lengths(CLAIM), { sessions: ["session of t1"] })
          yield* TestClock.adjust(CLAIM)
        }
        yield* TestClock.adjust(LONGEST_CALL)
        yield* q.sweep
        assert.strictEqual(q.stateOf("t1"), "reclaimed")
        assert.deepStrictEqual(overruns(q), [(yield* q.now) - endsAt])
        assert.deepInclude(yield* q.lengths(CLAIM), { sessions: [] })
      }),
  )

  test(
    "how long a called caller's call has run over is counted from its start, as the vendor says its length",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* limited(q, "t1", 60 * SECOND)
        yield* q.wait("t2")
        yield* q.attach("t2")
        yield* q.end("session of t1")
        assert.deepStrictEqual(overruns(q), [undefined])
        yield* TestClock.adjust(25 * SECOND)
        const started = yield* q.start("t2")
        const lease = started._tag === "starting" ? started.lease : ""
        const endsAt = (yield* q.now) + 600 * SECOND
        assert.strictEqual(yield* q.bind("t2", lease, ["session of t2"], {}, undefined, { endsAt }), "live")
        yield* TestClock.adjust(650 * SECOND)
        yield* q.endedAfter(640, "session of t2")
        assert.deepStrictEqual(overruns(q), [40 * SECOND])
      }),
  )

  test(
    "a late end of a call says how long it has run over, and a call that ends before is no such end",
    { slots: 2 },
    (q) =>
      Effect.gen(function* () {
        yield* limited(q, "t1", 60 * SECOND)
        yield* limited(q, "t2", 60 * SECOND)
        yield* TestClock.adjust(30 * SECOND)
        yield* q.end("session of t2")
        assert.strictEqual(q.stateOf("t2"), "ended")
        assert.deepStrictEqual(overruns(q), [undefined])
        yield* TestClock.adjust(70 * SECOND)
        yield* q.end("session of t1")
        assert.strictEqual(q.stateOf("t1"), "too_long")
        assert.deepStrictEqual(overruns(q), [40 * SECOND])
      }),
  )

  test("the time in which no gate ran is none that a call has run over", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* limited(q, "t1", 60 * SECOND)
      yield* q.sweep
      yield* TestClock.adjust(LONGEST_CALL + 60 * SECOND)
      yield* q.sweep
      assert.strictEqual(q.stateOf("t1"), "reclaimed")
      assert.deepStrictEqual(overruns(q), [undefined])
    }),
  )

  test("of a platform that cannot be asked, pages are warned and nothing is ended", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const endsAt = yield* limited(q, "t1", 60 * SECOND, 180 * SECOND)
      // the vendor ends the call without the gate, and the slot is held no longer
      assert.strictEqual(q.state().leases.get("t1"), endsAt + 120 * SECOND)
      yield* TestClock.adjust(50 * SECOND)
      yield* q.lengths(CLAIM, false)
      assert.deepStrictEqual(warned(q), [["t1", endsAt]])
      yield* TestClock.adjust(10 * SECOND)
      assert.deepStrictEqual(yield* q.lengths(CLAIM, false), { sessions: [], nextAt: undefined })
      assert.strictEqual(q.stateOf("t1"), "live")
      yield* TestClock.adjust(121 * SECOND)
      yield* q.sweep
      assert.strictEqual(q.stateOf("t1"), "reclaimed")
    }),
  )

  test("a gate that cannot end calls leaves an end to one that can, and then asks for it seldom", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* limited(q, "t1", 60 * SECOND)
      yield* TestClock.adjust(60 * SECOND)
      q.on(q.there)
      for (let seconds = 0; seconds < 14; seconds++) {
        assert.deepStrictEqual(yield* q.lengths(CLAIM, false), { sessions: [], nextAt: undefined })
        yield* TestClock.adjust(SECOND)
      }
      q.on(q.here)
      assert.deepInclude(yield* q.lengths(CLAIM), { sessions: ["session of t1"] })
      // the other one died before it was ended
      yield* TestClock.adjust(CLAIM + 15 * SECOND)
      q.on(q.there)
      const postponed = (yield* q.now) + CLAIM
      assert.deepStrictEqual(yield* q.lengths(CLAIM, false), { sessions: [], nextAt: postponed })
      yield* TestClock.adjust(CLAIM)
      q.on(q.here)
      assert.deepInclude(yield* q.lengths(CLAIM), { sessions: ["session of t1"] })
    }),
  )

  test("a limit at the longest call ends it then, not in its last minute, and is asked for again", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const endsAt = yield* limited(q, "t1", LONGEST_CALL)
      assert.strictEqual(q.state().leases.get("t1"), endsAt + 60 * SECOND)
      yield* TestClock.adjust(LONGEST_CALL - 1)
      yield* q.sweep
      assert.deepStrictEqual(yield* q.dueEnds("all", CLAIM), [])
      yield* TestClock.adjust(1)
      assert.deepInclude(yield* q.lengths(CLAIM), { sessions: ["session of t1"] })
      yield* TestClock.adjust(CLAIM)
      yield* q.sweep
      assert.deepInclude(yield* q.lengths(CLAIM), { sessions: ["session of t1"] })
    }),
  )

  test("a limit that a stale start brings touches neither the newer call nor its limit", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const admitted = yield* q.admit("t1")
      const stale = admitted._tag === "starting" ? admitted.lease : ""
      // its gate is taken for dead; the start is in doubt, and the ticket is called again once that is resolved
      yield* TestClock.adjust(31 * SECOND)
      yield* q.sweep
      yield* q.attach("t1")
      yield* q.resolve(`?${stale}`)
      yield* TestClock.adjust(31 * SECOND)
      yield* q.attach("t1")
      yield* q.resolve(`?${stale}`)
      yield* q.sweep
      assert.strictEqual(q.stateOf("t1"), "called")
      const begun = yield* q.start("t1")
      const lease = begun._tag === "starting" ? begun.lease : ""
      const now = yield* q.now
      const endsAt = now + 300 * SECOND
      assert.strictEqual(yield* q.bind("t1", lease, ["newer"], {}, undefined, { endsAt }), "live")
      assert.strictEqual(yield* q.bind("t1", stale, ["older"], {}, undefined, { endsAt: now + SECOND }), "stale")
      yield* TestClock.adjust(2 * SECOND)
      assert.deepStrictEqual(yield* q.lengths(CLAIM), { sessions: [], nextAt: endsAt - 60 * SECOND })
      assert.deepInclude(yield* q.attach("t1"), { _tag: "live", endsAt })
      // its end, reported late, ends nothing
      yield* q.end("older")
      assert.strictEqual(q.stateOf("t1"), "live")
    }),
  )

  test("a session that awaits its offer has no limit yet; the call that begins with the offer has", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const admitted = yield* q.admit("t1")
      const lease = admitted._tag === "starting" ? admitted.lease : ""
      const limit = { endsAt: (yield* q.now) + 30 * SECOND }
      assert.strictEqual(yield* q.bind("t1", lease, ["awaited"], {}, 60 * SECOND, limit), "live")
      assert.deepStrictEqual(yield* q.lengths(CLAIM), { sessions: [], nextAt: undefined })
      const offered = yield* q.offer("t1", "awaited")
      const taken = offered._tag === "starting" ? offered.lease : ""
      yield* TestClock.adjust(10 * SECOND)
      const endsAt = (yield* q.now) + 30 * SECOND
      assert.strictEqual(yield* q.bind("t1", taken, ["call"], {}, undefined, { endsAt }), "live")
      assert.deepStrictEqual(yield* q.lengths(CLAIM), { sessions: [], nextAt: endsAt - 10 * SECOND })
    }),
  )

  test(
    "an operator ends all running calls, page by page, and none is skipped, ended twice or ended that began since",
    { slots: 300, share: 1 },
    (q) =>
      Effect.gen(function* () {
        const all = Array.from({ length: 230 }, (_, i) => `t${i}`)
        yield* q.enterTogether(all)
        let ended = 0
        let page: { readonly below: number; readonly upTo: number } | undefined
        let pages = 0
        do {
          const answer = yield* q.operator.endCalls(true, page)
          ended += answer.calls ?? 0
          page = answer.next
          if (pages++ === 0) {
            // calls end and begin between the pages
            yield* q.end("session of t0")
            yield* q.enter("later")
          }
        } while (page !== undefined)
        assert.isBelow(pages, 10)
        assert.oneOf(ended, [229, 230])
        const { slotPage } = yield* q.operator.snapshot({ firstSlot: 229 })
        assert.deepStrictEqual(
          slotPage.map(({ state }) => state),
          ["live"],
        )
        const due = new Set<unknown>()
        for (let i = 0; i < 230 / MAX_PER_STEP; i++)
          for (const each of yield* q.dueEnds("at_once", CLAIM)) due.add(each)
        assert.strictEqual(due.size, 229)
        for (const id of all) yield* q.end(`session of ${id}`)
        assert.strictEqual(q.stateOf("t7"), "stopped")
        assert.strictEqual(q.stateOf("later"), "live")
        const { lines } = yield* q.operator.auditLog()
        assert.isTrue(lines.every(({ action }) => action === "end_calls"))
        assert.isAtMost(lines.length, pages)
        // again: only what has begun since
        assert.deepInclude(yield* q.operator.endCalls(true), { calls: 1 })
      }),
  )

  test("calls of a platform that cannot be asked are counted and run on", { slots: 3 }, (q) =>
    Effect.gen(function* () {
      for (const id of ["t1", "t2", "t3"]) yield* q.enter(id, { network: id })
      assert.deepStrictEqual(yield* q.operator.endCalls(false), { result: "cannot_end", ticket: "3", calls: 3 })
      assert.strictEqual(q.stateOf("t1"), "live")
    }),
  )

  test("a call that an operator ends before its limit was stopped, not too long", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* limited(q, "t1", 60 * SECOND)
      const [lease, deadline] = [q.state().tickets.get("t1")?.lease ?? "", q.state().leases.get("t1") ?? 0]
      yield* TestClock.adjust(59 * SECOND)
      yield* q.operator.endCall(lease, deadline)
      yield* TestClock.adjust(2 * SECOND)
      yield* q.end("session of t1")
      assert.strictEqual(q.stateOf("t1"), "stopped")
    }),
  )
}
