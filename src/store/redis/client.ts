/** Creates ioredis clients from a connection string. */
import { randomInt } from "node:crypto"
import { Redacted } from "effect"
import { Cluster, Redis, type RedisOptions } from "ioredis"
import type { HostPort, RedisConnection } from "../connection-string.ts"
import { primaryConnector } from "./hosts.ts"
import { sentinelTlsOptions, tlsOptions } from "./tls.ts"

/** A command without an answer fails after this time; it may have been carried out. */
export const COMMAND_TIMEOUT_MILLIS = 2_000
export const CONNECT_TIMEOUT_MILLIS = 5_000

const backoff =
  (maxMillis: number) =>
  (attempt: number): number =>
    Math.min(maxMillis, 50 * 2 ** Math.min(attempt, 10))

/**
 * How long ioredis waits before it connects again (ms): at most half of the time in which calls are held after an outage, so that all
 * gates are back by then (`MAX_HOLD_MILLIS` in `fifo-queue/rules/shared/hold.ts`).
 */
export const retryDelay: (attempt: number) => number = backoff(500)
/** The same for a listener's connection, without which a gate works, and for Sentinels (ms). */
export const listenerRetryDelay: (attempt: number) => number = backoff(2_000)

/** What every Redis and proxy speaks: RESP3 begins each connection with HELLO, which older ones and some proxies do not know. */
const RESP2 = { protocol: 2 } as const

/** What ioredis types as a parameter of its classes is not set: replies have the shape of RESP2. */
type Options = Omit<RedisOptions, "replyMapping">

/** Commands fail fast while the connection is down, and none is sent twice. */
const commonOptions = (connection: RedisConnection, tls = tlsOptions(connection)): Options => ({
  ...(connection.username === undefined ? {} : { username: connection.username }),
  ...(connection.password === undefined ? {} : { password: Redacted.value(connection.password) }),
  ...(tls === undefined ? {} : { tls }),
  // of keys alone: ioredis does not add it to channels
  ...(connection.keyPrefix === undefined ? {} : { keyPrefix: connection.keyPrefix }),
  ...RESP2,
  // a server that is loading refuses commands, which is no worse; INFO may be renamed or forbidden
  enableReadyCheck: false,
  // without the ready check, ioredis counts a connection that was lost before the answers to these commands as ready, for ever
  disableClientInfo: true,
  connectTimeout: CONNECT_TIMEOUT_MILLIS,
  commandTimeout: COMMAND_TIMEOUT_MILLIS,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  lazyConnect: true,
})

type Redirect = (address: string) => HostPort | null

/** Creates a client for anything but a Cluster. */
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
        // without these ioredis connects to Sentinels and master without TLS, whatever `tls` says
        ...(connection.tls
          ? { enableTLSForSentinelMode: true, sentinelTLS: { ...sentinelTlsOptions(connection) } }
          : {}),
        db: connection.database,
        ...(connection.sentinelUsername === undefined ? {} : { sentinelUsername: connection.sentinelUsername }),
        ...(connection.sentinelPassword === undefined
          ? {}
          : { sentinelPassword: Redacted.value(connection.sentinelPassword) }),
        natMap: redirect,
        retryStrategy,
        sentinelRetryStrategy: listenerRetryDelay,
        // otherwise ioredis waits forever for a Sentinel that hangs
        sentinelCommandTimeout: COMMAND_TIMEOUT_MILLIS,
      })
  }
}

/**
 * Creates a client, which connects on `connect`. Several hosts are treated as a primary with its replicas.
 *
 * @param retryStrategy how long it waits before it connects again (ms); ioredis counts only attempts without a connection
 * @param redirect replaces the master's address (`host:port`) that a Sentinel reports; null keeps it
 */
export const open = (
  connection: RedisConnection,
  retryStrategy: () => number,
  redirect: Redirect = () => null,
): Redis | Cluster => {
  if (connection.kind !== "cluster") return openOne(connection, redirect, retryStrategy)
  const { enableOfflineQueue: _, lazyConnect: __, ...redisOptions } = commonOptions(connection)
  return new Cluster([...connection.nodes], {
    redisOptions,
    enableAutoPipelining: true,
    enableOfflineQueue: false,
    lazyConnect: true,
    // keeps names, because a certificate may have names only
    dnsLookup: (address, callback) => callback(null, address),
    clusterRetryStrategy: retryStrategy,
    slotsRefreshTimeout: COMMAND_TIMEOUT_MILLIS,
    // otherwise ioredis resends commands that were in flight when a connection broke, though they may have been carried out
    retryDelayOnFailover: 0,
  })
}

/**
 * Creates a client for subscriptions, which connects on `connect` and does not reconnect. For a Cluster it uses a random node:
 * each node receives what is published on any.
 *
 * @param known the known nodes of a Cluster; when empty, those of the connection string
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
