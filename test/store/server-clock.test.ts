import { assert, describe, it } from "@effect/vitest"
import { type Clock, Deferred, Effect, Fiber } from "effect"
import { makeServerClock } from "../../src/store/server-clock.ts"

const SERVER = 1_800_000_000_000

/** A machine's clocks and a server's; what happens while the server is asked is done in `under way`. */
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
      const told = machine.server
      machine.underWay()
      return machine.fails ? Effect.fail("no answer" as const) : Effect.succeed(told)
    }),
  )
  return Object.assign(machine, { time })
}

const now = (machine: ReturnType<typeof makeMachine>): number => Effect.runSync(machine.time.now)

describe("the server's clock", () => {
  it("is this process's own until it is measured, and then the server's", () => {
    const machine = makeMachine()
    assert.deepStrictEqual([machine.time.isMeasured(), now(machine)], [false, 500_000])
    assert.strictEqual(Effect.runSync(machine.time.measure), SERVER - 500_000)
    assert.deepStrictEqual([machine.time.isMeasured(), now(machine)], [true, SERVER])
    machine.passes(12_345)
    assert.strictEqual(now(machine), machine.server)
    assert.strictEqual(machine.asked, 1)
  })

  it("asks before it answers when its machine was suspended: the wall clock was set, and the steady one stood still", () => {
    const machine = makeMachine()
    Effect.runSync(machine.time.measure)
    machine.server += 40_000
    machine.wall += 40_000
    assert.strictEqual(now(machine), machine.server)
    assert.strictEqual(machine.asked, 2)
    // and not again
    machine.passes(50)
    assert.strictEqual(now(machine), machine.server)
    assert.strictEqual(machine.asked, 2)
  })

  it("does not care where the wall clock is set", () => {
    const machine = makeMachine()
    Effect.runSync(machine.time.measure)
    for (const step of [3_600_000, -7_200_000]) {
      machine.wall += step
      assert.strictEqual(now(machine), machine.server)
    }
  })

  it("is right again with the next measure where both clocks stood still, or the server's was set", () => {
    const machine = makeMachine()
    Effect.runSync(machine.time.measure)
    machine.server += 40_000
    assert.strictEqual(now(machine), SERVER)
    Effect.runSync(machine.time.measure)
    assert.strictEqual(now(machine), machine.server)
  })

  it("notices that the machine was suspended while the server was asked", () => {
    const machine = makeMachine()
    machine.underWay = () => {
      machine.server += 40_000
      machine.wall += 40_000
    }
    Effect.runSync(machine.time.measure)
    machine.underWay = () => {}
    assert.strictEqual(now(machine), machine.server)
  })

  it("is not moved by an answer that took long, as far as that agrees with it", () => {
    const machine = makeMachine()
    Effect.runSync(machine.time.measure)
    machine.underWay = () => machine.passes(900)
    Effect.runSync(machine.time.measure)
    assert.strictEqual(now(machine), machine.server)
    // an answer that contradicts it is believed, to the middle of its way
    machine.server += 5_000
    Effect.runSync(machine.time.measure)
    assert.strictEqual(now(machine), machine.server - 450)
  })

  it("is not known any more when it has to ask and hears nothing, and is with the next measure", () => {
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

  it.effect("believes no answer to a question that a lost connection was asked", () =>
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
