/**
 * API keys: created with a name, a scope and permissions, shown once, listed without their secret, revoked permanently. The
 * database stores only a digest and a display form.
 */
import { randomUUID } from "node:crypto"
import { Array as Arr, Clock, Context, DateTime, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "../Audit.ts"
import { type DatabaseUnavailable, orUnavailable } from "../data/Database.ts"
import { type FieldProblem, type Principal, type Refused, refuse, refuseProblems } from "../model.ts"
import type { ApiKey, KeyChange, KeyScope, NewApiKey } from "./ApiKey.ts"
import { addressProblem, cleanAddresses } from "./KeyAddresses.ts"
import { KeyCache } from "./KeyCache.ts"
import { columnsOf, type KeyRow, newRow, show } from "./KeyRow.ts"
import { digestSecret, displaySecret, mintSecret, sameDigest } from "./KeySecret.ts"

/** The longest name of a key, in UTF-16 units. */
const MAX_KEY_NAME = 100
/** The longest time that two secrets of a key work, in milliseconds: 30 days. */
export const MAX_OVERLAP_MILLIS = 30 * 86_400_000
/** how precise `lastUsedAt` is, in milliseconds */
const LAST_USED_PRECISION_MILLIS = 60_000

export class ApiKeys extends Context.Service<
  ApiKeys,
  {
    /** Creates a key and returns its secret, which cannot be read again. */
    readonly create: (
      userId: string,
      wanted: NewApiKey,
    ) => Effect.Effect<
      { readonly key: ApiKey; readonly secret: Redacted.Redacted<string> },
      Refused | DatabaseUnavailable
    >
    /** All keys of a user, newest first, including revoked ones. */
    readonly list: (userId: string) => Effect.Effect<ReadonlyArray<ApiKey>, DatabaseUnavailable>
    /**
     * Changes the name, the scope, the permissions, user management, the addresses or the expiry of a key. This applies in this
     * process at once, in others within `FRESH_MILLIS`. Fails for a revoked key, and says so when the key has expired and its expiry
     * was to be moved.
     */
    readonly change: (
      userId: string,
      keyId: string,
      change: KeyChange,
    ) => Effect.Effect<ApiKey, Refused | DatabaseUnavailable>
    /**
     * Gives a key a new secret. The previous secret works until `previousUntil` (ms since 1970, at most `MAX_OVERLAP_MILLIS` from
     * now), or no longer if that is null; one from an earlier rotation ends at once. Fails for a revoked or expired key.
     */
    readonly rotate: (
      userId: string,
      keyId: string,
      previousUntil: number | null,
    ) => Effect.Effect<
      { readonly key: ApiKey; readonly secret: Redacted.Redacted<string> },
      Refused | DatabaseUnavailable
    >
    /** This process refuses it at once, others within `FRESH_MILLIS`. Idempotent. */
    readonly revoke: (userId: string, keyId: string) => Effect.Effect<ApiKey, Refused | DatabaseUnavailable>
    /** Records in the audit log that a key was refused because of the client's address. */
    readonly recordAddressRefused: (caller: Principal, address: string) => Effect.Effect<void, DatabaseUnavailable>
    /** Undefined when there is none, or it is revoked. */
    readonly lookUp: (digest: string) => Effect.Effect<Principal | undefined, DatabaseUnavailable>
    readonly markUsed: (keyId: string) => Effect.Effect<void, DatabaseUnavailable>
  }
>()("voicegate/platform/ApiKeys") {}

const describe = (key: ApiKey): string => {
  const scope = key.scope.type === "Restricted" ? `restricted to ${key.scope.businessIds.join(", ")}` : "unrestricted"
  const may = `may ${key.permissions.join(", ")}`
  const from = key.allowedAddresses.length === 0 ? "" : `, from ${key.allowedAddresses.join(", ")}`
  return `${key.name} (${key.display}), ${scope}, ${may}${key.userManagement ? ", with user management" : ""}${from}`
}

const noSuchKey = () => refuse("not_found", "KEY_NOT_FOUND", "no such key")

const OVER = { expired: "this key has expired", revoked: "this key was revoked" }
/** An owner sees ended keys in the list, so the reason is no secret. */
const keyOver = (how: keyof typeof OVER) =>
  refuse("conflict", `KEY_${how.toUpperCase()}`, `${OVER[how]}, which cannot be undone: create a new key`)

/** Every problem of the given fields, without database checks. */
const problemsOf = (
  { allowedAddresses, expiresAt, name, permissions, scope }: KeyChange,
  now: number,
): ReadonlyArray<FieldProblem> => {
  const problems: Array<FieldProblem> = []
  const add = (field: string, code: string, message: string) => problems.push({ field, code, message })
  if (name !== undefined && (name.trim() === "" || name.length > MAX_KEY_NAME)) {
    add("name", "NAME_INVALID", `the name of the key: Expected 1 to ${MAX_KEY_NAME} characters.`)
  }
  if (scope?.type === "Restricted" && scope.businessIds.length === 0) {
    add("scope", "BUSINESSES_REQUIRED", "select at least one business")
  }
  if (permissions?.length === 0) add("permissions", "PERMISSIONS_REQUIRED", "select at least one permission")
  if (typeof expiresAt === "number" && expiresAt <= now) {
    add("expiresAt", "EXPIRY_INVALID", "the expiry of the key: Expected a future time.")
  }
  const wrongAddress = allowedAddresses && addressProblem(cleanAddresses(allowedAddresses))
  if (wrongAddress !== undefined) add("allowedAddresses", "ADDRESSES_INVALID", wrongAddress)
  return problems
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

    /** The businesses of a scope, each of which the user owns; none for an unrestricted one. */
    const ownedBusinesses = Effect.fnUntraced(function* (userId: string, scope: KeyScope) {
      const businessIds = scope.type === "Restricted" ? [...new Set(scope.businessIds)] : []
      if (businessIds.length === 0) return businessIds
      const owned = yield* sql<{ id: string }>`
        SELECT id FROM businesses WHERE user_id = ${userId} AND ${sql.in("id", businessIds)}`
      return owned.length === businessIds.length
        ? businessIds
        : yield* refuse("not_found", "BUSINESS_NOT_FOUND", "a listed business does not exist")
    })

    const listBusinesses = Effect.fnUntraced(function* (keyId: string, businessIds: ReadonlyArray<string>) {
      const listed = businessIds.map((business_id) => ({ key_id: keyId, business_id }))
      if (Arr.isArrayNonEmpty(listed)) yield* sql`INSERT INTO api_key_businesses ${sql.insert(listed)}`
    })

    /** Why a key of the user could not be changed. */
    const whyNot = Effect.fnUntraced(function* (userId: string, keyId: string) {
      const [row] = yield* sql<{ revoked_at: number | null }>`
        SELECT revoked_at FROM api_keys WHERE id = ${keyId} AND user_id = ${userId}`
      if (row === undefined) return noSuchKey()
      return keyOver(row.revoked_at === null ? "expired" : "revoked")
    })

    const create = Effect.fnUntraced(function* (userId: string, wanted: NewApiKey) {
      const now = yield* Clock.currentTimeMillis
      yield* refuseProblems(problemsOf(wanted, now))
      const businessIds = yield* ownedBusinesses(userId, wanted.scope)
      const secret = mintSecret()
      const row = newRow(
        {
          id: randomUUID(),
          user_id: userId,
          digest: digestSecret(Redacted.value(secret)),
          display: displaySecret(Redacted.value(secret)),
          created_at: now,
        },
        wanted,
      )
      yield* sql`INSERT INTO api_keys ${sql.insert({ ...row })}`
      yield* listBusinesses(row.id, businessIds)
      const key = show(row, businessIds)
      yield* audit.record(userId, "api_key.created", key.id, describe(key))
      return { key, secret }
    })

    const list = Effect.fnUntraced(function* (userId: string) {
      const rows =
        yield* sql<KeyRow>`SELECT * FROM api_keys WHERE user_id = ${userId} ORDER BY created_at DESC, id DESC`
      const businesses = yield* businessesOf(rows.map(({ id }) => id))
      return rows.map((row) => show(row, businesses.get(row.id) ?? []))
    })

    const change = Effect.fnUntraced(function* (userId: string, keyId: string, wanted: KeyChange) {
      const { expiresAt, scope } = wanted
      const now = yield* Clock.currentTimeMillis
      yield* refuseProblems(problemsOf(wanted, now))
      const businessIds = scope && (yield* ownedBusinesses(userId, scope))
      // a column is set to itself when nothing else is given, so that there is one statement
      const columns = columnsOf(wanted)
      const isChange = Object.keys(columns).length > 0
      const [row] = yield* sql<KeyRow>`
        UPDATE api_keys SET ${isChange ? sql.update({ ...columns }) : sql`name = name`}
        WHERE id = ${keyId} AND user_id = ${userId} AND revoked_at IS NULL
          ${expiresAt === undefined ? sql`` : sql`AND (expires_at IS NULL OR expires_at > ${now})`} RETURNING *`
      if (row === undefined) return yield* yield* whyNot(userId, keyId)
      if (businessIds !== undefined) {
        yield* sql`DELETE FROM api_key_businesses WHERE key_id = ${row.id}`
        yield* listBusinesses(row.id, businessIds)
      }
      const key = show(row, (yield* businessesOf([row.id])).get(row.id) ?? [])
      yield* audit.record(userId, "api_key.changed", key.id, describe(key))
      return key
    })

    const rotate = Effect.fnUntraced(function* (userId: string, keyId: string, previousUntil: number | null) {
      const now = yield* Clock.currentTimeMillis
      if (previousUntil !== null && (previousUntil <= now || previousUntil > now + MAX_OVERLAP_MILLIS)) {
        return yield* refuse(
          "invalid",
          "OVERLAP_INVALID",
          "the end of the previous secret: Expected a time within 30 days.",
        )
      }
      const secret = mintSecret()
      const [row] = yield* sql<KeyRow>`
        UPDATE api_keys SET
          previous_digest = ${previousUntil === null ? sql`NULL` : sql`digest`}, previous_until = ${previousUntil},
          digest = ${digestSecret(Redacted.value(secret))}, display = ${displaySecret(Redacted.value(secret))}
        WHERE id = ${keyId} AND user_id = ${userId} AND revoked_at IS NULL
          AND (expires_at IS NULL OR expires_at > ${now}) RETURNING *`
      if (row === undefined) return yield* yield* whyNot(userId, keyId)
      const key = show(row, (yield* businessesOf([row.id])).get(row.id) ?? [])
      const overlap =
        previousUntil === null
          ? "the previous secret has ended"
          : `the previous secret works until ${DateTime.formatIso(DateTime.makeUnsafe(previousUntil))}`
      yield* audit.record(userId, "api_key.rotated", key.id, `${key.name} (${key.display}), ${overlap}`)
      return { key, secret }
    })

    const revoke = Effect.fnUntraced(function* (userId: string, keyId: string) {
      const now = yield* Clock.currentTimeMillis
      const [ended] = yield* sql<KeyRow>`
        UPDATE api_keys SET revoked_at = ${now}
        WHERE id = ${keyId} AND user_id = ${userId} AND revoked_at IS NULL RETURNING *`
      const [row] =
        ended === undefined
          ? yield* sql<KeyRow>`SELECT * FROM api_keys WHERE id = ${keyId} AND user_id = ${userId}`
          : [ended]
      if (row === undefined) return yield* noSuchKey()
      const key = show(row, (yield* businessesOf([row.id])).get(row.id) ?? [])
      if (ended !== undefined) yield* audit.record(userId, "api_key.revoked", key.id, describe(key))
      return key
    })

    const lookUp = Effect.fnUntraced(function* (digest: string) {
      const [row] = yield* sql<KeyRow & UserColumns>`
        SELECT k.*, u.email, u.name AS user_name, u.call_concurrency, u.disabled, u.created_at AS user_created_at
        FROM api_keys k JOIN users u ON u.id = k.user_id
        WHERE (k.digest = ${digest} OR k.previous_digest = ${digest}) AND k.revoked_at IS NULL`
      if (row === undefined) return undefined
      const isPrevious = row.previous_digest !== null && sameDigest(row.previous_digest, digest)
      if (!isPrevious && !sameDigest(row.digest, digest)) return undefined
      const businessIds = row.restricted === 0 ? [] : ((yield* businessesOf([row.id])).get(row.id) ?? [])
      const user = {
        id: row.user_id,
        email: row.email,
        name: row.user_name,
        callConcurrency: row.call_concurrency,
        disabled: row.disabled !== 0,
        createdAt: row.user_created_at,
      }
      const key = show(row, businessIds)
      // a secret that was replaced expires with its overlap, or with the key
      const expiresAt = isPrevious ? Math.min(row.previous_until ?? 0, key.expiresAt ?? Infinity) : key.expiresAt
      return { key: { ...key, expiresAt }, user } satisfies Principal
    })

    return ApiKeys.of({
      create: (userId, wanted) => create(userId, wanted).pipe(sql.withTransaction, orUnavailable),
      list: (userId) => orUnavailable(list(userId)),
      rotate: (userId, keyId, previousUntil) =>
        rotate(userId, keyId, previousUntil).pipe(
          sql.withTransaction,
          Effect.tap(() => cache.clear),
          orUnavailable,
        ),
      change: (userId, keyId, wanted) =>
        change(userId, keyId, wanted).pipe(
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
      recordAddressRefused: ({ key, user }, address) =>
        orUnavailable(
          audit.record(user.id, "api_key.address_refused", key.id, `${key.name} (${key.display}), from ${address}`),
        ),
      lookUp: (digest) => orUnavailable(lookUp(digest)),
      markUsed: Effect.fnUntraced(function* (keyId) {
        const now = yield* Clock.currentTimeMillis
        // Only one of several processes writes.
        yield* sql`UPDATE api_keys SET last_used_at = ${now}, first_used_at = COALESCE(first_used_at, last_used_at, ${now})
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
