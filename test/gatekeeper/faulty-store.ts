/** A gate whose store can be made to fail. */
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { StoreUnavailable } from "../../src/protocol/refusals.ts"
import * as memory from "../../src/store/memory/layer.ts"
import { Store } from "../../src/store/Store.ts"
import { asOnCluster } from "../harness/one-slot.ts"
import { BEGIN, type GateServices, gateLayer, makeWorld, type World } from "../support/gate.ts"

/** How a run of the store fails: before it is applied, after it (only the answer is lost), or it is applied later. */
type Fault = "request lost" | "answer lost" | "carried out later"

/** So long a gate waits for an answer that is lost. */
export const LOST_MILLIS = 10

export interface Faults {
  /** runs until the one that fails, 1 is the next; 0 for none */
  countdown: number
  runs: number
  fault: Fault
  /** every run is carried out, and its answer is lost */
  losesAnswers: boolean
  /** every run fails */
  away: boolean
  /** every run of a step of the queue fails, as if its node of a cluster were away */
  queueAway: boolean
  /** what is to be carried out later */
  readonly later: Array<Effect.Effect<unknown, StoreUnavailable>>
}

const unavailable = new StoreUnavailable({ message: "The store is away." })

const faultyStore = (faults: Faults, crossSlot: boolean): Layer.Layer<Store> =>
  Layer.effect(
    Store,
    Effect.map(Store, (memory) => {
      const store = crossSlot ? memory : asOnCluster(memory)
      return Store.of({
        ...store,
        run: (rule, asked) =>
          Effect.suspend(() => {
            if (faults.away || (faults.queueAway && rule.name.startsWith("queue."))) return Effect.fail(unavailable)
            faults.runs++
            if (faults.losesAnswers) {
              return Effect.andThen(store.run(rule, asked), Effect.delay(Effect.fail(unavailable), LOST_MILLIS))
            }
            const run = store.run(rule, asked)
            if (--faults.countdown !== 0) return run
            if (faults.fault === "carried out later") faults.later.push(run)
            return faults.fault === "answer lost"
              ? Effect.andThen(run, Effect.fail(unavailable))
              : Effect.fail(unavailable)
          }),
      })
    }),
  ).pipe(Layer.provide(memory.layer))

const given = { Security: { RateLimitConcurrency: 3 }, Queue: { MaxCallMinutes: 1 } }

/** A gate whose store can be made to fail. */
export const withFaults = <E>(
  body: (world: World, faults: Faults) => Effect.Effect<void, E, GateServices>,
  fault: Fault = "request lost",
  // as on a cluster: limits and queue are two steps, of which either can fail
  crossSlot = false,
) =>
  Effect.gen(function* () {
    const world = makeWorld()
    const faults: Faults = {
      countdown: 0,
      runs: 0,
      fault,
      losesAnswers: false,
      away: false,
      queueAway: false,
      later: [],
    }
    yield* TestClock.setTime(BEGIN)
    yield* Effect.provide(body(world, faults), gateLayer(world, given, { store: faultyStore(faults, crossSlot) }))
    return faults.runs
  })
