/** Tickets that a gate holds: how long they count as present, who takes them over, and what a gate is told of changes. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { FIRST_PLACES } from "../../../src/fifo-queue/position.ts"
import { CHANGES_MILLIS, MAX_CHANGES, MAX_CHANGES_PER_STEP } from "../../../src/fifo-queue/rules/shared/changes.ts"
import { MAX_PER_STEP } from "../../../src/fifo-queue/rules/shared/expiry.ts"
import { DEAD_MILLIS } from "../../../src/fifo-queue/rules/shared/outage.ts"
import { HELD, RELEASE_MILLIS, SILENT_HOLDER_MILLIS } from "../../../src/fifo-queue/rules/shared/presence.ts"
import type { Bench } from "../../support/queue-bench.ts"
import { GRACE, ids, type QueueTest } from "./harness.ts"

const isHeld = (q: Bench, id: string): boolean => (q.state().presence.get(id) ?? 0) >= HELD

/** Lets time pass in which this gate sends heartbeats that name nobody, and sweeps. */
const quiet = (q: Bench, millis: number) =>
  Effect.gen(function* () {
    for (let passed = 0; passed < millis; passed += 1_000) {
      yield* TestClock.adjust(1_000)
      if (passed % 2_000 === 0) yield* q.hold([])
      yield* q.sweep
    }
  })

