/** The store on Redis, whose client is loaded when the layer is built: a gate with another store does not pay for it. */
import type { Layer } from "effect"
import { lazyLayer } from "../lazy-layer.ts"
import type { Store } from "../Store.ts"
import type { RedisConnection } from "../settings/connection-string.ts"
import type { StoreRefused } from "./redis-problems.ts"

/** As `layer` of `redis.ts`. */
export const layer = (connection: RedisConnection): Layer.Layer<Store, StoreRefused> =>
  lazyLayer(async () => (await import("./redis.ts")).layer(connection))
