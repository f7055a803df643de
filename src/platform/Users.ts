/** The people who own businesses and keys. A user is known by an e-mail address, and signs in with it when it has a password. */
import { randomUUID } from "node:crypto"
import { Clock, Context, Effect, Layer, Redacted } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { Audit } from "./Audit.ts"
import { type DatabaseUnavailable, orUnavailable } from "./data/Database.ts"
import { DEFAULT_CALL_CONCURRENCY } from "./defaults.ts"
import { KeyCache } from "./KeyCache.ts"
import { type Refused, refuse, type User } from "./model.ts"
import { hashPassword, MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from "./Passwords.ts"

export interface NewUser {
  /** made up when absent */
  readonly id?: string
  readonly name: string
  readonly email?: string
  readonly password?: Redacted.Redacted<string>
  readonly callConcurrency?: number
}

export class Users extends Context.Service<
  Users,
  {
    readonly create: (user: NewUser) => Effect.Effect<User, Refused | DatabaseUnavailable>
    readonly find: (id: string) => Effect.Effect<User, Refused | DatabaseUnavailable>
    /** All users, in the order in which they were made. */
    readonly list: Effect.Effect<ReadonlyArray<User>, DatabaseUnavailable>
    readonly rename: (id: string, name: string) => Effect.Effect<User, Refused | DatabaseUnavailable>
    /**
     * Disabling ends the user's sign-ins at once, and the user's keys are refused from now on: here at once, elsewhere within the
     * time of the key cache. Enabling brings the keys back, and no sign-in.
     */
    readonly setDisabled: (id: string, disabled: boolean) => Effect.Effect<void, Refused | DatabaseUnavailable>
    /** What there is to check a password of this e-mail address with; undefined when nobody has it. */
    readonly account: (email: string) => Effect.Effect<Account | undefined, DatabaseUnavailable>
    /** Sets a password and ends all sign-ins of the user; `why` is for the audit trail. */
    readonly setPassword: (
      id: string,
      password: Redacted.Redacted<string>,
      why: string,
    ) => Effect.Effect<void, Refused | DatabaseUnavailable>
    /**
     * Sets a password in place of the one that `proved` was read with, and ends all sign-ins of the user but the one of id
     * `kept`. Refused when the password was changed meanwhile. Answers what the next check goes by.
     */
    readonly changePassword: (
      proved: Account,
      password: Redacted.Redacted<string>,
      kept: string,
    ) => Effect.Effect<Account, Refused | DatabaseUnavailable>
  }
>()("voicegate/platform/Users") {}

/** A user as far as signing in needs it. */
export interface Account {
  readonly user: User
  /** null for a user who cannot sign in */
  readonly passwordHash: Redacted.Redacted<string> | null
  /** a sign-in begun with an older epoch is over */
  readonly epoch: number
}

interface Row {
  readonly id: string
  readonly email: string | null
  readonly name: string
  readonly password_hash: string | null
  readonly call_concurrency: number
  readonly disabled: number
  readonly sign_in_epoch: number
  readonly created_at: number
}

const show = (row: Row): User => ({
  id: row.id,
  email: row.email,
  name: row.name,
  callConcurrency: row.call_concurrency,
  disabled: row.disabled !== 0,
  createdAt: row.created_at,
})

const noSuchUser = () => refuse("not_found", "USER_NOT_FOUND", "no such user")
/** Addresses are compared without regard to case. */
const normal = (email: string): string => email.trim().toLowerCase()

const accountOf = (row: Row): Account => ({
  user: show(row),
  passwordHash: row.password_hash === null ? null : Redacted.make(row.password_hash),
  epoch: row.sign_in_epoch,
})

const passwordProblem = (password: Redacted.Redacted<string>): Refused | undefined => {
  const { length } = Redacted.value(password)
  if (length >= MIN_PASSWORD_LENGTH && length <= MAX_PASSWORD_LENGTH) return undefined
  const expected = `${MIN_PASSWORD_LENGTH} to ${MAX_PASSWORD_LENGTH} characters`
  return refuse("invalid", "PASSWORD_INVALID", `the password: Expected ${expected}.`)
}

const problemOf = ({ email, password }: NewUser): Refused | undefined => {
  if (email !== undefined && !/^[^\s@]+@[^\s@]+$/.test(email.trim())) {
    return refuse("invalid", "EMAIL_INVALID", "the e-mail address: Expected name@host.")
  }
  return password && passwordProblem(password)
}

export const layer: Layer.Layer<Users, never, SqlClient.SqlClient | Audit | KeyCache> = Layer.effect(
  Users,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const audit = yield* Audit
    const keys = yield* KeyCache

    const find = Effect.fnUntraced(function* (id: string) {
      const [row] = yield* sql<Row>`SELECT * FROM users WHERE id = ${id}`
      return row === undefined ? yield* noSuchUser() : show(row)
    }, orUnavailable)

    const insert = Effect.fnUntraced(
      function* (wanted: NewUser, hash: string | null) {
        const row: Row = {
          id: wanted.id ?? randomUUID(),
          email: wanted.email === undefined ? null : normal(wanted.email),
          name: wanted.name,
          password_hash: hash,
          call_concurrency: wanted.callConcurrency ?? DEFAULT_CALL_CONCURRENCY,
          disabled: 0,
          sign_in_epoch: 0,
          created_at: yield* Clock.currentTimeMillis,
        }
        const made = yield* sql<Row>`INSERT INTO users ${sql.insert({ ...row })} ON CONFLICT DO NOTHING RETURNING *`
        if (made.length === 0)
          return yield* refuse("conflict", "USER_EXISTS", "there is a user of this address already")
        yield* audit.record(row.id, "user.created", row.id, row.name)
        return show(row)
      },
      sql.withTransaction,
      orUnavailable,
    )

    /** Of the user that `where` finds: the new digest, the next epoch, and that epoch for the one sign-in that is kept. */
    const replacePassword = Effect.fnUntraced(
      function* (where: Statement.Fragment, hash: string, kept: string | undefined, why: string) {
        const [row] = yield* sql<Row>`UPDATE users
          SET password_hash = ${hash}, sign_in_epoch = sign_in_epoch + 1 WHERE ${where} RETURNING *`
        if (row === undefined) return undefined
        yield* sql`DELETE FROM dashboard_sessions WHERE user_id = ${row.id} AND id <> ${kept ?? ""}`
        if (kept !== undefined) {
          yield* sql`UPDATE dashboard_sessions SET epoch = ${row.sign_in_epoch}
            WHERE user_id = ${row.id} AND id = ${kept}`
        }
        yield* audit.record(row.id, "user.password_changed", row.id, why)
        return row
      },
      sql.withTransaction,
      orUnavailable,
    )

    return Users.of({
      find,

      list: Effect.gen(function* () {
        return (yield* sql<Row>`SELECT * FROM users ORDER BY created_at, id`).map(show)
      }).pipe(orUnavailable),

      create: Effect.fnUntraced(function* (wanted) {
        const problem = problemOf(wanted)
        if (problem !== undefined) return yield* problem
        // Before the transaction, which must not wait for it.
        const hash = wanted.password === undefined ? null : yield* hashPassword(wanted.password)
        return yield* insert(wanted, hash)
      }),

      rename: Effect.fnUntraced(function* (id, name) {
        const [row] = yield* sql<Row>`UPDATE users SET name = ${name} WHERE id = ${id} RETURNING *`
        if (row === undefined) return yield* noSuchUser()
        yield* keys.clear
        return show(row)
      }, orUnavailable),

      setDisabled: Effect.fnUntraced(
        function* (id, disabled) {
          const ended = disabled ? 1 : 0
          const rows = yield* sql<Row>`UPDATE users
            SET disabled = ${ended}, sign_in_epoch = sign_in_epoch + ${ended} WHERE id = ${id} RETURNING *`
          if (rows.length === 0) return yield* noSuchUser()
          if (disabled) yield* sql`DELETE FROM dashboard_sessions WHERE user_id = ${id}`
          yield* audit.record(id, disabled ? "user.disabled" : "user.enabled", id, rows[0]?.name ?? "")
        },
        sql.withTransaction,
        Effect.tap(() => keys.clear),
        orUnavailable,
      ),

      account: Effect.fnUntraced(function* (email) {
        const [row] = yield* sql<Row>`SELECT * FROM users WHERE email = ${normal(email)}`
        return row && accountOf(row)
      }, orUnavailable),

      setPassword: Effect.fnUntraced(function* (id, password, why) {
        const problem = passwordProblem(password)
        if (problem !== undefined) return yield* problem
        const changed = yield* replacePassword(sql`id = ${id}`, yield* hashPassword(password), undefined, why)
        if (changed === undefined) return yield* noSuchUser()
      }),

      changePassword: Effect.fnUntraced(function* ({ passwordHash, user }, password, kept) {
        const problem = passwordProblem(password)
        if (problem !== undefined) return yield* problem
        const old = passwordHash === null ? null : Redacted.value(passwordHash)
        const same = sql`id = ${user.id} AND password_hash = ${old}`
        const why = "by its user; other sign-ins were ended"
        const changed = yield* replacePassword(same, yield* hashPassword(password), kept, why)
        if (changed === undefined) {
          return yield* refuse("invalid", "PASSWORD_WRONG", "the current password was changed meanwhile")
        }
        return accountOf(changed)
      }),
    })
  }),
)
