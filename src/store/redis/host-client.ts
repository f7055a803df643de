/**
 * The connection to Redis that a host's own client of ioredis has. The gate opens connections of its own with it, as `duplicate()` does: the
 * client queues commands while it is disconnected and sends them again afterwards, and the gate's rules may not be carried out twice or late.
 * So only what leads to the server is taken from the client's options; timeouts, retries and queues are the gate's. The client is
 * neither used, changed nor closed.
 *
 * The options are those of ioredis 5 and 6. They are read as unknown values, because the host may have another version of it.
 */
import type { ConnectionOptions } from "node:tls"
import { Redacted, Result } from "effect"
import type { HostPort, RedisConnection } from "../connection-string.ts"
import { parseKeyPrefix } from "../key-prefix.ts"

/** A client of ioredis 5 or 6, `Redis` or `Cluster`, of whatever version the host has. */
export interface RedisClient {
  /** what it was created with */
  readonly options: object
  readonly status: string
  readonly isCluster?: boolean
  readonly duplicate: (...args: ReadonlyArray<never>) => unknown
}

/** Fails with what is expected of the client. */
type Read<A> = Result.Result<A, string>
type Options = Readonly<Record<string, unknown>>
type Access = Pick<RedisConnection, "username" | "password" | "tls" | "tlsContext" | "keyPrefix">

const isObject = (value: unknown): value is Options => typeof value === "object" && value !== null

/** ioredis has null, undefined and an empty text for absent values. */
const isAbsent = (value: unknown): boolean => value === undefined || value === null || value === ""

const textOf = (options: Options, name: string): Read<string | undefined> => {
  const value = options[name]
  if (isAbsent(value)) return Result.succeed(undefined)
  return typeof value === "string" ? Result.succeed(value) : Result.fail(`${name} as a text`)
}

/** Options that lead elsewhere than to the primary by its address, and why the gate cannot follow them. */
const REFUSED: ReadonlyArray<readonly [name: string, isGiven: (value: unknown) => boolean, expected: string]> = [
  ["path", (value) => !isAbsent(value), "no path: the gate connects to host and port, not to a Unix socket"],
  [
    "Connector",
    (value) => !isAbsent(value),
    "no Connector of its own: the gate connects to the addresses that the options name",
  ],
  [
    "natMap",
    (value) => !isAbsent(value),
    "no natMap: the gate connects to the addresses that Sentinels and nodes tell",
  ],
  ["useSRVRecords", (value) => value === true, "no useSRVRecords: the gate needs host and port of some nodes"],
  ["role", (value) => value === "slave", 'no role "slave": the gate writes, so it needs the primary'],
  ["readOnly", (value) => value === true, "no readOnly: the gate writes"],
]

const refusedIn = (options: Options): Read<void> => {
  const found = REFUSED.find(([name, isGiven]) => isGiven(options[name]))
  return found === undefined ? Result.void : Result.fail(found[2])
}

/** Undefined without TLS. */
const tlsContextOf = (options: Options, name: "tls" | "sentinelTLS"): Read<ConnectionOptions | undefined> => {
  const value = options[name]
  if (isAbsent(value) || value === false) return Result.succeed(undefined)
  if (value === true) return Result.succeed({})
  if (!isObject(value)) return Result.fail(`${name} as an object`)
  return value.rejectUnauthorized === false
    ? Result.fail(
        `no ${name}.rejectUnauthorized false: the gate always verifies certificates; give the authority's certificate as ${name}.ca`,
      )
    : Result.succeed({ ...value })
}

const accessOf = (options: Options): Read<Access> =>
  Result.gen(function* () {
    const username = yield* textOf(options, "username")
    const password = yield* textOf(options, "password")
    const keyPrefix = yield* textOf(options, "keyPrefix")
    const tlsContext = yield* tlsContextOf(options, "tls")
    return {
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password: Redacted.make(password) }),
      ...(keyPrefix === undefined ? {} : { keyPrefix: yield* parseKeyPrefix(keyPrefix) }),
      ...(tlsContext === undefined ? { tls: false } : { tls: true, tlsContext }),
    }
  })

const REDIS_PORT = 6379
const SENTINEL_PORT = 26379

const hostOf = (value: unknown, defaultHost: string, defaultPort: number): Read<HostPort> => {
  const { host, port }: Options = isObject(value) ? value : {}
  const found = {
    host: isAbsent(host) ? defaultHost : String(host),
    port: isAbsent(port) ? defaultPort : Number(port),
  }
  return Number.isInteger(found.port) && found.port > 0 && found.port <= 65_535
    ? Result.succeed(found)
    : Result.fail("every port as a number from 1 to 65535")
}

