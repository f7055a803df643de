/** `/health/ready`: what it checks, how often, and its answer for a store that responds but does not work. */
import { expect, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { layer, Readiness } from "../../../src/http/health/Readiness.ts"
import { StoreUnavailable } from "../../../src/protocol/refusals.ts"
import * as memory from "../../../src/store/memory/layer.ts"
import { Store } from "../../../src/store/Store.ts"
import { gateLayer, makeWorld } from "../../support/gate.ts"

/** A store that refuses what it is told to refuse, and counts its pings. */
const makeStore = () => {
  const state = { pings: 0, takesWrites: true, refused: "" }
  const refusal = Effect.fail(new StoreUnavailable({ message: "The shared store cannot be reached." }))
  const store = Layer.effect(
    Store,
    Effect.map(Store, (real) => ({
      ...real,
      run: (rule, ask) => (rule.name === state.refused ? refusal : real.run(rule, ask)),
      ping: Effect.suspend(() => {
        state.pings++
        return state.takesWrites ? Effect.yieldNow : refusal
      }),
    })),
  ).pipe(Layer.provide(memory.layer))
  return { state, store }
}

const readiness = Effect.fnUntraced(function* () {
  const { state, store } = makeStore()
  const context = yield* Layer.build(layer.pipe(Layer.provide(gateLayer(makeWorld(), {}, { store }))))
  const { notReady } = Context.get(context, Readiness)
  return { state, status: Effect.map(notReady, (problem) => (problem === undefined ? 200 : 503)), notReady }
})

it.effect("readiness asks the store at most once a second", () =>
  Effect.gen(function* () {
    const { state, status } = yield* readiness()
    for (const pings of [1, 2, 3]) {
      const all = yield* Effect.all(
        Array.from({ length: 100 }, () => status),
        { concurrency: "unbounded" },
      )
      expect(new Set(all)).toEqual(new Set([200]))
      yield* TestClock.adjust(999)
      expect(yield* status).toBe(200)
      expect(state.pings).toBe(pings)
      yield* TestClock.adjust(1)
    }
  }),
)

it.effect(
  "readiness turns false within a second of the store refusing writes, and true when it accepts them again",
  () =>
    Effect.gen(function* () {
      const { state, status } = yield* readiness()
      expect(yield* status).toBe(200)
      state.takesWrites = false
      yield* TestClock.adjust("1 second")
      expect(yield* status).toBe(503)
      state.takesWrites = true
      yield* TestClock.adjust("1 second")
      expect(yield* status).toBe(200)
    }),
)

it.effect("readiness is false while the store refuses a campaign's records, such as a key of a wrong type", () =>
  Effect.gen(function* () {
    const { notReady, state, status } = yield* readiness()
    yield* TestClock.adjust("1 second")
    expect(yield* status).toBe(200)
    state.refused = "queue.sweep"
    yield* TestClock.adjust("1 second")
    expect(yield* status).toBe(503)
    expect(JSON.stringify(yield* notReady)).toContain("queue of campaign")
    state.refused = ""
    yield* TestClock.adjust("1 second")
    expect(yield* status).toBe(200)
  }),
)
