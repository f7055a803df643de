import { assert, describe, it } from "@effect/vitest"
import { type Clock, Deferred, Effect, Fiber } from "effect"
import { makeServerClock } from "../../../src/store/redis/server-clock.ts"

const SERVER = 1_800_000_000_000

/** The clocks of a machine and of a server; `under way` runs while the server's time is being read. */
const makeMachine = () => {
  const machine = {
    server: SERVER,
    wall: 500_000,
    steady: 7_000,
    asked: 0,
    underWay: (): void => {},
    fails: false,
    passes: (millis: number): void => {
      machine.server += millis
      machine.wall += millis
      machine.steady += millis
    },
  }
  const nanos = (millis: number): bigint => BigInt(millis) * 1_000_000n
  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: () => machine.wall,
    currentTimeMillis: Effect.sync(() => machine.wall),
    currentTimeNanosUnsafe: () => nanos(machine.wall),
    currentTimeNanos: Effect.sync(() => nanos(machine.wall)),
    monotonicTimeNanosUnsafe: () => nanos(machine.steady),
    monotonicTimeNanos: Effect.sync(() => nanos(machine.steady)),
    sleep: () => Effect.never,
  }
  const time = makeServerClock(
    clock,
    Effect.suspend(() => {
      machine.asked++
      const answer = machine.server
      machine.underWay()
      return machine.fails ? Effect.fail("no answer" as const) : Effect.succeed(answer)
    }),
  )
  return Object.assign(machine, { time })
}

const now = (machine: ReturnType<typeof makeMachine>): number => Effect.runSync(machine.time.now)

describe("the server's clock", () => {
  it("is this process's own time until it is measured, and then the server's", () => {
    const machine = makeMachine()
    assert.deepStrictEqual([machine.time.isMeasured(), now(machine)], [false, 500_000])
    assert.strictEqual(Effect.runSync(machine.time.measure), SERVER - 500_000)
    assert.deepStrictEqual([machine.time.isMeasured(), now(machine)], [true, SERVER])
    machine.passes(12_345)
    assert.strictEqual(now(machine), machine.server)
    assert.strictEqual(machine.asked, 1)
  })

  it("measures before it answers when the machine was suspended: the wall clock was set, and the monotonic clock stopped", () => {
    const machine = makeMachine()
    Effect.runSync(machine.time.measure)
    machine.server += 40_000
    machine.wall += 40_000
    assert.strictEqual(now(machine), machine.server)
    assert.strictEqual(machine.asked, 2)
    // only once
    machine.passes(50)
    assert.strictEqual(now(machine), machine.server)
    assert.strictEqual(machine.asked, 2)
  })

  it("is independent of the wall clock being set", () => {
    const machine = makeMachine()
    Effect.runSync(machine.time.measure)
    for (const step of [3_600_000, -7_200_000]) {
      machine.wall += step
      assert.strictEqual(now(machine), machine.server)
    }
  })

  it("is right again after the next measurement when both clocks stopped, or the server's was set", () => {
    const machine = makeMachine()
    Effect.runSync(machine.time.measure)
    machine.server += 40_000
    assert.strictEqual(now(machine), SERVER)
    Effect.runSync(machine.time.measure)
    assert.strictEqual(now(machine), machine.server)
  })

  it("detects that the machine was suspended during a measurement", () => {
    const machine = makeMachine()
    machine.underWay = () => {
      machine.server += 40_000
      machine.wall += 40_000
    }
    Effect.runSync(machine.time.measure)
    machine.underWay = () => {}
    assert.strictEqual(now(machine), machine.server)
  })

  it("is not changed by a slow reply whose bounds contain it", () => {
    const machine = makeMachine()
    Effect.runSync(machine.time.measure)
    machine.underWay = () => machine.passes(900)
    Effect.runSync(machine.time.measure)
    assert.strictEqual(now(machine), machine.server)
    // a reply that contradicts it counts, at the middle of its round trip
    machine.server += 5_000
    Effect.runSync(machine.time.measure)
    assert.strictEqual(now(machine), machine.server - 450)
  })

  it("is unmeasured after a measurement fails, until the next one succeeds", () => {
    const machine = makeMachine()
    Effect.runSync(machine.time.measure)
    machine.wall += 40_000
    machine.fails = true
    Effect.runSync(Effect.ignore(machine.time.now))
    assert.isFalse(machine.time.isMeasured())
    machine.fails = false
    Effect.runSync(machine.time.measure)
    assert.strictEqual(now(machine), machine.server)
  })

  it.effect("ignores a reply that was requested on a lost connection", () =>
    Effect.gen(function* () {
      const answer = yield* Deferred.make<number>()
      const clock = yield* Effect.clockWith(Effect.succeed)
      const time = makeServerClock(clock, Deferred.await(answer))
      const measuring = yield* Effect.forkChild(time.measure)
      yield* Effect.yieldNow
      time.forget()
      yield* Deferred.succeed(answer, SERVER)
      yield* Fiber.join(measuring)
      assert.isFalse(time.isMeasured())
    }),
  )
})
