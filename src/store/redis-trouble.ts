/**
 * What keeps the gate from its Redis, in words that contain nothing of the connection string's user or password: neither what
 * ioredis and the server say is shown as it is, nor are their error objects passed on, which hold a command's arguments.
 */
import { Redacted, Schema } from "effect"
import type { RedisConnection } from "../settings/connection-string.ts"

/**
 * Redis was reached and refuses this connection string (wrong password, no such database, a replica, …). Trying again does not
 * help: it is a failure of the start.
 */
export class StoreRefused extends Schema.TaggedError<StoreRefused>()("StoreRefused", { message: Schema.String }) {}

/** Why the store cannot be used. `refused` is a connection that stays so until somebody changes the settings or the server. */
export interface Trouble {
  readonly refused: boolean
  /** the server's word for it where it is a known one, else `OTHER`: there are only so many */
  readonly kind: string
  /** what is wrong, and for a known kind what to do about it */
  readonly message: string
}

const refused = (kind: string, message: string): Trouble => ({ refused: true, kind, message })
const unable = (kind: string, message: string): Trouble => ({ refused: false, kind, message })

/** The server is a replica: what is written there is refused, or lost. */
export const isReplica: Trouble = refused(
  "READONLY",
  "the server is a replica, which takes no writes (READONLY); name the primary, or all of them as host:port,host:port",
)

/** The server was the primary, or was said to be: of several servers another one is. */
export const wasDemoted: Trouble = unable(
  "READONLY",
  "the server is a replica, which takes no writes (READONLY); the primary is looked for",
)

/** What servers answer, by the words in it. The first that fits counts. */
const ANSWERS: ReadonlyArray<readonly [RegExp, Trouble]> = [
  // to AUTH, SELECT and the first commands
  [/WRONGPASS|invalid password/, refused("WRONGPASS", "the server refuses the user or the password (AUTH: WRONGPASS)")],
  [/NOAUTH|Authentication required/, refused("NOAUTH", "the server wants a password, and none is given (NOAUTH)")],
  [
    /no password is set|without any password configured/,
    refused("AUTH", "a password is given, and the server has none for this user (AUTH)"),
  ],
  [
    /wrong number of arguments for 'auth'/,
    refused("AUTH", "the server knows no users: give the password alone (AUTH)"),
  ],
  [
    /DB index is out of range|invalid DB index|invalid database|SELECT is not allowed/i,
    refused("SELECT", "the server has no such database (SELECT)"),
  ],
  [/READONLY/, isReplica],
  [
    // within a script the word is missing
    /NOPERM|ACL failure in script|user executing the script can't/,
    refused(
      "NOPERM",
      "the user may not do what the gate needs: all commands on keys and channels that begin with vg: (NOPERM)",
    ),
  ],
  [/DENIED/, refused("DENIED", "the server is in protected mode and answers this machine nothing (DENIED)")],
  [
    /cluster support disabled/,
    refused("CLUSTER", "the server is not part of a Cluster: use redis:// or redis+sentinel://"),
  ],
  // to what is written
  [/\bOOM\b/, unable("OOM", "its memory is full (OOM): raise its maxmemory, or make room")],
  [
    /NOREPLICAS/,
    unable(
      "NOREPLICAS",
      "it has fewer replicas than min-replicas-to-write asks for (NOREPLICAS): bring them back, or lower it",
    ),
  ],
  [/MISCONF/, unable("MISCONF", "it cannot save its data to disk (MISCONF): see its log, and its disk")],
  [
    /WRONGTYPE/,
    unable(
      "WRONGTYPE",
      "a key that begins with vg: holds another type of value than the gate wrote (WRONGTYPE): find what else writes there, and delete the key",
    ),
  ],
  [
    /CLUSTERDOWN/,
    unable("CLUSTERDOWN", "the Cluster does not serve all keys (CLUSTERDOWN): bring the missing nodes back"),
  ],
  [/\bBUSY\b/, unable("BUSY", "a script that does not end keeps it busy (BUSY): find whose it is, and SCRIPT KILL it")],
]

const textsOf = (error: unknown, depth = 0): ReadonlyArray<string> => {
  if (!(error instanceof Error) || depth > 3) return error instanceof Error ? [] : [String(error)]
  const inner = [
    "lastNodeError" in error ? error.lastNodeError : undefined,
    ...(error instanceof AggregateError ? error.errors.slice(0, 1) : []),
  ].filter((each) => each !== undefined && each !== null)
  return [error.message, ...inner.flatMap((each) => textsOf(each, depth + 1))].filter((text) => text !== "")
}

/** Every text of the connection string that must not be shown, the longest first. */
const secretsOf = (connection: RedisConnection): ReadonlyArray<string> =>
  [
    connection.username,
    connection.password === undefined ? undefined : Redacted.value(connection.password),
    connection.kind === "sentinel" && connection.sentinelPassword !== undefined
      ? Redacted.value(connection.sentinelPassword)
      : undefined,
  ]
    .flatMap((text) => (text === undefined || text === "" || text === "default" ? [] : [text]))
    .sort((a, b) => b.length - a.length)

const MAX_LENGTH = 300

/** Says what an error of ioredis means for this connection. */
export const troubleOf = (connection: RedisConnection) => {
  const secrets = secretsOf(connection)
  return (error: unknown): Trouble => {
    const text = textsOf(error).join(": ")
    const known = ANSWERS.find(([words]) => words.test(text))
    if (known !== undefined) return known[1]
    const shown = secrets
      .reduce((clean, secret) => clean.replaceAll(secret, "***"), text)
      // how soon ioredis tries again differs each time
      .replace(/ Retrying from scratch after \d+ms\./, "")
      .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
      .slice(0, MAX_LENGTH)
    return unable("OTHER", shown === "" ? "no answer" : shown)
  }
}
