/**
 * An API key without its secret, and what its owner can say of one: the dashboard's API and the service have the same schemas, which run in
 * the browser too. Times are milliseconds since 1970. Its row in the database is in `KeyRow.ts`.
 */
import { Effect, Schema } from "effect"
import { Text } from "../text.ts"

const Time = Schema.Int
const Id = Text.check(Schema.isBetweenLength(1, 256))

/** All businesses of the creating user, or the listed ones. An empty list is not the same as unrestricted, and is refused at creation. */
export const KeyScope = Schema.Union([
  Schema.Struct({ type: Schema.Literal("Unrestricted") }),
  Schema.Struct({
    type: Schema.Literal("Restricted"),
    businessIds: Schema.Array(Id).check(Schema.isMaxLength(1_000)),
  }),
])
export type KeyScope = typeof KeyScope.Type

/**
 * What a key may do in the businesses of its scope: `start` sessions and calls (and read what that needs), `read` everything,
 * `manage` (make, change and delete). No permission includes another. The endpoints at and below `/user` are open to a key by its
 * user management alone.
 */
export const PERMISSIONS = ["start", "read", "manage"] as const
export const Permission = Schema.Literals(PERMISSIONS)
export type Permission = typeof Permission.Type

const Permissions = Schema.Array(Permission).check(Schema.isMaxLength(3))

/** Addresses and CIDRs; `KeyAddresses.ts` checks them. */
const Addresses = Schema.Array(Text.check(Schema.isMaxLength(64))).check(Schema.isMaxLength(100))

export const ApiKey = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  /** prefix and last four characters of the secret */
  display: Schema.String,
  scope: KeyScope,
  /** at least one, in the order of `PERMISSIONS` */
  permissions: Permissions,
  /** whether the key may use the endpoints at and below `/user` */
  userManagement: Schema.Boolean,
  createdAt: Time,
  expiresAt: Schema.NullOr(Time),
  /** precise to a minute */
  lastUsedAt: Schema.NullOr(Time),
  revokedAt: Schema.NullOr(Time),
  /** until when the secret before the last rotation works or worked; null if there is none */
  previousSecretUntil: Schema.NullOr(Time),
  /** addresses and CIDRs from which the key may be used; empty for any */
  allowedAddresses: Schema.Array(Schema.String),
})
export type ApiKey = typeof ApiKey.Type

export const NewApiKey = Schema.Struct({
  name: Text.check(Schema.isMaxLength(256)),
  scope: KeyScope,
  /** all by default, so that they narrow nothing; an empty list is refused */
  permissions: Permissions.pipe(Schema.withDecodingDefaultKey(Effect.succeed<ReadonlyArray<Permission>>(PERMISSIONS))),
  /** off by default */
  userManagement: Schema.Boolean.pipe(Schema.withDecodingDefaultKey(Effect.succeed(false))),
  /** by default it does not expire */
  expiresAt: Schema.NullOr(Time).pipe(Schema.withDecodingDefaultKey(Effect.succeed(null))),
  /** by default it may be used from any address */
  allowedAddresses: Addresses.pipe(Schema.withDecodingDefaultKey(Effect.succeed<ReadonlyArray<string>>([]))),
})
/** As a program gives it, with the defaults left out. */
export type NewApiKey = typeof NewApiKey.Encoded

/**
 * The key's new name, scope, permissions (at least one), user management, addresses (empty for any) and expiry (a future time, or null for
 * never), which replace the old; what is absent stays. The expiry of a key that has expired is not changed.
 */
export const KeyChange = Schema.Struct({
  name: Schema.optionalKey(Text.check(Schema.isMaxLength(256))),
  scope: Schema.optionalKey(KeyScope),
  permissions: Schema.optionalKey(Permissions),
  userManagement: Schema.optionalKey(Schema.Boolean),
  allowedAddresses: Schema.optionalKey(Addresses),
  expiresAt: Schema.optionalKey(Schema.NullOr(Time)),
})
export type KeyChange = typeof KeyChange.Type

/** Until when the present secret still works, at most 30 days; null ends it at once. */
export const KeyRotation = Schema.Struct({ previousUntil: Schema.NullOr(Time) })

/** The only answer that contains the secret. */
export const CreatedApiKey = Schema.Struct({ key: ApiKey, secret: Schema.String })
export type CreatedApiKey = typeof CreatedApiKey.Type
