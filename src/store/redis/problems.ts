/**
 * Describes why Redis cannot be used, without the user or the password of the connection string. Messages of ioredis and the
 * server are never shown unchanged, and their error objects, which contain a command's arguments, are not passed on.
 */
import { Redacted, Schema } from "effect"
import type { RedisConnection } from "../connection-string.ts"
import { tlsFault } from "./tls-faults.ts"

/**
 * Redis was reached and refuses this connection string (wrong password, no such database, a replica, …). A retry does not help,
 * so the start fails.
 */
export class StoreRefused extends Schema.TaggedError<StoreRefused>()("StoreRefused", { message: Schema.String }) {}

export const refusalOf = (
  message: string,
  { origin = "StoreConnectionString" }: Pick<RedisConnection, "origin"> = {},
): StoreRefused => new StoreRefused({ message: `${origin}: ${message}.` })

/** Why the store cannot be used. `refused` means that this lasts until somebody changes the settings or the server. */
export interface RedisProblem {
  readonly refused: boolean
  /** the server's error code when it is a known one, else `OTHER`; so the number of kinds is bounded */
  readonly kind: string
  /** what is wrong, and for a known kind how to fix it */
  readonly message: string
}

export const refused = (kind: string, message: string): RedisProblem => ({ refused: true, kind, message })
const temporary = (kind: string, message: string): RedisProblem => ({ refused: false, kind, message })

/** The server is a replica: it refuses writes. */
export const isReplica: RedisProblem = refused(
  "READONLY",
  "the server is a replica, which accepts no writes (READONLY); name the primary, or all of them as host:port,host:port",
)

/** The server was, or was reported as, the primary; now another server is. */
export const wasDemoted: RedisProblem = temporary(
  "READONLY",
  "the server is a replica, which accepts no writes (READONLY); the gate looks for the primary",
)

/** A single address leads to a node of a Cluster. */
export const isNodeOfCluster: RedisProblem = refused(
  "MOVED",
  "the server is a node of a Cluster: use redis+cluster:// with the addresses of some nodes (redis+cluster://host:port,host:port)",
)

/** TLS on one side only. A server that does not answer TLS may also stand still for a moment. */
export const oneSided = (fault: string, tls: boolean): RedisProblem =>
  tls ? temporary("TLS", fault) : refused("TLS", fault)

/** What a user of the gate needs, as Redis's ACL SETUSER takes it; `src/docs/redis.md` has the shortest list of commands. */
export const aclLine = (prefix = ""): string => `~${prefix}vg:* &${prefix}vg:* +@all -@dangerous +info +role`

/** Known error replies of servers, by a pattern of their text. The first match counts. Some name the prefix of the keys. */
const KNOWN_REPLIES: ReadonlyArray<readonly [RegExp, RedisProblem | ((prefix: string | undefined) => RedisProblem)]> = [
  // replies to AUTH, SELECT and the first commands
  [/WRONGPASS|invalid password/, refused("WRONGPASS", "the server refuses the user or the password (AUTH: WRONGPASS)")],
  [/NOAUTH|Authentication required/, refused("NOAUTH", "the server requires a password, and none is given (NOAUTH)")],
  [
    /no password is set|without any password configured/,
    refused("AUTH", "a password is given, but the server has none for this user (AUTH)"),
  ],
  [
    /wrong number of arguments for 'auth'/,
    refused("AUTH", "the server does not support users: give the password alone (AUTH)"),
  ],
  [
    /DB index is out of range|invalid DB index|invalid database|SELECT is not allowed/i,
    refused("SELECT", "the server has no such database (SELECT)"),
  ],
  [/READONLY/, isReplica],
  [
    // within a script the word NOPERM is missing
    /NOPERM|ACL failure in script|user executing the script can't/,
    (prefix = "") =>
      refused(
        "NOPERM",
        `the user lacks permissions: the gate needs all commands on keys and channels that begin with ${prefix}vg: (NOPERM); give it ${aclLine(prefix)}`,
      ),
  ],
  [
    /unknown (?:redis )?command/i,
    refused(
      "UNKNOWN",
      "the server has renamed or disabled a command that the gate needs (unknown command): undo its rename-command",
    ),
  ],
  [/\bMOVED\b|\bCROSSSLOT\b/, isNodeOfCluster],
  [/\bLOADING\b/, temporary("LOADING", "it loads its data (LOADING)")],
  [/DENIED/, refused("DENIED", "the server is in protected mode and does not serve this machine (DENIED)")],
  [
    /cluster support disabled/,
    refused("CLUSTER", "the server is not part of a Cluster: use redis:// or redis+sentinel://"),
  ],
  // replies to writes
  [/\bOOM\b/, temporary("OOM", "its memory is full (OOM): raise its maxmemory, or make room")],
  [
    /NOREPLICAS/,
    temporary(
      "NOREPLICAS",
      "it has fewer replicas than min-replicas-to-write requires (NOREPLICAS): restore them, or lower the setting",
    ),
  ],
  [/MISCONF/, temporary("MISCONF", "it cannot save its data to disk (MISCONF): check its log and its disk")],
  [
    /WRONGTYPE/,
    (prefix = "") =>
      temporary(
        "WRONGTYPE",
        `a key that begins with ${prefix}vg: has the wrong type of value (WRONGTYPE): find out what else writes such keys, and delete the key`,
      ),
  ],
  [
    /CLUSTERDOWN/,
    temporary("CLUSTERDOWN", "the Cluster does not serve all keys (CLUSTERDOWN): restore the missing nodes"),
  ],
  [
    /\bBUSY\b/,
    temporary("BUSY", "a script that does not end blocks it (BUSY): find out whose it is, and end it with SCRIPT KILL"),
  ],
]

