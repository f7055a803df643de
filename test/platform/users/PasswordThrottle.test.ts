/** Throttling of password checks: delays, refusals, and what one attacker can take from others. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import {
  Busy,
  type CheckSource,
  delayAfter,
  FREE_ATTEMPTS,
  layer,
  MAX_CONCURRENT_CHECKS,
  MAX_DELAY_MILLIS,
  MAX_PENDING_PER_ADDRESS,
  PasswordThrottle,
  RESET_MILLIS,
} from "../../../src/platform/users/PasswordThrottle.ts"

/** A throttle of a process. */
const newThrottle = PasswordThrottle.pipe(Effect.provide(Layer.fresh(layer)))

const guest = (lane: string, network = lane): CheckSource => ({ lane, network, known: false })
const wrong = Effect.succeed(false)
const right = Effect.succeed(true)
/** Runs all fibers until they wait. */
const settle = Effect.forEach(Array.from({ length: 50 }), () => Effect.yieldNow, { discard: true })

/** Checks that end on request, at the latest with the test: a started check cannot be interrupted. */
const held = () => {
  let over = false
  const running: Array<string> = []
  const ends = new Map<string, Deferred.Deferred<boolean>>()
  const check = (name: string) =>
    Effect.suspend(() => {
      if (over) return right
      const end = Deferred.makeUnsafe<boolean>()
      running.push(name)
      ends.set(name, end)
      return Deferred.await(end)
    })
  const end = (name: string) =>
    Effect.andThen(
      Effect.suspend(() => {
        running.splice(running.indexOf(name), 1)
        const waiting = ends.get(name)
        return waiting === undefined ? Effect.die(`${name} does not run`) : Deferred.succeed(waiting, true)
      }),
      settle,
    )
  const endAll = Effect.suspend(() => {
    over = true
    return Effect.forEach([...ends.values()], (each) => Deferred.succeed(each, true), { discard: true })
  })
  return { running, check, end, endAll }
}

const heldTest = (name: string, body: (checks: ReturnType<typeof held>) => Effect.Effect<void, unknown>) =>
  it.effect(name, () =>
    Effect.suspend(() => {
      const checks = held()
      return body(checks).pipe(Effect.ensuring(checks.endAll))
    }),
  )

describe("wrong passwords", () => {
  it.effect("delay their address more and more, up to a limit; the right one is accepted after the last delay", () =>
    Effect.gen(function* () {
      const pace = yield* newThrottle
      const waits: Array<number> = []
      const timed = Effect.fnUntraced(function* (check: Effect.Effect<boolean>) {
        const begun = yield* Clock.currentTimeMillis
        const fiber = yield* Effect.forkChild(pace.check(guest("192.0.2.1"), check))
        yield* settle
        while (fiber.pollUnsafe() === undefined) {
          yield* TestClock.adjust(100)
          yield* settle
        }
        return { answer: yield* Fiber.join(fiber), waited: (yield* Clock.currentTimeMillis) - begun }
      })
      for (let n = 0; n < 10; n++) waits.push((yield* timed(wrong)).waited)
      assert.deepStrictEqual(waits, [0, 0, 0, 1_000, 2_000, 4_000, 5_000, 5_000, 5_000, 5_000])
      assert.deepStrictEqual(yield* timed(right), { answer: true, waited: MAX_DELAY_MILLIS })
      // another address has no delay
      assert.isFalse(yield* pace.check(guest("192.0.3.1"), wrong))
      yield* TestClock.adjust(RESET_MILLIS)
      assert.strictEqual((yield* timed(wrong)).waited, 0)
    }),
  )

  it("have no delay the first few times", () => {
    assert.deepStrictEqual(
      Array.from({ length: FREE_ATTEMPTS }, (_, n) => delayAfter(n)),
      Array<number>(FREE_ATTEMPTS).fill(0),
    )
    assert.strictEqual(delayAfter(1_000), MAX_DELAY_MILLIS)
  })
})