const hostsOf = (values: ReadonlyArray<unknown>, defaultPort: number): Read<ReadonlyArray<HostPort>> =>
  values.length === 0
    ? Result.fail("at least one host")
    : Result.all(values.map((value) => hostOf(value, "127.0.0.1", defaultPort)))

const databaseOf = ({ db }: Options): Read<number> => {
  const database = isAbsent(db) ? 0 : Number(db)
  return Number.isInteger(database) && database >= 0 ? Result.succeed(database) : Result.fail("db as a whole number")
}

const singleOf = (options: Options, access: Access): Read<RedisConnection> =>
  Result.gen(function* () {
    const { host, port } = yield* hostOf(options, "localhost", REDIS_PORT)
    return { kind: "redis", host, port, database: yield* databaseOf(options), ...access }
  })

const sentinelOf = (options: Options, sentinels: ReadonlyArray<unknown>, access: Access): Read<RedisConnection> =>
  Result.gen(function* () {
    const master = yield* textOf(options, "name")
    if (master === undefined) return yield* Result.fail("name, the master's name at the Sentinels")
    const username = yield* textOf(options, "sentinelUsername")
    const password = yield* textOf(options, "sentinelPassword")
    const sentinelTlsContext = yield* tlsContextOf(options, "sentinelTLS")
    // ioredis ignores `tls` at Sentinels and master without these two
    const [toMaster, toSentinels] = [options.enableTLSForSentinelMode === true, sentinelTlsContext !== undefined]
    if (access.tls !== toMaster || access.tls !== toSentinels) {
      return yield* Result.fail(
        "tls, enableTLSForSentinelMode and sentinelTLS together or none of them: the gate uses TLS to the Sentinels and to the master, or to neither",
      )
    }
    return {
      kind: "sentinel",
      sentinels: yield* hostsOf(sentinels, SENTINEL_PORT),
      master,
      database: yield* databaseOf(options),
      ...(username === undefined ? {} : { sentinelUsername: username }),
      ...(password === undefined ? {} : { sentinelPassword: Redacted.make(password) }),
      ...(sentinelTlsContext === undefined ? {} : { sentinelTlsContext }),
      ...access,
    }
  })

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** A node as the host has given it to `Cluster`: options, a port, or a text such as `host:port` or `rediss://:password@host:port`. */
const nodeOf = (node: unknown): Options => {
  if (typeof node === "number") return { port: node }
  if (typeof node !== "string") return isObject(node) ? node : {}
  const url = URL.parse(/^\w+:\/\//.test(node) ? node : `redis://${node}`)
  if (url === null) return {}
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port,
    username: decoded(url.username),
    password: decoded(url.password),
    ...(url.protocol === "rediss:" ? { tls: true } : {}),
  }
}

const clusterOf = (client: object, options: Options): Read<RedisConnection> =>
  Result.gen(function* () {
    const given: unknown = Reflect.get(client, "startupNodes")
    if (!Array.isArray(given))
      return yield* Result.fail("a Cluster of ioredis 5 or 6, which has the nodes that it was created with")
    const nodes = given.map(nodeOf)
    const common = isObject(options.redisOptions) ? options.redisOptions : {}
    yield* refusedIn(common)
    const present = Object.entries(common).filter(([, value]) => !isAbsent(value))
    const keyPrefix = isAbsent(options.keyPrefix) ? {} : { keyPrefix: options.keyPrefix }
    const access = yield* accessOf({ ...nodes[0], ...Object.fromEntries(present), ...keyPrefix })
    return { kind: "cluster", nodes: yield* hostsOf(nodes, REDIS_PORT), ...access }
  })

/**
 * The connection that a client has. Fails with what the gate expects of the client, without repeating a value of its options.
 *
 * @param origin what problems with this connection name as their origin
 */
export const connectionOf = (client: unknown, origin: string): Result.Result<RedisConnection, string> =>
  Result.gen(function* () {
    // that of node-redis has options and `duplicate` too, but no status
    if (!isObject(client) || typeof client.status !== "string" || !isObject(client.options)) {
      return yield* Result.fail("a client of ioredis 5 or 6, Redis or Cluster")
    }
    const { options } = client
    yield* refusedIn(options)
    if (client.isCluster === true) return { ...(yield* clusterOf(client, options)), origin }
    const access = yield* accessOf(options)
    const sentinels = options.sentinels
    const connection = Array.isArray(sentinels) ? sentinelOf(options, sentinels, access) : singleOf(options, access)
    return { ...(yield* connection), origin }
  }).pipe(Result.mapError((expected) => `Expected ${expected}.`))
