/** Implements the commands of `key.ts`. */
import { Clock, Console, Effect, Option } from "effect"
import type { ApiKey, KeyChange, KeyScope, Permission } from "../../platform/keys/ApiKey.ts"
import { ApiKeys } from "../../platform/keys/ApiKeys.ts"
import { type Refused, refuse } from "../../platform/model.ts"
import { Users } from "../../platform/users/Users.ts"
import { idOf, reportFailure, type Storage, withServices } from "./run.ts"

interface OfUser extends Storage {
  readonly email: string
  readonly json: boolean
}

/** Runs with the keys of the user who has the e-mail address. */
const withKeys = <A, E>(input: OfUser, use: (keys: ApiKeys["Service"], userId: string) => Effect.Effect<A, E>) =>
  withServices(
    input,
    Effect.gen(function* () {
      const userId = yield* idOf(yield* Users, input.email)
      return yield* use(yield* ApiKeys, userId)
    }),
  )

const stateOf = ({ expiresAt, revokedAt }: ApiKey, now: number): string => {
  if (revokedAt !== null) return "revoked"
  return expiresAt !== null && expiresAt <= now ? "expired" : "works"
}

/** Tab-separated: id, display, state, scope, permissions, user management, name. */
const lineOf = (key: ApiKey, now: number): string =>
  [
    key.id,
    key.display,
    stateOf(key, now),
    key.scope.type === "Unrestricted" ? "unrestricted" : `restricted: ${key.scope.businessIds.join(", ")}`,
    key.permissions.join(", "),
    key.userManagement ? "user management" : "-",
    key.name,
  ].join("\t")

const print = Effect.fnUntraced(function* (key: ApiKey, json: boolean) {
  yield* Console.log(json ? JSON.stringify(key, null, 2) : lineOf(key, yield* Clock.currentTimeMillis))
})

/** Prints one line per key, newest first, or one JSON document. */
export const listKeys = (input: OfUser) =>
  reportFailure(
    Effect.gen(function* () {
      const keys = yield* withKeys(input, ({ list }, userId) => list(userId))
      if (input.json) return yield* Console.log(JSON.stringify(keys, null, 2))
      const now = yield* Clock.currentTimeMillis
      yield* Effect.forEach(keys, (key) => Console.log(lineOf(key, now)), { discard: true })
    }),
  )

interface Changes {
  readonly name: Option.Option<string>
  readonly scope: Option.Option<"unrestricted" | "restricted">
  readonly business: ReadonlyArray<string>
  readonly permission: ReadonlyArray<Permission>
  readonly userManagement: Option.Option<"on" | "off">
}

const invalid = (message: string) => refuse("invalid", "CHANGE_INVALID", message)

/** The scope that the flags ask for; undefined when they ask for none. */
const scopeOf = ({ business, scope }: Changes): Effect.Effect<KeyScope | undefined, Refused> => {
  const wanted = Option.getOrUndefined(scope)
  if (wanted === "unrestricted") {
    return business.length === 0
      ? Effect.succeed({ type: "Unrestricted" })
      : Effect.fail(invalid("--scope unrestricted: Expected no --business, which restricts the key."))
  }
  if (business.length > 0) return Effect.succeed({ type: "Restricted", businessIds: business })
  return wanted === undefined
    ? Effect.undefined
    : Effect.fail(invalid("--scope restricted: Expected at least one --business."))
}

const changeOf = Effect.fnUntraced(function* (input: Changes) {
  const scope = yield* scopeOf(input)
  const change: KeyChange = {
    ...(Option.isSome(input.name) && { name: input.name.value }),
    ...(scope !== undefined && { scope }),
    ...(input.permission.length > 0 && { permissions: input.permission }),
    ...(Option.isSome(input.userManagement) && { userManagement: input.userManagement.value === "on" }),
  }
  if (Object.keys(change).length > 0) return change
  return yield* invalid("nothing to change: Expected --name, --scope, --business, --permission or --user-management.")
})

interface OfKey extends OfUser {
  readonly key: string
}

/** Prints the key as it is now. */
export const changeKey = (input: OfKey & Changes) =>
  reportFailure(
    Effect.gen(function* () {
      const change = yield* changeOf(input)
      const changed = yield* withKeys(input, (keys, userId) => keys.change(userId, input.key, change))
      yield* print(changed, input.json)
    }),
  )

/** Prints the key as it is now. */
export const revokeKey = (input: OfKey) =>
  reportFailure(
    Effect.gen(function* () {
      const revoked = yield* withKeys(input, (keys, userId) => keys.revoke(userId, input.key))
      yield* print(revoked, input.json)
    }),
  )
