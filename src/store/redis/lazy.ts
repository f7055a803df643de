/** The store on Redis, whose client is loaded when the layer is built: a gate with another store does not pay for it. */
import { Effect, Layer, Result } from "effect"
import { lazyLayer } from "../../lib/lazy-layer.ts"
import type { RedisConnection } from "../connection-string.ts"
import { Store } from "../Store.ts"
import type { RedisClient } from "./host-client.ts"
import type { StoreRefused } from "./problems.ts"

/** What problems with a host's client name as their origin. */
const CLIENT = "the host's Redis client"

/** As `layer` of `layer.ts`. */
export const layer = (connection: RedisConnection): Layer.Layer<Store, StoreRefused> =>
  lazyLayer(async () => (await import("./layer.ts")).layer(connection))

/**
 * A store on the Redis of a host's own client of ioredis 5 or 6 (`Redis` or `Cluster`), with its user, password, TLS and `keyPrefix`. It has
 * connections of its own: the client is neither used, changed nor closed. Building it fails with `StoreRefused` for a client with options
 * that the gate cannot follow, and otherwise as `layer` does.
 */
export const layerClient = (client: RedisClient): Layer.Layer<Store, StoreRefused> =>
  lazyLayer(async () => {
    const { connectionOf } = await import("./host-client.ts")
    const connection = connectionOf(client, CLIENT)
    if (Result.isSuccess(connection)) return layer(connection.success)
    const { StoreRefused: Refused } = await import("./problems.ts")
    return Layer.effect(Store, Effect.fail(new Refused({ message: `${CLIENT}: ${connection.failure}` })))
  })
