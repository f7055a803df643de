/** The layers of the gate's HTTP, loaded when they are built. */
import type { Layer } from "effect"
import type { HttpRouter } from "effect/http"
import { lazyLayer } from "../lib/lazy-layer.ts"
import type { Listeners } from "./Listeners.ts"

/** The gate's HTTP as listeners for a node server, at the root or below `basePath`. */
export const layerListeners: typeof import("./server/listeners.ts").layer = (options) =>
  lazyLayer(async () => (await import("./server/listeners.ts")).layer(options))

/** The gate's HTTP on your own `HttpRouter`, below `basePath`; needs `Listeners`. */
export const layerHttpRouter = (options: {
  readonly basePath: `/${string}`
}): Layer.Layer<never, never, HttpRouter.HttpRouter | Listeners> =>
  lazyLayer(async () => (await import("./server/http-router.ts")).layer(options))

/** The gate's own node server, at `Server.Host` and `Server.Port`. */
export const layerServer = lazyLayer(async () => (await import("./server/server.ts")).layer)
