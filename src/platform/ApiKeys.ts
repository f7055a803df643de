/**
 * API keys: created with a name, a scope and permissions, shown once, listed without their secret, revoked permanently. The
 * database stores only a digest and a display form.
 */
import { randomUUID } from "node:crypto"
import { Array as Arr, Clock, Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "./Audit.ts"
import { type DatabaseUnavailable, orUnavailable } from "./data/Database.ts"
import { KeyCache } from "./KeyCache.ts"
import { digestSecret, displaySecret, mintSecret, sameDigest } from "./KeySecret.ts"
import {
  type ApiKey,
  type KeyScope,
  PERMISSIONS,
  type Permission,
  type Principal,
  type Refused,
  refuse,
} from "./model.ts"

/** The longest name of a key, in UTF-16 units. */
export const MAX_KEY_NAME = 100
/** how precise `lastUsedAt` is, in milliseconds */
const LAST_USED_PRECISION_MILLIS = 60_000

export interface NewKey {
  readonly name: string
  readonly scope: KeyScope
  /** at least one */
  readonly permissions: ReadonlyArray<Permission>
  /** off by default */
  readonly userManagement?: boolean
  readonly expiresAt?: number | null
}

export class ApiKeys extends Context.Service<
  ApiKeys,
  {
    /** Creates a key and returns its secret, which cannot be read again. */
    readonly create: (
      userId: string,
      wanted: NewKey,
    ) => Effect.Effect<
      { readonly key: ApiKey; readonly secret: Redacted.Redacted<string> },
      Refused | DatabaseUnavailable
    >
    /** All keys of a user, newest first, including revoked ones. */
    readonly list: (userId: string) => Effect.Effect<ReadonlyArray<ApiKey>, DatabaseUnavailable>
    /**
     * Sets the permissions of a key, at least one. They apply in this process at once, in others within `FRESH_MILLIS`.
     * Fails for a revoked key.
     */
    readonly setPermissions: (
      userId: string,
      keyId: string,
      permissions: ReadonlyArray<Permission>,
    ) => Effect.Effect<ApiKey, Refused | DatabaseUnavailable>
    /** Revokes a key: this process refuses it at once, others within `FRESH_MILLIS`. Idempotent. */
    readonly revoke: (userId: string, keyId: string) => Effect.Effect<ApiKey, Refused | DatabaseUnavailable>
    /** The user and key of a digest in the database; undefined when there is none, or it is revoked. */
    readonly lookUp: (digest: string) => Effect.Effect<Principal | undefined, DatabaseUnavailable>
    /** Records that a key was used. */
    readonly markUsed: (keyId: string) => Effect.Effect<void, DatabaseUnavailable>
  }
>()("voicegate/platform/ApiKeys") {}

interface Row {
  readonly id: string
  readonly user_id: string
  readonly name: string
  readonly digest: string
  readonly display: string
  readonly restricted: number
  readonly may_start: number
  readonly may_read: number
  readonly may_manage: number
  readonly user_management: number
  readonly created_at: number
  readonly expires_at: number | null
  readonly last_used_at: number | null
  readonly revoked_at: number | null
}

const permissionsOf = ({ may_manage, may_read, may_start }: Row): ReadonlyArray<Permission> => {
  const may = { start: may_start, read: may_read, manage: may_manage }
  return PERMISSIONS.filter((each) => may[each] !== 0)
}

/** The database columns of permissions. */
const columnsOf = (permissions: ReadonlyArray<Permission>) => ({
  may_start: permissions.includes("start") ? 1 : 0,
  may_read: permissions.includes("read") ? 1 : 0,
  may_manage: permissions.includes("manage") ? 1 : 0,
})

const show = (row: Row, businessIds: ReadonlyArray<string>): ApiKey => ({
  id: row.id,
  userId: row.user_id,
  name: row.name,
  display: row.display,
  scope: row.restricted === 0 ? { type: "Unrestricted" } : { type: "Restricted", businessIds },
  permissions: permissionsOf(row),
  userManagement: row.user_management !== 0,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  lastUsedAt: row.last_used_at,
  revokedAt: row.revoked_at,
})

const describe = (key: ApiKey): string => {
  const scope = key.scope.type === "Restricted" ? `restricted to ${key.scope.businessIds.join(", ")}` : "unrestricted"
  const may = `may ${key.permissions.join(", ")}`
  return `${key.name} (${key.display}), ${scope}, ${may}${key.userManagement ? ", with user management" : ""}`
}

const noPermission = () => refuse("invalid", "PERMISSIONS_REQUIRED", "a key needs at least one permission")
const noSuchKey = () => refuse("not_found", "KEY_NOT_FOUND", "no such key")

/** The first problem of the key itself, without database checks. */
const problemOf = ({ expiresAt, name, permissions, scope }: NewKey, now: number): Refused | undefined => {
  if (name.trim() === "" || name.length > MAX_KEY_NAME) {
    return refuse("invalid", "NAME_INVALID", `the name of the key: Expected 1 to ${MAX_KEY_NAME} characters.`)
  }
  if (scope.type === "Restricted" && scope.businessIds.length === 0) {
    return refuse("invalid", "BUSINESSES_REQUIRED", "a restricted key needs at least one business")
  }
  if (permissions.length === 0) return noPermission()
  if (typeof expiresAt === "number" && expiresAt <= now) {
    return refuse("invalid", "EXPIRY_INVALID", "the expiry of the key: Expected a future time.")
  }
  return undefined
}

export const layer: Layer.Layer<ApiKeys, never, SqlClient.SqlClient | Audit | KeyCache> = Layer.effect(
  ApiKeys,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const audit = yield* Audit
    const cache = yield* KeyCache

    const businessesOf = Effect.fnUntraced(function* (keyIds: ReadonlyArray<string>) {
      if (keyIds.length === 0) return new Map<string, ReadonlyArray<string>>()
      const rows = yield* sql<{ key_id: string; business_id: string }>`
        SELECT key_id, business_id FROM api_key_businesses WHERE ${sql.in("key_id", keyIds)} ORDER BY business_id`
      const grouped = Map.groupBy(rows, ({ key_id }) => key_id)
      return new Map([...grouped].map(([key, listed]) => [key, listed.map(({ business_id }) => business_id)]))
    })

    const create = Effect.fnUntraced(function* (userId: string, wanted: NewKey) {
      const now = yield* Clock.currentTimeMillis
      const problem = problemOf(wanted, now)
      if (problem !== undefined) return yield* problem
      const businessIds = wanted.scope.type === "Restricted" ? [...new Set(wanted.scope.businessIds)] : []
      if (businessIds.length > 0) {
        const owned = yield* sql<{ id: string }>`
          SELECT id FROM businesses WHERE user_id = ${userId} AND ${sql.in("id", businessIds)}`
        if (owned.length !== businessIds.length) {
          return yield* refuse("not_found", "BUSINESS_NOT_FOUND", "a listed business does not exist")
        }
      }
      const secret = mintSecret()
      const row: Row = {
        id: randomUUID(),
        user_id: userId,
        name: wanted.name.trim(),
        digest: digestSecret(Redacted.value(secret)),
        display: displaySecret(Redacted.value(secret)),
        restricted: wanted.scope.type === "Restricted" ? 1 : 0,
        ...columnsOf(wanted.permissions),
        user_management: wanted.userManagement === true ? 1 : 0,
        created_at: now,
        expires_at: wanted.expiresAt ?? null,
        last_used_at: null,
        revoked_at: null,
      }
      yield* sql`INSERT INTO api_keys ${sql.insert({ ...row })}`
      const listed = businessIds.map((business_id) => ({ key_id: row.id, business_id }))
      if (Arr.isArrayNonEmpty(listed)) yield* sql`INSERT INTO api_key_businesses ${sql.insert(listed)}`
      const key = show(row, businessIds)
      yield* audit.record(userId, "api_key.created", key.id, describe(key))
      return { key, secret }
    })

    const list = Effect.fnUntraced(function* (userId: string) {
      const rows = yield* sql<Row>`SELECT * FROM api_keys WHERE user_id = ${userId} ORDER BY created_at DESC, id DESC`
      const businesses = yield* businessesOf(rows.map(({ id }) => id))
      return rows.map((row) => show(row, businesses.get(row.id) ?? []))
    })

    const permit = Effect.fnUntraced(function* (userId: string, keyId: string, permissions: ReadonlyArray<Permission>) {
      if (permissions.length === 0) return yield* noPermission()
      const [row] = yield* sql<Row>`
        UPDATE api_keys SET ${sql.update(columnsOf(permissions))}
        WHERE id = ${keyId} AND user_id = ${userId} AND revoked_at IS NULL RETURNING *`
      if (row === undefined) return yield* noSuchKey()
      const key = show(row, (yield* businessesOf([row.id])).get(row.id) ?? [])
      yield* audit.record(userId, "api_key.changed", key.id, describe(key))
      return key
    })

    const revoke = Effect.fnUntraced(function* (userId: string, keyId: string) {
      const now = yield* Clock.currentTimeMillis
      const [ended] = yield* sql<Row>`
        UPDATE api_keys SET revoked_at = ${now}
        WHERE id = ${keyId} AND user_id = ${userId} AND revoked_at IS NULL RETURNING *`
      const [row] =
        ended === undefined
          ? yield* sql<Row>`SELECT * FROM api_keys WHERE id = ${keyId} AND user_id = ${userId}`
          : [ended]
      if (row === undefined) return yield* noSuchKey()
      const key = show(row, (yield* businessesOf([row.id])).get(row.id) ?? [])
      if (ended !== undefined) yield* audit.record(userId, "api_key.revoked", key.id, describe(key))
      return key
    })

    const lookUp = Effect.fnUntraced(function* (digest: string) {
      const [row] = yield* sql<Row & UserColumns>`
        SELECT k.*, u.email, u.name AS user_name, u.call_concurrency, u.disabled, u.created_at AS user_created_at
        FROM api_keys k JOIN users u ON u.id = k.user_id
        WHERE k.digest = ${digest} AND k.revoked_at IS NULL`
      if (row === undefined || !sameDigest(row.digest, digest)) return undefined
      const businessIds = row.restricted === 0 ? [] : ((yield* businessesOf([row.id])).get(row.id) ?? [])
      const user = {
        id: row.user_id,
        email: row.email,
        name: row.user_name,
        callConcurrency: row.call_concurrency,
        disabled: row.disabled !== 0,
        createdAt: row.user_created_at,
      }
      return { key: show(row, businessIds), user } satisfies Principal
    })

    return ApiKeys.of({
      create: (userId, wanted) => create(userId, wanted).pipe(sql.withTransaction, orUnavailable),
      list: (userId) => orUnavailable(list(userId)),
      setPermissions: (userId, keyId, permissions) =>
        permit(userId, keyId, permissions).pipe(
          sql.withTransaction,
          Effect.tap(() => cache.clear),
          orUnavailable,
        ),
      revoke: (userId, keyId) =>
        revoke(userId, keyId).pipe(
          sql.withTransaction,
          Effect.tap(() => cache.clear),
          orUnavailable,
        ),
      lookUp: (digest) => orUnavailable(lookUp(digest)),
      markUsed: Effect.fnUntraced(function* (keyId) {
        const now = yield* Clock.currentTimeMillis
        // Only one of several processes writes.
        yield* sql`UPDATE api_keys SET last_used_at = ${now}
          WHERE id = ${keyId} AND (last_used_at IS NULL OR last_used_at <= ${now - LAST_USED_PRECISION_MILLIS})`
      }, orUnavailable),
    })
  }),
)

interface UserColumns {
  readonly email: string | null
  readonly user_name: string
  readonly call_concurrency: number
  readonly disabled: number
  readonly user_created_at: number
}
