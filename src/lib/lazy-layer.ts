/** Layers whose modules are loaded when they are built: an import of the package costs nothing for what its host does not use. */
import { Effect, Layer } from "effect"

export const lazyLayer = <A, E, R>(load: () => Promise<Layer.Layer<A, E, R>>): Layer.Layer<A, E, R> =>
  Layer.unwrap(Effect.promise(load))
