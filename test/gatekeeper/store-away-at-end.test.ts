/** A short outage of the store at the end of a start must lose nothing. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { unavailable } from "../../src/platform-api/errors.ts"
import { StoreUnavailable } from "../../src/Session.ts"
import { Store } from "../../src/Store.ts"
import * as memory from "../../src/store/memory.ts"
import { ask, BEGIN, caller, figures, gateLayer, makeWorld, session } from "../support/gate.ts"

const away = new StoreUnavailable({ message: "away" })

/** A store whose steps fail at times. */
const failing = (fails: () => boolean) => (store: Store["Service"]) =>
  Store.of({
    ...store,
    run: (...asked) => Effect.suspend(() => (fails() ? Effect.fail(away) : store.run(...asked))),
  })

describe("a store that is unavailable", () => {
  it.effect("frees no slot whose session may run, when the platform did not answer a start", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(BEGIN)
      const world = makeWorld()
      const state = { away: false }
      const store = Layer.effect(
        Store,
        Effect.map(
          Store,
          failing(() => state.away),
        ),
      ).pipe(Layer.provide(Layer.fresh(memory.layer)))
      world.sessionsOf = () => Effect.succeed(undefined)
      // the platform starts the session, and its answer is lost
      world.initiate = () =>
        Effect.andThen(Effect.sleep(15_000), Effect.fail(unavailable("timeout", true, "did not answer")))
      yield* Effect.gen(function* () {
        const asked = yield* Effect.forkChild(ask(caller(1)))
        yield* TestClock.adjust(14_900)
        state.away = true
        yield* TestClock.adjust(700)
        state.away = false
        yield* TestClock.adjust(3_000)
        assert.strictEqual((yield* Fiber.join(asked))._tag, "StoreUnavailable")
        // the ticket is unknown to any caller, and the slot stays held
        assert.deepInclude(yield* figures(), { leases: 1, waiting: 0 })
        world.initiate = (n) => Effect.succeed(session(n))
        assert.strictEqual((yield* ask(caller(2)))._tag, "Queued")
      }).pipe(Effect.provide(gateLayer(world, {}, { store })))
    }),
  )
})
