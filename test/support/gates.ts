/** Several gates in process on one store, each with its own settings, until it is stopped. */
import { Context, Effect, Exit, Layer, Logger, Scope } from "effect"
import * as memory from "../../src/store/memory/layer.ts"
import { Store } from "../../src/store/Store.ts"
import { type GateServices, type Given, gateLayer, type World } from "./gate.ts"

export interface RunningGate {
  /** Runs an effect on this gate. */
  readonly on: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, Exclude<R, GateServices>>
  /** The process has died: nothing of it runs any more. */
  readonly stop: Effect.Effect<void>
  /** what it has logged as a warning or worse */
  readonly warnings: ReadonlyArray<string>
}

/** A separate store in memory. */
export const makeStore: Effect.Effect<Store["Service"], never, Scope.Scope> = Effect.map(
  Layer.build(Layer.fresh(memory.layer)),
  (context) => Context.get(context, Store),
)

/** Starts a gate. Callers' actions and what they are told belong to the world, which gates may share. */
export const startGate = (
  world: World,
  store: Store["Service"],
  given: Given,
): Effect.Effect<RunningGate, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Scope.fork(yield* Effect.scope)
    const warnings: Array<string> = []
    const logger = Logger.make<unknown, void>(({ logLevel, message }) => {
      if (logLevel === "Warn" || logLevel === "Error" || logLevel === "Fatal") warnings.push(String(message))
    })
    const layer = gateLayer(world, given, { store: Layer.succeed(Store, store) })
    const context = yield* Layer.buildWithMemoMap(layer, yield* Layer.makeMemoMap, scope).pipe(
      Effect.provide(Logger.layer([logger])),
      Effect.orDie,
    )
    return {
      on: (effect) => effect.pipe(Effect.provide(context), Effect.provide(Logger.layer([logger]))),
      stop: Scope.close(scope, Exit.void),
      warnings,
    }
  })