/** The same for a client of a Cluster, to which `MOVED` says nothing of its address: it follows the nodes until they agree. */
const REPLIES_OF_CLUSTER: typeof KNOWN_REPLIES = [
  [
    /\bCROSSSLOT\b/,
    refused(
      "CROSSSLOT",
      "a Cluster refuses a command with keys of several hash slots (CROSSSLOT): this is a bug, please report it",
    ),
  ],
  [
    /\bMOVED\b/,
    temporary(
      "MOVED",
      "the nodes of the Cluster do not agree on which of them serves these keys (MOVED), as during a failover",
    ),
  ],
  ...KNOWN_REPLIES,
]

/** The code of an error, where it says more than the message: those of TLS. */
const codeOf = (error: Error): string =>
  "code" in error && typeof error.code === "string" && /SSL|TLS|CERT|SIGN|VERIFY|ISSUER/.test(error.code)
    ? error.code
    : ""

const textsOf = (error: unknown, depth = 0): ReadonlyArray<string> => {
  if (!(error instanceof Error) || depth > 3) return error instanceof Error ? [] : [String(error)]
  const inner = [
    "lastNodeError" in error ? error.lastNodeError : undefined,
    ...(error instanceof AggregateError ? error.errors.slice(0, 1) : []),
  ].filter((each) => each !== undefined && each !== null)
  return [error.message, codeOf(error), ...inner.flatMap((each) => textsOf(each, depth + 1))].filter(
    (text) => text !== "",
  )
}

/** Every secret part of the connection string, the longest first. */
const secretsOf = (connection: RedisConnection): ReadonlyArray<string> =>
  [
    connection.username,
    connection.password === undefined ? undefined : Redacted.value(connection.password),
    connection.kind === "sentinel" ? connection.sentinelUsername : undefined,
    connection.kind === "sentinel" && connection.sentinelPassword !== undefined
      ? Redacted.value(connection.sentinelPassword)
      : undefined,
  ]
    .flatMap((text) => (text === undefined || text === "" || text === "default" ? [] : [text]))
    .sort((a, b) => b.length - a.length)

const MAX_LENGTH = 300

/** Node's words for an address that cannot be reached, and what they mean. */
const UNREACHED: ReadonlyArray<readonly [RegExp, string]> = [
  [
    /getaddrinfo (ENOTFOUND) (\S+)/,
    "the name $2 cannot be resolved ($1): check its spelling, and that this machine's DNS knows it",
  ],
  [/getaddrinfo (EAI_AGAIN) (\S+)/, "the name $2 could not be looked up ($1): check this machine's DNS"],
  [
    /connect (ECONNREFUSED) (\S+)/,
    "$2 refused the connection ($1): check the address, and that Redis runs and listens there",
  ],
  [
    /connect (EHOSTUNREACH|ENETUNREACH|ETIMEDOUT) (\S+)/,
    "$2 cannot be reached ($1): check the address, the network and its firewalls",
  ],
]

/** The text of an error without Node's words for an address that cannot be reached. */
const readable = (text: string): string =>
  UNREACHED.reduce((plain, [words, meaning]) => plain.replace(words, meaning), text)

export const describeProblem = (connection: RedisConnection) => {
  const secrets = secretsOf(connection)
  const replies = connection.kind === "cluster" ? REPLIES_OF_CLUSTER : KNOWN_REPLIES
  return (error: unknown): RedisProblem => {
    const texts = textsOf(error)
    const text = texts.join(": ")
    const known = replies.find(([words]) => words.test(text))
    if (known !== undefined) return typeof known[1] === "function" ? known[1](connection.keyPrefix) : known[1]
    const fault = tlsFault(texts)
    if (fault !== undefined) return refused("TLS", fault)
    const shown = readable(secrets.reduce((clean, secret) => clean.replaceAll(secret, "***"), text))
      // the delay differs each time, so repeated messages would not be equal
      .replace(/ Retrying from scratch after \d+ms\./, "")
      .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
      .slice(0, MAX_LENGTH)
    return temporary("OTHER", shown === "" ? "no answer" : shown)
  }
}
