/**
 * PostgreSQL 15 or newer through `@effect/sql-pg`. 64-bit integers are read as numbers: they contain only times in milliseconds and
 * counts, far below 2^53, where numbers stop being exact; a larger one fails instead of being rounded.
 */
import { PgClient, PgTypes } from "@effect/sql-pg"
import { type Layer, type Redacted, Result } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

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

/** The client of a `postgres://` connection string. */
export const layer = (url: Redacted.Redacted<string>): Layer.Layer<SqlClient.SqlClient, SqlError.SqlError> => {
  const types = PgTypes.makeRegistry()
  types.register(OID_INT8, asNumber)
  return PgClient.layer({ url, types, applicationName: "voicegate-platform", maxConnections: MAX_CONNECTIONS })
}
