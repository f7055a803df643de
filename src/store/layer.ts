/** The store that `StoreConnectionString` names. */
import { Effect, Layer, Redacted, Result } from "effect"
import { Settings } from "../settings/Settings.ts"
import { parseConnectionString } from "./connection-string.ts"
import * as memory from "./memory/layer.ts"
import * as redis from "./redis/lazy.ts"
import type { StoreRefused } from "./redis/problems.ts"
import type { Store } from "./Store.ts"

export const layer: Layer.Layer<Store, StoreRefused, Settings> = Layer.unwrap(
  Effect.gen(function* () {
    const { StoreConnectionString } = yield* Settings
    const parsed = parseConnectionString(Redacted.value(StoreConnectionString))
    // settings were validated with the same parser
    if (Result.isFailure(parsed)) return yield* Effect.die(new TypeError(`StoreConnectionString: ${parsed.failure}`))
    const { connection } = parsed.success
    return connection.kind === "memory" ? memory.layer : redis.layer(connection)
  }),
)
