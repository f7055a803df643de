/** The people who own businesses and keys. A user is known by an e-mail address, and signs in with it when it has a password. */
import { randomUUID } from "node:crypto"
import { Clock, Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "./Audit.ts"
import { type DatabaseUnavailable, orUnavailable } from "./data/Database.ts"
import { DEFAULT_CALL_CONCURRENCY } from "./defaults.ts"
import { KeyCache } from "./KeyCache.ts"
import { type Refused, refuse, type User } from "./model.ts"
import { hashPassword, MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH, verifyPassword } from "./Passwords.ts"

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
    readonly rename: (id: string, name: string) => Effect.Effect<User, Refused | DatabaseUnavailable>
    /** The user's keys are refused from now on: here at once, elsewhere within the time of the key cache. */
    readonly setDisabled: (id: string, disabled: boolean) => Effect.Effect<void, Refused | DatabaseUnavailable>
    /** Who signs in; one answer, and one duration, for every wrong pair. */
    readonly signIn: (
      email: string,
      password: Redacted.Redacted<string>,
    ) => Effect.Effect<User, Refused | DatabaseUnavailable>
  }
>()("voicegate/platform/Users") {}

interface Row {
  readonly id: string
  readonly email: string | null
  readonly name: string
  readonly password_hash: string | null
  readonly call_concurrency: number
  readonly disabled: number
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

const problemOf = ({ email, password }: NewUser): Refused | undefined => {
  if (email !== undefined && !/^[^\s@]+@[^\s@]+$/.test(email.trim())) {
    return refuse("invalid", "EMAIL_INVALID", "the e-mail address: Expected name@host.")
  }
  const length = password === undefined ? undefined : Redacted.value(password).length
  if (length !== undefined && (length < MIN_PASSWORD_LENGTH || length > MAX_PASSWORD_LENGTH)) {
    const expected = `${MIN_PASSWORD_LENGTH} to ${MAX_PASSWORD_LENGTH} characters`
    return refuse("invalid", "PASSWORD_INVALID", `the password: Expected ${expected}.`)
  }
  return undefined
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

    return Users.of({
      find,

      create: Effect.fnUntraced(
        function* (wanted) {
          const problem = problemOf(wanted)
          if (problem !== undefined) return yield* problem
          const row: Row = {
            id: wanted.id ?? randomUUID(),
            email: wanted.email === undefined ? null : normal(wanted.email),
            name: wanted.name,
            password_hash: wanted.password === undefined ? null : yield* hashPassword(wanted.password),
            call_concurrency: wanted.callConcurrency ?? DEFAULT_CALL_CONCURRENCY,
            disabled: 0,
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
      ),

      rename: Effect.fnUntraced(function* (id, name) {
        const [row] = yield* sql<Row>`UPDATE users SET name = ${name} WHERE id = ${id} RETURNING *`
        if (row === undefined) return yield* noSuchUser()
        yield* keys.clear
        return show(row)
      }, orUnavailable),

      setDisabled: Effect.fnUntraced(function* (id, disabled) {
        const rows = yield* sql<Row>`UPDATE users SET disabled = ${disabled ? 1 : 0} WHERE id = ${id} RETURNING *`
        yield* keys.clear
        if (rows.length === 0) return yield* noSuchUser()
      }, orUnavailable),

      signIn: Effect.fnUntraced(function* (email, password) {
        const [row] = yield* sql<Row>`SELECT * FROM users WHERE email = ${normal(email)}`
        const matches = yield* verifyPassword(password, row?.password_hash)
        if (row === undefined || !matches) {
          return yield* refuse("unauthenticated", "SIGN_IN_FAILED", "the e-mail address or the password is wrong")
        }
        if (row.disabled !== 0) return yield* refuse("forbidden", "USER_DISABLED", "this user is disabled")
        return show(row)
      }, orUnavailable),
    })
  }),
)
