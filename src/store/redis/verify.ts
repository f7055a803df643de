/**
 * Verifies that a new connection matches the connection string, and that the gate may do there what it needs. ioredis continues without
 * the user when the server has no password, and in database 0 when the server has no such database.
 */
import { Effect, Redacted } from "effect"
import { Cluster, type Redis } from "ioredis"
import type { RedisConnection } from "../connection-string.ts"
import { refuseNode, tryCommands } from "./permissions.ts"
import { isReplica, type RedisProblem } from "./problems.ts"
import { sendCommand } from "./send.ts"

/** Writing this key shows whether the server accepts writes. */
export const PROBE_KEY = "vg:probe"

/** The commands are pipelined. Fails with `isReplica` when the server is a replica. */
export const verifyServer = Effect.fnUntraced(function* (
  client: Redis | Cluster,
  connection: RedisConnection,
  describe: (error: unknown) => RedisProblem,
) {
  const { password, username } = connection
  const user = username === undefined ? [] : [username]
  const [, , role] = yield* Effect.all(
    [
      client instanceof Cluster || password === undefined
        ? Effect.void
        : sendCommand((done) => client.call("AUTH", ...user, Redacted.value(password), done)),
      connection.kind === "cluster"
        ? Effect.void
        : sendCommand((done) => client.call("SELECT", connection.database, done)),
      // a user who may not send ROLE learns from the write whether the server is a replica
      client instanceof Cluster
        ? Effect.void
        : Effect.catchIf(
            sendCommand((done) => client.call("ROLE", done)),
            ({ message }) => message.startsWith("NOPERM") || /unknown command/i.test(message),
            () => Effect.void,
          ),
      // on a cluster the node with this key may be down while others serve
      Effect.catchIf(
        sendCommand((done) => client.del(PROBE_KEY, done)),
        (error) => client instanceof Cluster && !describe(error).refused,
        () => Effect.void,
      ),
    ],
    { concurrency: "unbounded" },
  ).pipe(Effect.mapError(describe))
  if (Array.isArray(role) && role[0] === "slave") return yield* Effect.fail(isReplica)
  yield* Effect.all(
    [
      client instanceof Cluster ? Effect.void : refuseNode(client),
      // on a cluster the node with these keys may be down while others serve
      Effect.catchIf(
        tryCommands(client, describe, connection.keyPrefix),
        (found) => client instanceof Cluster && !found.refused,
        () => Effect.void,
      ),
    ],
    { concurrency: "unbounded", discard: true },
  )
})
