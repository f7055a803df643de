import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { makeOneAtATime } from "../../src/lib/one-at-a-time.ts"

it.effect("of one key's effects one runs at a time, and another key's do not wait for it", () =>
  Effect.gen(function* () {
    const alone = makeOneAtATime()
    const begun: Array<string> = []
    const work = (name: string, done: Deferred.Deferred<void>) =>
      Effect.andThen(
        Effect.sync(() => begun.push(name)),
        Deferred.await(done),
      )
    const [first, second, other] = [
      yield* Deferred.make<void>(),
      yield* Deferred.make<void>(),
      yield* Deferred.make<void>(),
    ]
    yield* Effect.forkChild(alone("a")(work("first", first)), { startImmediately: true })
    const waits = yield* Effect.forkChild(alone("a")(work("gone", second)), { startImmediately: true })
    const fiber = yield* Effect.forkChild(alone("a")(work("second", second)), { startImmediately: true })
    yield* Effect.forkChild(alone("b")(work("other", other)), { startImmediately: true })
    assert.deepStrictEqual(begun, ["first", "other"])
    // one that waits may leave; who comes then waits too
    yield* Fiber.interrupt(waits)
    const last = yield* Effect.forkChild(alone("a")(work("last", second)), { startImmediately: true })
    assert.deepStrictEqual(begun, ["first", "other"])
    yield* Deferred.succeed(first, undefined)
    yield* Deferred.succeed(second, undefined)
    yield* Fiber.join(fiber)
    yield* Fiber.join(last)
    assert.deepStrictEqual(begun, ["first", "other", "second", "last"])
  }),
)