export const held = (test: QueueTest): void => {
  test(
    "a ticket that a gate holds is present without any further word, for as long as the gate lives",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* q.enter("t1")
        yield* q.wait("t2", "t3")
        yield* q.attach("t2")
        yield* q.hold(["t2"])
        yield* quiet(q, 4 * GRACE)
        assert.deepStrictEqual(q.line(), ["t2"])
        assert.isTrue(isHeld(q, "t2"))
      }),
  )

  test("a ticket whose connection has closed is present for the grace from then on", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2")
      yield* q.attach("t2")
      yield* q.hold(["t2"])
      yield* quiet(q, 2 * GRACE)
      const answer = yield* q.hold([], { closed: ["t2", "nobody"] })
      assert.strictEqual(answer.changes?.holds, 0)
      yield* quiet(q, GRACE)
      assert.deepStrictEqual(q.line(), ["t2"])
      yield* quiet(q, 1_000)
      assert.deepStrictEqual(q.line(), [])
    }),
  )

  test("a gate cannot let go of a ticket that another gate holds", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2")
      yield* q.hold(["t2"])
      q.on(q.there)
      yield* q.hold([], { closed: ["t2"] })
      assert.isTrue(isHeld(q, "t2"))
    }),
  )

  test(
    "of two gates with a connection, the first holds the ticket, and the other one once it lets go",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* q.enter("t1")
        yield* q.wait("t2")
        yield* q.hold(["t2"])
        q.on(q.there)
        const { changes, tickets } = yield* q.hold(["t2"])
        assert.deepInclude(tickets[0], { state: "waiting", elsewhere: true })
        assert.strictEqual(changes?.holds, 0)
        q.on(q.here)
        yield* q.hold([], { closed: ["t2"] })
        q.on(q.there)
        const told = yield* q.hold([], { since: changes?.until ?? 0 })
        assert.deepStrictEqual(told.changes?.changed, ["t2"])
        const taken = yield* q.hold(["t2"])
        assert.notProperty(taken.tickets[0], "elsewhere")
        assert.strictEqual(taken.changes?.holds, 1)
      }),
  )

  test("another gate takes over a ticket that has come to it when the one that holds it is silent", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2")
      yield* q.hold(["t2"])
      q.on(q.there)
      yield* TestClock.adjust(SILENT_HOLDER_MILLIS)
      yield* q.attach("t2")
      assert.deepInclude((yield* q.hold(["t2"])).tickets[0], { elsewhere: true })
      yield* TestClock.adjust(1)
      yield* q.attach("t2")
      assert.isFalse(isHeld(q, "t2"))
      assert.notProperty((yield* q.hold(["t2"])).tickets[0], "elsewhere")
      yield* quiet(q, 2 * GRACE)
      assert.deepStrictEqual(q.line(), ["t2"])
    }),
  )

  test("a caller whose gate dies and who does not return keeps the place until the gate is dead", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2", "t3")
      yield* q.attach("t2")
      yield* q.hold(["t2"])
      yield* q.sweep
      q.on(q.there)
      yield* q.hold(["t3"])
      yield* quiet(q, RELEASE_MILLIS)
      assert.isTrue(isHeld(q, "t2"))
      yield* quiet(q, DEAD_MILLIS - RELEASE_MILLIS)
      assert.deepStrictEqual(q.line(), ["t2", "t3"])
      assert.isFalse(isHeld(q, "t2"))
      yield* quiet(q, 2_000)
      assert.deepStrictEqual(q.line(), ["t3"])
      assert.deepStrictEqual([...q.state().holders.keys()].length, 1)
    }),
  )

  test("what a dead gate held is released page by page, and nobody who has returned is lost", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const all = ids(450)
      yield* q.enter("first")
      yield* q.waitTogether(all)
      yield* q.attachTogether(all)
      yield* q.hold(all)
      yield* q.sweep
      q.on(q.there)
      const returned = all.filter((_, n) => n % 3 === 0)
      yield* quiet(q, 10_000)
      yield* q.attachTogether(returned)
      yield* q.hold(returned)
      yield* quiet(q, DEAD_MILLIS)
      while ((yield* q.sweep).more) yield* TestClock.adjust(1)
      assert.deepStrictEqual(q.line(), returned)
    }),
  )

  test("a gate that stops lets go of all that it holds: they are present for the grace", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const all = ids(250)
      yield* q.enter("first")
      yield* q.waitTogether(all)
      yield* q.hold(all)
      yield* quiet(q, 2 * GRACE)
      yield* q.gone
      assert.isFalse(all.some((id) => isHeld(q, id)))
      q.on(q.there)
      yield* quiet(q, GRACE)
      assert.strictEqual(q.line().length, 250)
      // a sweep every other second
      yield* quiet(q, Math.ceil(250 / MAX_PER_STEP + 1) * 2_000)
      assert.deepStrictEqual(q.line(), [])
    }),
  )

  test("a connected caller who returns to the place is told as changed, and is held again", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2")
      const { changes } = yield* q.hold(["t2"])
      yield* q.end("session of t1")
      const { lease } = (yield* q.hold(["t2"])).tickets[0] ?? {}
      yield* q.start("t2")
      yield* q.rest("t2", lease ?? "")
      assert.isFalse(isHeld(q, "t2"))
      const told = yield* q.hold([], { since: changes?.until ?? 0 })
      assert.deepStrictEqual(told.changes?.changed, ["t2"])
      yield* q.hold(["t2"])
      assert.isTrue(isHeld(q, "t2"))
    }),
  )

  test("a gate is told who has ceased to wait, once, and of changes that are not known any more", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.enter("t2")
      yield* q.wait("t3", "t4", "t5")
      const { changes } = yield* q.hold(["t3", "t4", "t5"])
      yield* q.end("session of t1")
      yield* q.leave("t5")
      const since = changes?.until ?? 0
      const told = yield* q.hold([], { since })
      assert.sameMembers([...(told.changes?.changed ?? [])], ["t3", "t5"])
      assert.strictEqual(told.changes?.holds, 1)
      const again = yield* q.hold([], { since: told.changes?.until ?? 0 })
      assert.deepStrictEqual(again.changes, {
        until: told.changes?.until ?? 0,
        more: false,
        holds: 1,
        lost: false,
        changed: [],
        held: [],
      })
      for (const unknown of [since + MAX_CHANGES, Number.MAX_SAFE_INTEGER]) {
        assert.isTrue((yield* q.hold([], { since: unknown })).changes?.lost)
      }
    }),
  )

  test(
    "what has changed is forgotten after some minutes, and a gate that has not read it is told so",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* q.enter("t1")
        yield* q.wait("t2", "t3")
        const read = (yield* q.hold(["t2"])).changes?.until ?? 0
        yield* q.leave("t2")
        yield* q.leave("t3")
        assert.strictEqual(q.state().changes.size, 2)
        const unread = (yield* q.hold([])).changes?.until ?? 0
        for (const size of [2, 0]) {
          // the queue has been swept in this period, and is in the next one
          yield* q.sweep
          yield* TestClock.adjust(CHANGES_MILLIS)
          yield* q.sweep
          yield* q.sweep
          assert.strictEqual(q.state().changes.size, size)
        }
        assert.isTrue((yield* q.hold([], { since: read })).changes?.lost)
        assert.isFalse((yield* q.hold([], { since: unread })).changes?.lost)
      }),
  )

  test("a gate is told page by page what it holds", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2", "t3", "t4")
      yield* q.hold(["t2", "t4"])
      assert.sameMembers([...((yield* q.hold([], { heldFrom: 0 })).changes?.held ?? [])], ["t2", "t4"])
      assert.strictEqual((yield* q.hold([], { heldFrom: 1 })).changes?.held.length, 1)
      assert.deepStrictEqual((yield* q.hold([], { heldFrom: 2 })).changes?.held, [])
    }),
  )

  test(
    "after a change a gate is told the first hundred exactly, and places behind them that are not too low",
    { slots: 1, share: 1 },
    (q) =>
      Effect.gen(function* () {
        const all = ids(400)
        yield* q.enter("first")
        yield* q.waitTogether(all)
        const { changes } = yield* q.hold([])
        yield* q.end("session of first")
        const { places } = (yield* q.hold([], { since: changes?.until ?? 0, places: true })).changes ?? {}
        const line = [...q.state().waiting.values()].toSorted((a, b) => a - b)
        assert.deepStrictEqual(places?.first, line.slice(0, FIRST_PLACES))
        const steps = places?.steps ?? []
        for (const [index, seq] of line.entries()) {
          if (index < FIRST_PLACES) continue
          const at = steps.findIndex((each, n) => n % 2 === 1 && each >= seq)
          const shown = steps[at - 1] ?? 0
          assert.isAtLeast(shown, index + 1)
          assert.isAtMost(shown, Math.ceil((index + 1) * 1.03))
        }
      }),
  )

  test("a gate reads more changes than fit into one answer", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const all = ids(MAX_CHANGES_PER_STEP + 20)
      yield* q.enter("first")
      yield* q.waitTogether(all)
      const since = (yield* q.hold(all)).changes?.until ?? 0
      yield* q.hold([], { since, closed: all })
      const one = (yield* q.hold([], { since })).changes
      assert.deepStrictEqual([one?.more, one?.changed.length], [true, MAX_CHANGES_PER_STEP])
      const two = (yield* q.hold([], { since: one?.until ?? 0 })).changes
      assert.deepStrictEqual([two?.more, two?.changed.length], [false, 20])
    }),
  )

  test(
    "a ticket with a connection at a gate that holds nothing survives a release that comes late",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* q.enter("t1")
        yield* q.wait("t2")
        yield* q.attach("t2")
        yield* q.hold(["t2"])
        q.on(q.there)
        // an older gate, which knows times only
        for (let passed = 0; passed < 2 * DEAD_MILLIS; passed += 2_000) {
          yield* TestClock.adjust(2_000)
          yield* q.attach("t2")
          yield* q.heartbeat("t2")
        }
        yield* q.sweepShown((yield* q.now) - 1_000)
        assert.deepStrictEqual(q.line(), ["t2"])
        yield* q.heartbeat("t2")
        yield* quiet(q, GRACE)
        assert.deepStrictEqual(q.line(), ["t2"])
      }),
  )

  test("a poll does not take a ticket from the gate that holds it", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2")
      yield* q.hold(["t2"])
      q.on(q.there)
      yield* q.attach("t2", false)
      yield* q.attach("t2", true)
      assert.isTrue(isHeld(q, "t2"))
    }),
  )

  test("a poll is written once in half a grace, and its caller has at least the grace from each", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2")
      const written = new Set<number>()
      const SECONDS = 60
      for (let second = 0; second < SECONDS; second++) {
        yield* q.attach("t2", false)
        const until = q.state().presence.get("t2") ?? 0
        written.add(until)
        assert.isAtLeast(until - (yield* q.now), GRACE)
        yield* TestClock.adjust(1_000)
        yield* q.sweep
      }
      assert.isAtMost(written.size, 1 + (SECONDS * 1_000) / (GRACE / 2))
      assert.deepStrictEqual(q.line(), ["t2"])
    }),
  )
}
