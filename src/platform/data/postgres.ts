/**
 * PostgreSQL 15 or newer through `@effect/sql-pg`. 64-bit integers are read as numbers: they contain only times in milliseconds and
 * counts, far below 2^53, where numbers stop being exact; a larger one fails instead of being rounded.
 */
import { PgClient, PgTypes } from "@effect/sql-pg"
import { Effect, Layer, Result } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { type PostgresTarget, tlsOf, warningOf } from "./postgres-url.ts"

/** Limit of connections per process. */
const MAX_CONNECTIONS = 10
const OID_INT8 = 20

const asNumber: PgTypes.Codec<number | bigint> = {
  encode: (value) => {
    // The client converts a number beyond 32 bits to a bigint before this.
    if (typeof value === "number" && !Number.isSafeInteger(value)) {
      return Result.fail(new PgTypes.CodecError({ message: "not a safe integer" }))
    }
    const bytes = new Uint8Array(8)
    new DataView(bytes.buffer).setBigInt64(0, BigInt(value))
    return Result.succeed(bytes)
  },
  decode: (bytes) => {
    const value = Number(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigInt64(0))
    return Number.isSafeInteger(value)
      ? Result.succeed(value)
      : Result.fail(new PgTypes.CodecError({ message: "an integer beyond 2^53" }))
  },
}

/** A connection without traffic is probed after this long, so that one to a vanished server is noticed. */
const KEEP_ALIVE = "30 seconds"

/** The client of a connection string that was read. */
export const layer = (target: PostgresTarget): Layer.Layer<SqlClient.SqlClient, SqlError.SqlError> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const types = PgTypes.makeRegistry()
      types.register(OID_INT8, asNumber)
      const ssl = yield* tlsOf(target)
      const warning = warningOf(target, ssl)
      if (warning !== undefined) yield* Effect.logWarning(warning)
      return PgClient.layer({
        url: target.url,
        ssl,
        types,
        applicationName: "voicegate-platform",
        keepAlive: KEEP_ALIVE,
        maxConnections: MAX_CONNECTIONS,
      })
    }),
  )
