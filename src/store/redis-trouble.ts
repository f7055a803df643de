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

/** Why there is no usable connection. `refused` stays so until somebody changes the settings or the server. */
export interface Trouble {
  readonly refused: boolean
  readonly message: string
}

const refused = (message: string): Trouble => ({ refused: true, message })

/** The server is a replica: what is written there is refused, or lost. */
export const isReplica: Trouble = refused(
  "the server is a replica, which takes no writes (READONLY); name the primary, or all of them as host:port,host:port",
)

/** The server was the primary, or was said to be: of several servers another one is. */
export const wasDemoted: Trouble = {
  refused: false,
  message: "the server is a replica, which takes no writes (READONLY); the primary is looked for",
}

/** What servers answer to AUTH, SELECT and the first commands, by the words in it. The first that fits counts. */
const REFUSALS: ReadonlyArray<readonly [RegExp, Trouble]> = [
  [/WRONGPASS|invalid password/, refused("the server refuses the user or the password (AUTH: WRONGPASS)")],
  [/NOAUTH|Authentication required/, refused("the server wants a password, and none is given (NOAUTH)")],
  [
    /no password is set|without any password configured/,
    refused("a password is given, and the server has none for this user (AUTH)"),
  ],
  [/wrong number of arguments for 'auth'/, refused("the server knows no users: give the password alone (AUTH)")],
  [
    /DB index is out of range|invalid DB index|invalid database|SELECT is not allowed/i,
    refused("the server has no such database (SELECT)"),
  ],
  [/READONLY/, isReplica],
  [
    /NOPERM/,
    refused("the user may not do what the gate needs: all commands on keys and channels that begin with vg: (NOPERM)"),
  ],
  [/DENIED/, refused("the server is in protected mode and answers this machine nothing (DENIED)")],
  [/cluster support disabled/, refused("the server is not part of a Cluster: use redis:// or redis+sentinel://")],
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
    const known = REFUSALS.find(([words]) => words.test(text))
    if (known !== undefined) return known[1]
    const shown = secrets
      .reduce((clean, secret) => clean.replaceAll(secret, "***"), text)
      // how soon ioredis tries again differs each time
      .replace(/ Retrying from scratch after \d+ms\./, "")
      .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
      .slice(0, MAX_LENGTH)
    return { refused: false, message: shown === "" ? "no answer" : shown }
  }
}
