/** The store on Redis, whose client is loaded when the layer is built: a gate with another store does not pay for it. */
import { Effect, Layer } from "effect"
import type { Store } from "../Store.ts"
import type { RedisConnection } from "../settings/connection-string.ts"
import type { StoreRefused } from "./redis-problems.ts"

/** As `layer` of `redis.ts`. */
export const layer = (connection: RedisConnection): Layer.Layer<Store, StoreRefused> =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./redis.ts")),
      (redis) => redis.layer(connection),
    ),
  )
