/**
 * Sign-in sessions of the dashboard. A session is a random token that only the browser has; the database stores its digest. It
 * ends when its user signs out, ends it from another browser, changes the password or is disabled, and after
 * `SESSION_LIFETIME_MILLIS`. Address and browser of the sign-in are deleted with it.
 */
import { createHash, randomBytes, randomUUID } from "node:crypto"
import { Clock, Context, DateTime, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "../Audit.ts"
import { type DatabaseUnavailable, orUnavailable } from "../data/Database.ts"
import { type Refused, refuse } from "../model.ts"
import { toLines } from "../text.ts"

/** A working day. */
export const SESSION_LIFETIME_MILLIS = 12 * 60 * 60_000
const TOKEN_BYTES = 32

/** The stored `User-Agent` is cut to this many characters. */
const MAX_USER_AGENT = 256
/** how precise `lastUsedAt` is, in milliseconds */
const LAST_USED_PRECISION_MILLIS = 60_000

export interface SignedInUser {
  readonly id: string
  readonly name: string
  readonly email: string
  /** not a credential */
  readonly signInId: string
}

/** A session as shown to its user; times in milliseconds since 1970. */
export interface SignInEntry {
  readonly id: string
  /** the client's address at sign-in; empty when unknown */
  readonly address: string
  /** the browser's `User-Agent`; may be empty */
  readonly userAgent: string
  readonly createdAt: number
  /** to the minute */
  readonly lastUsedAt: number
}

export interface NewSession {
  readonly userId: string
  /** the user's epoch when the password was checked; a session with an older epoch is invalid */
  readonly epoch: number
  readonly address: string
  readonly userAgent: string
}

export class DashboardSessions extends Context.Service<
  DashboardSessions,
  {
    /** Creates a session of an authenticated user and returns its token. */
    readonly begin: (session: NewSession) => Effect.Effect<Redacted.Redacted<string>, DatabaseUnavailable>
    /** Undefined when the token is invalid, the session has ended, or the user is disabled. Updates `lastUsedAt`. */
    readonly find: (token: Redacted.Redacted<string>) => Effect.Effect<SignedInUser | undefined, DatabaseUnavailable>
    /** Does nothing for an invalid token. */
    readonly end: (token: Redacted.Redacted<string>) => Effect.Effect<void, DatabaseUnavailable>
    /** Newest first. */
    readonly list: (userId: string) => Effect.Effect<ReadonlyArray<SignInEntry>, DatabaseUnavailable>
    readonly endOne: (userId: string, id: string) => Effect.Effect<void, Refused | DatabaseUnavailable>
    /** Returns how many it ended. */
    readonly endOthers: (userId: string, kept: string) => Effect.Effect<number, DatabaseUnavailable>
  }
>()("voicegate/platform/DashboardSessions") {}

interface Found {
  readonly id: string
  readonly name: string
  readonly email: string | null
  readonly session_id: string
  readonly last_used_at: number
}

interface Row {
  readonly id: string
  readonly address: string
  readonly user_agent: string
  readonly created_at: number
  readonly last_used_at: number
}

const showEntry = (row: Row): SignInEntry => ({
  id: row.id,
  address: row.address,
  userAgent: row.user_agent,
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
})

/** Address and browser of a sign-in, for the audit log. */
const where = ({ address, created_at }: Row): string =>
  `begun ${DateTime.formatIso(DateTime.makeUnsafe(created_at))}${address === "" ? "" : ` from ${address}`}`

/** 256 random bits need no slow hash, and comparing digests leaks nothing by timing. */
const digest = (token: Redacted.Redacted<string>): string =>
  createHash("sha256").update(Redacted.value(token)).digest("hex")

export const layer: Layer.Layer<DashboardSessions, never, SqlClient.SqlClient | Audit> = Layer.effect(
  DashboardSessions,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const audit = yield* Audit
    return DashboardSessions.of({
      begin: Effect.fnUntraced(
        function* ({ address, epoch, userAgent, userId }) {
          const now = yield* Clock.currentTimeMillis
          const token = Redacted.make(randomBytes(TOKEN_BYTES).toString("base64url"))
          // Every new sign-in deletes expired sessions.
          yield* sql`DELETE FROM dashboard_sessions WHERE expires_at <= ${now}`
          const row = {
            id: randomUUID(),
            digest: digest(token),
            user_id: userId,
            epoch,
            address,
            user_agent: toLines(userAgent.slice(0, MAX_USER_AGENT)),
            created_at: now,
            last_used_at: now,
            expires_at: now + SESSION_LIFETIME_MILLIS,
          }
          yield* sql`INSERT INTO dashboard_sessions ${sql.insert(row)}`
          return token
        },
        sql.withTransaction,
        orUnavailable,
      ),

      find: Effect.fnUntraced(function* (token) {
        const now = yield* Clock.currentTimeMillis
        const [row] = yield* sql<Found>`
          SELECT u.id, u.name, u.email, s.id AS session_id, s.last_used_at
          FROM dashboard_sessions s JOIN users u ON u.id = s.user_id AND u.sign_in_epoch = s.epoch
          WHERE s.digest = ${digest(token)} AND s.expires_at > ${now} AND u.disabled = 0`
        if (row === undefined) return undefined
        if (row.last_used_at <= now - LAST_USED_PRECISION_MILLIS) {
          // Informational: a failure is ignored.
          yield* Effect.ignore(sql`UPDATE dashboard_sessions SET last_used_at = ${now}
            WHERE digest = ${digest(token)} AND last_used_at <= ${now - LAST_USED_PRECISION_MILLIS}`)
        }
        return { id: row.id, name: row.name, email: row.email ?? "", signInId: row.session_id }
      }, orUnavailable),

      end: Effect.fnUntraced(function* (token) {
        yield* sql`DELETE FROM dashboard_sessions WHERE digest = ${digest(token)}`
      }, orUnavailable),

      list: Effect.fnUntraced(function* (userId) {
        const now = yield* Clock.currentTimeMillis
        const rows = yield* sql<Row>`
          SELECT s.id, s.address, s.user_agent, s.created_at, s.last_used_at
          FROM dashboard_sessions s JOIN users u ON u.id = s.user_id AND u.sign_in_epoch = s.epoch
          WHERE s.user_id = ${userId} AND s.expires_at > ${now} ORDER BY s.created_at DESC, s.id DESC`
        return rows.map(showEntry)
      }, orUnavailable),

      endOne: Effect.fnUntraced(
        function* (userId, id) {
          const [row] =
            yield* sql<Row>`DELETE FROM dashboard_sessions WHERE user_id = ${userId} AND id = ${id} RETURNING *`
          if (row === undefined)
            return yield* refuse("not_found", "SIGN_IN_NOT_FOUND", "this sign-in has already ended")
          yield* audit.record(userId, "user.sign_in_ended", id, where(row))
        },
        sql.withTransaction,
        orUnavailable,
      ),

      endOthers: Effect.fnUntraced(
        function* (userId, kept) {
          const rows =
            yield* sql<Row>`DELETE FROM dashboard_sessions WHERE user_id = ${userId} AND id <> ${kept} RETURNING *`
          if (rows.length > 0) {
            yield* audit.record(userId, "user.other_sign_ins_ended", userId, `${rows.length} ended`)
          }
          return rows.length
        },
        sql.withTransaction,
        orUnavailable,
      ),
    })
  }),
)
