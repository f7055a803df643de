/** Campaigns that share the capacity of one account. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { INITIAL_BACKOFF_MILLIS } from "../../../src/fifo-queue/rules/fail.ts"
import { WANT_MILLIS } from "../../../src/fifo-queue/rules/shared/account.ts"
import { type Bench, type BenchAccount, makeBench } from "../../support/queue-bench.ts"
import type { QueueTest } from "./harness.ts"

/** Two campaigns of an account, and a gate of each. */
interface Two {
  readonly one: Bench
  readonly two: Bench
}

export const accounts = (test: QueueTest): void => {
  /** Two campaigns of an account with this cap, the first with reserved slots. */
  const shared = (
    name: string,
    { cap, reserved = 0 }: { readonly cap: number; readonly reserved?: number },
    body: (campaigns: Two) => ReturnType<Parameters<QueueTest>[2]>,
  ): void =>
    test(name, { slots: 0 }, (q) =>
      Effect.gen(function* () {
        const account: BenchAccount = { cap, members: new Map(), reserved: { "one/campaign": reserved } }
        const id = `account-${q.here}`
        const one = yield* makeBench(cap, `${id}/one/campaign`, account)
        const two = yield* makeBench(cap, `${id}/two/campaign`, account)
        yield* body({ one, two })
      }),
    )

  shared("campaigns of an account never hold more than its cap together", { cap: 3 }, ({ one, two }) =>
    Effect.gen(function* () {
      yield* one.enter("a1")
      yield* one.enter("a2")
      yield* two.enter("b1")
      yield* two.wait("b2")
      yield* TestClock.adjust(1)
      yield* one.wait("a3")
      // of another gate, too
      two.on(two.there)
      yield* two.sweep
      assert.deepStrictEqual(two.called(), [])
      assert.strictEqual(yield* one.end("session of a1"), "released")
      assert.deepStrictEqual(one.called(), [])
      assert.deepStrictEqual(one.wanting(), [two.at().campaign])
      yield* two.sweep
      assert.deepStrictEqual(two.called(), ["b2"])
    }),
  )

  shared("the slot goes to the campaign whose oldest caller has waited longest", { cap: 1 }, ({ one, two }) =>
    Effect.gen(function* () {
      yield* one.enter("a1")
      yield* one.wait("a2")
      yield* TestClock.adjust(1)
      yield* two.wait("b1")
      yield* TestClock.adjust(1)
      yield* one.wait("a3")
      assert.strictEqual(yield* one.end("session of a1"), "released")
      assert.deepStrictEqual(one.called(), ["a2"])
      yield* one.run("a2")
      yield* one.end("session of a2")
      // b1 came before a3
      assert.deepStrictEqual(one.called(), [])
      yield* two.sweep
      assert.deepStrictEqual(two.called(), ["b1"])
      yield* two.run("b1")
      yield* two.end("session of b1")
      assert.deepStrictEqual(two.wanting(), [one.at().campaign])
    }),
  )

  shared("who waits for a budget of his own gives his campaign no precedence", { cap: 1 }, ({ one, two }) =>
    Effect.gen(function* () {
      one.setAwaitsOwn(true)
      yield* one.enter("a1")
      yield* one.wait("a2")
      yield* one.awaitBudget("a2", (yield* one.now) + 3_600_000)
      yield* TestClock.adjust(1)
      yield* two.wait("b1")
      yield* TestClock.adjust(1)
      yield* one.wait("a3")
      yield* one.end("session of a1")
      assert.deepStrictEqual(one.called(), [])
      yield* two.sweep
      assert.deepStrictEqual(two.called(), ["b1"])
    }),
  )

  shared(
    "what is reserved for a campaign is given to no other, and it takes it at once",
    { cap: 3, reserved: 2 },
    ({ one, two }) =>
      Effect.gen(function* () {
        yield* two.enter("b1")
        yield* two.wait("b2", "b3")
        assert.deepStrictEqual(two.wanting(), [])
        yield* TestClock.adjust(1_000)
        // although others wait
        yield* one.enter("a1")
        yield* one.enter("a2")
        yield* one.wait("a3")
        yield* one.end("session of a1")
        assert.deepStrictEqual(one.called(), ["a3"])
        yield* two.end("session of b1")
        assert.deepStrictEqual(two.called(), ["b2"])
      }),
  )

  shared("a newcomer leaves a free slot to the campaign whose callers wait", { cap: 1 }, ({ one, two }) =>
    Effect.gen(function* () {
      yield* one.enter("a1")
      yield* two.wait("b1")
      yield* TestClock.adjust(1)
      yield* one.end("session of a1")
      yield* one.wait("a2")
      yield* two.sweep
      assert.deepStrictEqual(two.called(), ["b1"])
    }),
  )

  shared(
    "a campaign whose gates have died is not waited for, and what it holds still counts",
    { cap: 2 },
    ({ one, two }) =>
      Effect.gen(function* () {
        yield* two.enter("b1")
        yield* one.enter("a1")
        yield* two.wait("b2")
        yield* TestClock.adjust(1)
        yield* one.wait("a2")
        yield* one.end("session of a1")
        assert.deepStrictEqual(one.called(), [])
        yield* TestClock.adjust(WANT_MILLIS)
        yield* one.sweep
        assert.deepStrictEqual(one.called(), ["a2"])
        yield* one.run("a2")
        yield* one.wait("a3")
        assert.deepStrictEqual(one.called(), [])
      }),
  )

  shared("a paused campaign, or one that backs off, leaves the slot to the others", { cap: 1 }, ({ one, two }) =>
    Effect.gen(function* () {
      yield* one.enter("a1")
      yield* two.wait("b1")
      yield* TestClock.adjust(1)
      yield* one.wait("a2")
      yield* two.operator.turn("pause")
      yield* one.end("session of a1")
      assert.deepStrictEqual(one.called(), ["a2"])
      yield* one.run("a2")
      yield* two.operator.turn("resume")
      yield* one.wait("a3")
      yield* one.end("session of a2")
      yield* two.sweep
      assert.deepStrictEqual(two.called(), ["b1"])
      const lease = yield* two.start("b1")
      if (lease._tag === "starting") yield* two.rest("b1", lease.lease)
      // the platform refused it; another campaign of the account may find out when it is accepted
      yield* one.sweep
      assert.deepStrictEqual(one.called(), ["a3"])
    }),
  )

  shared(
    "a campaign that holds as many slots as the platform has let it have leaves the others to the account",
    { cap: 3 },
    ({ one, two }) =>
      Effect.gen(function* () {
        yield* one.enter("a1")
        const admitted = yield* two.admit("b1")
        if (admitted._tag === "starting") yield* two.rest("b1", admitted.lease)
        yield* two.wait("b2")
        yield* TestClock.adjust(INITIAL_BACKOFF_MILLIS)
        // one is tried, and does not start
        yield* two.sweep
        assert.deepStrictEqual(two.called(), ["b1"])
        assert.strictEqual((yield* one.admit("a2"))._tag, "starting")
      }),
  )

  shared("a cap that shrinks ends no call, and calls nobody until fewer run", { cap: 3 }, ({ one, two }) =>
    Effect.gen(function* () {
      yield* one.enter("a1")
      yield* one.enter("a2")
      yield* two.enter("b1")
      yield* two.wait("b2")
      one.setCap(1)
      two.setCap(1)
      yield* one.end("session of a1")
      yield* two.sweep
      assert.deepStrictEqual(two.called(), [])
      yield* two.end("session of b1")
      assert.deepStrictEqual(two.called(), [])
      yield* one.end("session of a2")
      yield* two.sweep
      assert.deepStrictEqual(two.called(), ["b2"])
    }),
  )

  shared("nothing is left of an account without calls", { cap: 1 }, ({ one, two }) =>
    Effect.gen(function* () {
      yield* one.enter("a1")
      yield* two.wait("b1")
      assert.includeMembers([...(yield* one.account)], ["one/campaign", "two/campaign"])
      yield* two.leave("b1")
      yield* one.end("session of a1")
      assert.deepStrictEqual([...(yield* one.account)], [])
    }),
  )

  shared(
    "a place says how many slots the campaign has while the account withholds others",
    { cap: 3 },
    ({ one, two }) =>
      Effect.gen(function* () {
        yield* one.enter("a1")
        yield* two.enter("b1")
        yield* two.enter("b2")
        assert.deepInclude(yield* one.admit("a2"), { _tag: "waiting", position: 1, slots: 1 })
        assert.deepInclude(yield* two.admit("b3"), { _tag: "waiting", position: 1, slots: 2 })
        assert.strictEqual((yield* one.heartbeat("a2")).slots, 1)
        // the first free slot is a2's, who came before b3
        yield* two.end("session of b1")
        yield* one.sweep
        yield* two.end("session of b2")
        yield* two.run("b3")
        yield* two.end("session of b3")
        // no other campaign holds a slot or waits for one
        assert.notProperty(yield* one.heartbeat("a2"), "slots")
      }),
  )
}
