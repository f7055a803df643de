/** What becomes of tickets and slots when the platform refuses: the key, a caller, or for want of capacity. */

import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { UNKNOWN_SLOTS } from "../../../src/fifo-queue/bounds.ts"
import { INITIAL_BACKOFF_MILLIS } from "../../../src/fifo-queue/rules/fail.ts"
import { MAX_PARK_MILLIS } from "../../../src/fifo-queue/rules/shared/call-next.ts"
import { REFUSED_CALLERS, REFUSED_STARTS } from "../../../src/fifo-queue/rules/shared/platform-state.ts"
import type { Bench } from "../../support/queue-bench.ts"
import { ids, type QueueTest } from "./harness.ts"
import { pass } from "./passing-time.ts"

const leaseOf = (q: Bench, id: string): string => q.state().tickets.get(id)?.lease ?? ""

export const refusals = (test: QueueTest): void => {
  test(
    "nobody loses a place while the platform refuses the key, and one ticket after the other probes it",
    { slots: 30 },
    (q) =>
      Effect.gen(function* () {
        const all = ids(30)
        for (const id of all) yield* q.admit(id, { caller: "1.2.3.4", holds: true })
        for (const id of all) assert.deepInclude(yield* q.isRejected(id, leaseOf(q, id)), { _tag: "waiting" })
        assert.deepStrictEqual(q.line(), all)
        const { platform } = yield* q.operator.snapshot()
        assert.deepInclude(platform, { state: "rejected", code: "API_KEY_INVALID", setting: "ApiSecretToken" })
        assert.deepInclude(yield* q.admit("t31"), { _tag: "waiting", position: 31, disrupted: true })
        const probing: Array<string> = []
        for (let n = 0; n < 20; n++) {
          for (const id of yield* pass(q, 1_000, ...ids(31))) {
            probing.push(id)
            yield* q.isRejected(id, yield* q.begin(id))
          }
        }
        // one at a time, and more than one of them: the cause may be the caller's
        assert.isAtLeast(new Set(probing).size, 2)
        assert.isAtMost(probing.length, 8)
        assert.deepStrictEqual(q.line(), ids(31))

        // the first that starts ends it: all who wait are called, in order
        let first: string | undefined
        for (let n = 0; n < 30 && first === undefined; n++) [first] = yield* pass(q, 1_000, ...ids(31))
        yield* q.run(first ?? "")
        assert.strictEqual(q.called().length, 29)
        assert.isUndefined((yield* q.operator.snapshot()).platform)
        assert.deepInclude(yield* q.heartbeat(q.line()[0] ?? ""), { disrupted: false })
      }),
  )

  test("a ticket that alone is refused fails, and the others are called meanwhile", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t0")
      yield* q.wait("poison", ...ids(9))
      yield* q.end("session of t0")
      for (let n = 1; n <= 2; n++) {
        // the first refusal after a start is its own, and the next is called at once
        yield* q.isRejected("poison", yield* q.begin("poison"))
        assert.isUndefined((yield* q.operator.snapshot()).platform)
        yield* q.run(`t${n}`)
        yield* pass(q, MAX_PARK_MILLIS, "poison", ...ids(9))
        yield* q.end(`session of t${n}`)
      }
      assert.deepStrictEqual(yield* q.isRejected("poison", yield* q.begin("poison")), { _tag: "failed" })
      assert.strictEqual(q.stateOf("t3"), "called")
    }),
  )

  test("a key that is refused now and then ends nobody's ticket", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t0")
      yield* q.wait("unlucky", ...ids(9))
      yield* q.end("session of t0")
      for (let n = 1; n <= 5; n++) {
        assert.deepInclude(yield* q.isRejected("unlucky", yield* q.begin("unlucky"), { ofAccount: true }), {
          _tag: "waiting",
          position: 1,
        })
        assert.deepInclude((yield* q.operator.snapshot()).platform, { state: "rejected" })
        let other: string | undefined
        for (let i = 0; i < 20 && other === undefined; i++) [other] = yield* pass(q, 1_000, "unlucky", ...ids(9))
        yield* q.run(other ?? "")
        yield* pass(q, MAX_PARK_MILLIS, "unlucky", ...ids(9))
        yield* q.end(`session of ${other}`)
      }
      assert.strictEqual(q.stateOf("unlucky"), "called")
    }),
  )

  test(
    "a newcomer whose start is refused fails where the settings say so, and gets the quota back",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* q.admit("t1", { caller: "1.2.3.4", holds: true })
        assert.deepStrictEqual(yield* q.isRejected("t1", leaseOf(q, "t1"), { ends: true }), { _tag: "failed" })
        assert.deepStrictEqual(q.settlements(), [{ kind: "refund", ticket: "t1", caller: "1.2.3.4" }])
        assert.deepInclude((yield* q.operator.snapshot()).platform, { state: "rejected" })
      }),
  )

  test("a platform that refuses what everybody sends empties no queue", { slots: 10 }, (q) =>
    Effect.gen(function* () {
      const all = ids(40)
      for (const [n, id] of all.entries()) yield* q.admit(id, { caller: `8.8.${n}.8`, network: `8.8.${n}` })
      const lost: Array<string> = []
      const starting = all.slice(0, 10).map((id) => [id, leaseOf(q, id)] as const)
      for (const [id, lease] of starting) {
        if ((yield* q.startFails(id, lease, "refused"))._tag === "failed") lost.push(id)
      }
      // called in place of the first two, before it was known
      for (const id of all.filter((each) => q.stateOf(each) === "called")) {
        assert.deepInclude(yield* q.startFails(id, yield* q.begin(id), "refused"), { _tag: "waiting" })
      }
      assert.strictEqual(lost.length, REFUSED_CALLERS - 1)
      assert.deepInclude((yield* q.operator.snapshot()).platform, { state: "rejected" })
      assert.deepInclude(yield* q.admit("t41"), { _tag: "waiting", disrupted: true })
      const left = [...all.filter((id) => !lost.includes(id)), "t41"]
      let probes = 0
      for (let n = 0; n < 30; n++) {
        for (const id of yield* pass(q, 1_000, ...left)) {
          probes++
          assert.strictEqual((yield* q.startFails(id, yield* q.begin(id), "refused"))._tag, "waiting")
        }
      }
      assert.isAtLeast(probes, 2)
      assert.isAtMost(probes, 12)
      assert.deepStrictEqual(q.line(), left)

      let first: string | undefined
      for (let n = 0; n < 30 && first === undefined; n++) [first] = yield* pass(q, 1_000, ...left)
      yield* q.run(first ?? "")
      assert.strictEqual(q.called().length, 9)
      assert.isUndefined((yield* q.operator.snapshot()).platform)
    }),
  )

  test("one caller whose starts are refused, however often, is alone the cause while nobody waits", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      for (let n = 1; n <= 3 * REFUSED_STARTS; n++) {
        yield* q.admit(`t${n}`, { caller: "8.8.8.8", network: "8.8.8" })
        assert.deepStrictEqual(yield* q.startFails(`t${n}`, leaseOf(q, `t${n}`), "refused"), { _tag: "failed" })
      }
      assert.isUndefined((yield* q.operator.snapshot()).platform)
    }),
  )

  test("callers of one address keep their places too when the platform refuses all of them", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const all = ids(12)
      yield* q.enter("t0")
      for (const id of all) yield* q.admit(id, { caller: "127.0.0.1" })
      yield* q.end("session of t0")
      let lost = 0
      for (let n = 0; n < 20; n++) {
        const called = [...q.called(), ...(yield* pass(q, 1_000, ...all))]
        for (const id of called) {
          if ((yield* q.startFails(id, yield* q.begin(id), "refused"))._tag === "failed") lost++
        }
      }
      assert.strictEqual(lost, REFUSED_STARTS - 1)
      assert.strictEqual(q.line().length, all.length - lost)
    }),
  )

  test("a platform at capacity is known as such until a session starts, or nobody waits", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t0")
      yield* q.admit("t1")
      const began = yield* q.now
      yield* q.rest("t1", leaseOf(q, "t1"))
      for (let n = 0; n < 120; n++) {
        yield* pass(q, 1_000, "t1")
        if (q.stateOf("t1") === "called") yield* q.rest("t1", yield* q.begin("t1"))
      }
      assert.deepInclude((yield* q.operator.snapshot()).platform, { state: "at_capacity", since: began })
      // one call runs there, so one slot serves
      assert.deepInclude(yield* q.attach("t1"), { _tag: "waiting", disrupted: false, slots: 1 })
      assert.deepInclude(yield* q.admit("t2"), { _tag: "waiting", position: 2, slots: 1 })
      for (let n = 0; n < 70 && q.stateOf("t1") !== "called"; n++) yield* pass(q, 1_000, "t1", "t2")
      yield* q.run("t1")
      assert.isUndefined((yield* q.operator.snapshot()).platform)

      yield* q.end("session of t1")
      yield* q.rest("t2", yield* q.begin("t2"))
      assert.deepInclude((yield* q.operator.snapshot()).platform, { state: "at_capacity" })
      yield* q.leave("t2")
      yield* q.sweep
      assert.isUndefined((yield* q.operator.snapshot()).platform)
    }),
  )

  test(
    "where nobody knows the slots, a refusal beside running calls is the limit, and one beside none means a platform at capacity",
    { slots: UNKNOWN_SLOTS },
    (q) =>
      Effect.gen(function* () {
        const known = Effect.map(q.operator.snapshot(), ({ allowed, platform }) => ({
          allowed,
          state: platform?.state,
        }))
        yield* q.enter("t0")
        yield* q.admit("t1")
        const refused = yield* q.rest("t1", leaseOf(q, "t1"))
        assert.deepInclude(refused, { _tag: "waiting", position: 1, slots: 1 })
        assert.deepStrictEqual(yield* known, { allowed: 1, state: undefined })
        // the slot is held by the call, so those who wait are no sign of trouble
        yield* pass(q, INITIAL_BACKOFF_MILLIS - 1_000, "t1")
        assert.deepStrictEqual(yield* known, { allowed: 1, state: undefined })

        // calls of others have every slot
        yield* q.end("session of t0")
        yield* pass(q, 1_000, "t1")
        yield* q.rest("t1", yield* q.begin("t1"))
        assert.deepStrictEqual(yield* known, { allowed: 0, state: "at_capacity" })
        assert.deepInclude(yield* q.heartbeat("t1"), { slots: 0 })
        for (let n = 0; n < 70 && q.stateOf("t1") !== "called"; n++) yield* pass(q, 1_000, "t1")
        yield* q.run("t1")
        assert.deepStrictEqual(yield* known, { allowed: 1, state: undefined })
      }),
  )
}
