/** Which connection a host's own client of ioredis has. The clients connect to nothing. */
import { assert, describe, it } from "@effect/vitest"
import { Redacted, Result } from "effect"
import { Cluster, type ClusterNode, Redis, type RedisOptions } from "ioredis"
import { connectionOf, type RedisClient } from "../../../src/store/redis/host-client.ts"

/** The connection with unredacted passwords, for comparing; a text for a client that is refused. */
const read = (client: unknown): unknown => {
  const connection = connectionOf(client, "test")
  if (Result.isFailure(connection)) return connection.failure
  return Object.fromEntries(
    Object.entries(connection.success).flatMap(([key, value]) =>
      key === "origin" ? [] : [[key, Redacted.isRedacted(value) ? Redacted.value(value) : value]],
    ),
  )
}

const single = (options: Omit<RedisOptions, "replyMapping">, url?: string): RedisClient =>
  url === undefined ? new Redis({ ...options, lazyConnect: true }) : new Redis(url, { ...options, lazyConnect: true })
type Options = ConstructorParameters<typeof Cluster>[1]
const cluster = (nodes: ReadonlyArray<ClusterNode>, options: Options = {}): RedisClient =>
  new Cluster([...nodes], { ...options, lazyConnect: true })

describe("the connection of a host's client", () => {
  it.each<[string, () => RedisClient, object]>([
    ["without options", () => single({}), { kind: "redis", host: "localhost", port: 6379, database: 0, tls: false }],
    [
      "with everything",
      () =>
        single({
          ...{ host: "cache", port: 6390, db: 3, username: "app", password: "pass", keyPrefix: "app:" },
          tls: { ca: "authority", servername: "cache.example" },
        }),
      {
        ...{ kind: "redis", host: "cache", port: 6390, database: 3, username: "app", password: "pass", tls: true },
        ...{ keyPrefix: "app:", tlsContext: { ca: "authority", servername: "cache.example" } },
      },
    ],
    [
      "with a URL",
      () => single({}, "rediss://app:pa%2Fss@cache:6390/3"),
      {
        ...{ kind: "redis", host: "cache", port: 6390, database: 3, username: "app", password: "pa/ss", tls: true },
        tlsContext: {},
      },
    ],
    [
      "with Sentinels",
      () =>
        single({
          sentinels: [{ host: "s1" }, { host: "s2", port: 26380 }],
          ...{ name: "main", db: 2, password: "pass", sentinelUsername: "watcher", sentinelPassword: "other" },
          ...{ tls: { ca: "one" }, enableTLSForSentinelMode: true, sentinelTLS: { ca: "two" } },
        }),
      {
        kind: "sentinel",
        sentinels: [
          { host: "s1", port: 26379 },
          { host: "s2", port: 26380 },
        ],
        ...{ master: "main", database: 2, password: "pass", sentinelUsername: "watcher", sentinelPassword: "other" },
        ...{ tls: true, tlsContext: { ca: "one" }, sentinelTlsContext: { ca: "two" } },
      },
    ],
    [
      "to a Cluster",
      () =>
        cluster([{ host: "n1", port: 7000 }, { host: "n2" }, 7002, "redis://n4:7003", "[::1]:7004"], {
          keyPrefix: "app:",
          redisOptions: { username: "app", password: "pass", tls: {} },
        }),
      {
        kind: "cluster",
        nodes: [
          { host: "n1", port: 7000 },
          { host: "n2", port: 6379 },
          { host: "127.0.0.1", port: 7002 },
          { host: "n4", port: 7003 },
          { host: "::1", port: 7004 },
        ],
        ...{ username: "app", password: "pass", tls: true, tlsContext: {}, keyPrefix: "app:" },
      },
    ],
    [
      "to a Cluster whose nodes and common options have the rest",
      () => cluster(["rediss://app:pass@n1:7000"], { redisOptions: { keyPrefix: "app:" } }),
      {
        kind: "cluster",
        nodes: [{ host: "n1", port: 7000 }],
        ...{ username: "app", password: "pass", tls: true, tlsContext: {}, keyPrefix: "app:" },
      },
    ],
  ])("leads where the client leads: %s", (_, client, expected) => {
    assert.deepStrictEqual(read(client()), expected)
  })

  it.each<[string, () => unknown, RegExp]>([
    ["a Unix socket", () => single({ path: "/run/redis.sock" }), /no path/],
    ["a replica of Sentinels", () => single({ sentinels: [{ host: "s" }], name: "m", role: "slave" }), /no role/],
    ["translated addresses", () => single({ sentinels: [{ host: "s" }], name: "m", natMap: {} }), /no natMap/],
    ["translated addresses of a Cluster", () => cluster(["n1"], { natMap: {} }), /no natMap/],
    ["read-only connections", () => single({ readOnly: true }), /no readOnly/],
    ["nodes from SRV records", () => cluster(["n1"], { useSRVRecords: true }), /no useSRVRecords/],
    [
      "certificates that are not verified",
      () => single({ password: "hunter22", tls: { rejectUnauthorized: false } }),
      /no tls\.rejectUnauthorized false.*tls\.ca/,
    ],
    [
      "certificates of a Cluster that are not verified",
      () => cluster(["n1"], { redisOptions: { tls: { rejectUnauthorized: false } } }),
      /no tls\.rejectUnauthorized/,
    ],
    [
      "TLS that ioredis ignores at Sentinels",
      () => single({ sentinels: [{ host: "s" }], name: "m", tls: {} }),
      /enableTLSForSentinelMode/,
    ],
    ["a prefix with braces", () => single({ keyPrefix: "{hunter22}:" }), /Expected keyPrefix as 1 to 64/],
    ["a prefix that contains the gate's own", () => single({ keyPrefix: "my-vg:hunter22" }), /without vg:/],
    ["no client", () => "redis://hunter22", /a client of ioredis 5/],
    [
      "a client of another library",
      () => ({ options: { url: "hunter22" }, duplicate: () => {} }),
      /a client of ioredis 5/,
    ],
  ])("is refused, with what is expected and no value of the client's: %s", (_, client, expected) => {
    const found = String(read(client()))
    assert.match(found, expected)
    assert.notInclude(found, "hunter22")
  })
})