describe("concurrent checks", () => {
  heldTest(
    "are limited, and one network has one of them, however many addresses and accounts it uses",
    ({ check, end, running }) =>
      Effect.gen(function* () {
        const pace = yield* newThrottle
        const start = (lane: string, network: string) => Effect.forkChild(pace.check(guest(lane, network), check(lane)))
        for (let n = 0; n < 10; n++) yield* start(`a${n}`, "a")
        yield* settle
        assert.deepStrictEqual(running, ["a0"])
        const owner = yield* start("b0", "b")
        yield* settle
        // At once, during the flood.
        assert.deepStrictEqual(running, ["a0", "b0"])
        yield* start("c0", "c")
        yield* start("d0", "d")
        yield* settle
        assert.lengthOf(running, MAX_CONCURRENT_CHECKS)
        yield* end("b0")
        assert.isTrue(yield* Fiber.join(owner))
        // Round-robin: later networks go before the next check of the flood.
        assert.deepStrictEqual(running, ["a0", "c0"])
        yield* end("a0")
        assert.deepStrictEqual(running, ["c0", "d0"])
        yield* end("c0")
        assert.deepStrictEqual(running, ["d0", "a1"])
      }),
  )

  heldTest("have a bounded number of waiting checks per address and per network", ({ check, running }) =>
    Effect.gen(function* () {
      const pace = yield* newThrottle
      const start = (lane: string, network: string) => Effect.forkChild(pace.check(guest(lane, network), check(lane)))
      for (let n = 0; n < MAX_PENDING_PER_ADDRESS; n++) yield* start("a", "a")
      yield* settle
      assert.instanceOf(yield* Effect.flip(pace.check(guest("a"), right)), Busy)
      for (let n = 0; n < 12; n++) yield* start(`b${n}`, "b")
      yield* settle
      const refused = yield* Effect.flip(pace.check(guest("b-other", "b"), right))
      assert.strictEqual(refused.retryAfterSeconds, MAX_DELAY_MILLIS / 1000)
      // a known browser is never refused because of its network, and has priority
      yield* Effect.forkChild(pace.check({ lane: "known", network: "known", known: true }, check("known")))
      yield* settle
      assert.deepStrictEqual(running, ["a", "b0"])
    }),
  )

  heldTest("give a known browser priority", ({ check, end, running }) =>
    Effect.gen(function* () {
      const pace = yield* newThrottle
      for (let n = 0; n < 50; n++) yield* Effect.forkChild(pace.check(guest(`n${n}`), check(`n${n}`)))
      yield* settle
      yield* Effect.forkChild(pace.check({ lane: "known", network: "known", known: true }, check("known")))
      yield* settle
      yield* end("n0")
      assert.deepStrictEqual(running, ["n1", "known"])
    }),
  )

  heldTest("refuse a check of the network with the most waiting ones when a new network needs room", ({ check }) =>
    Effect.gen(function* () {
      const pace = yield* newThrottle
      const refused: Array<string> = []
      const start = (lane: string, network: string) =>
        Effect.forkChild(
          Effect.catch(pace.check(guest(lane, network), check(lane)), () => Effect.sync(() => refused.push(lane))),
        )
      for (let n = 0; n < 9; n++) for (let m = 0; m < 12; m++) yield* start(`${n}-${m}`, `network ${n}`)
      yield* settle
      const before = refused.length
      const newcomers = 5
      for (let n = 0; n < newcomers; n++) yield* start(`new ${n}`, `new ${n}`)
      yield* settle
      assert.lengthOf(refused, before + newcomers)
      assert.isTrue(refused.every((lane) => !lane.startsWith("new")))
    }),
  )

  heldTest("count until they end, even when their caller has disconnected", ({ check, end, running }) =>
    Effect.gen(function* () {
      const pace = yield* newThrottle
      const first = yield* Effect.forkChild(pace.check(guest("a"), check("a")))
      yield* settle
      const leaving = yield* Effect.forkChild(Fiber.interrupt(first))
      yield* settle
      yield* Effect.forkChild(pace.check(guest("a2", "a"), check("a2")))
      yield* settle
      // it still uses its core
      assert.deepStrictEqual(running, ["a"])
      yield* end("a")
      yield* Fiber.join(leaving)
      assert.deepStrictEqual(running, ["a2"])
      // a waiting one is removed
      const waiting = yield* Effect.forkChild(pace.check(guest("a3", "a"), check("a3")))
      yield* settle
      yield* Fiber.interrupt(waiting)
      yield* end("a2")
      assert.deepStrictEqual(running, [])
    }),
  )
})
