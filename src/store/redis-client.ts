/** Opens ioredis as a connection string says. */
import { randomInt } from "node:crypto"
import { Redacted } from "effect"
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from "ioredis"
import type { HostPort, RedisConnection } from "../settings/connection-string.ts"
import { primaryConnector } from "./redis-hosts.ts"

/** A command that is not answered in this time has failed; whether it was carried out is not known. */
export const COMMAND_TIMEOUT_MILLIS = 2_000
export const CONNECT_TIMEOUT_MILLIS = 5_000

/** How long ioredis waits before it connects again (ms). */
export const retryDelay = (attempt: number): number => Math.min(2_000, 50 * 2 ** Math.min(attempt, 10))

/** Options of every connection: commands fail at once while it is down, and none is sent twice. */
const commonOptions = (connection: RedisConnection): RedisOptions => ({
  ...(connection.username === undefined ? {} : { username: connection.username }),
  ...(connection.password === undefined ? {} : { password: Redacted.value(connection.password) }),
  ...(connection.tls ? { tls: {} } : {}),
  connectTimeout: CONNECT_TIMEOUT_MILLIS,
  commandTimeout: COMMAND_TIMEOUT_MILLIS,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  lazyConnect: true,
})

type Redirect = (address: string) => HostPort | null

/** Opens one connection as the connection string says, which is no Cluster's. */
const openOne = (
  connection: Exclude<RedisConnection, { readonly kind: "cluster" }>,
  redirect: Redirect,
  retryStrategy: (attempt: number) => number | null,
): Redis => {
  const common = commonOptions(connection)
  switch (connection.kind) {
    case "redis":
      return new Redis({
        ...common,
        host: connection.host,
        port: connection.port,
        db: connection.database,
        retryStrategy,
      })
    case "hosts":
      return new Redis({
        ...common,
        Connector: primaryConnector(connection),
        db: connection.database,
        retryStrategy,
      })
    case "sentinel":
      return new Redis({
        ...common,
        sentinels: [...connection.sentinels],
        name: connection.master,
        // without these ioredis connects in the clear, whatever `tls` says
        ...(connection.tls ? { enableTLSForSentinelMode: true, sentinelTLS: {} } : {}),
        db: connection.database,
        ...(connection.sentinelPassword === undefined
          ? {}
          : { sentinelPassword: Redacted.value(connection.sentinelPassword) }),
        natMap: redirect,
        retryStrategy,
        sentinelRetryStrategy: retryDelay,
        // else one that hangs is waited for without end
        sentinelCommandTimeout: COMMAND_TIMEOUT_MILLIS,
      })
  }
}

/**
 * Opens a client as the connection string says; it connects when told to. Several hosts are a primary with its replicas here.
 *
 * @param redirect where to go instead of the address (`host:port`) that a Sentinel names as the master's; null is there
 */
export const open = (connection: RedisConnection, redirect: Redirect = () => null): Redis | Cluster => {
  if (connection.kind !== "cluster") return openOne(connection, redirect, retryDelay)
  const { enableOfflineQueue: _, lazyConnect: __, ...redisOptions } = commonOptions(connection)
  const options: ClusterOptions = {
    redisOptions,
    enableAutoPipelining: true,
    enableOfflineQueue: false,
    lazyConnect: true,
    clusterRetryStrategy: retryDelay,
    slotsRefreshTimeout: COMMAND_TIMEOUT_MILLIS,
    // else what was under way when a connection broke is sent again, though it may have been carried out
    retryDelayOnFailover: 0,
  }
  return new Cluster([...connection.nodes], options)
}

/**
 * Opens a connection to listen on, which connects once and when told to. Of a Cluster it leads to one of its nodes, taken at
 * random: each hears what is published at any.
 *
 * @param known the nodes of a Cluster that are known; empty for those of the connection string
 */
export const openListener = (
  connection: RedisConnection,
  redirect: Redirect = () => null,
  known: ReadonlyArray<HostPort> = [],
): Redis => {
  if (connection.kind !== "cluster") return openOne(connection, redirect, () => null)
  const nodes = known.length > 0 ? known : connection.nodes
  const node = nodes[randomInt(nodes.length)]
  return new Redis({ ...commonOptions(connection), ...node, retryStrategy: () => null })
}
