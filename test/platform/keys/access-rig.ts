/** One or more processes of the platform on one database, for tests of who may access what. */
import { Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "../../../src/platform/Audit.ts"
import { Businesses } from "../../../src/platform/businesses/Businesses.ts"
import * as Access from "../../../src/platform/keys/Access.ts"
import { ApiKeys } from "../../../src/platform/keys/ApiKeys.ts"
import type { Limits } from "../../../src/platform/keys/Budgets.ts"
import { Users } from "../../../src/platform/users/Users.ts"
import { type Engine, servicesOf } from "../engines.ts"
import { prepare } from "../support.ts"

export const unlimited = { requestsPerMinute: 0, startsPerMinute: 0 }

/** One platform's services and its access; built again, it is another process on the same database. */
export const process = Effect.fnUntraced(function* (database: Redacted.Redacted<string>, limits: Limits = unlimited) {
  const context = yield* Layer.build(Layer.fresh(Access.layer(limits).pipe(Layer.provideMerge(servicesOf(database)))))
  const access = Context.get(context, Access.Access)
  const authenticate = (secret: Redacted.Redacted<string>, address = "192.0.2.1") =>
    access.authenticate(Redacted.value(secret), address)
  return {
    access,
    authenticate,
    accessBusiness: (secret: Redacted.Redacted<string>, businessId: string) =>
      Effect.flatMap(authenticate(secret), (caller) => access.business(caller, businessId)),
    apiKeys: Context.get(context, ApiKeys),
    businesses: Context.get(context, Businesses),
    users: Context.get(context, Users),
    audit: Context.get(context, Audit),
    sql: Context.get(context, SqlClient.SqlClient),
    makeKeys: Effect.map(Effect.provideContext(prepare(), context), ({ keys }) => keys),
  }
})

/** The code of a refusal. */
export const codeOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => ("code" in error ? error.code : error._tag))

/** A process on an engine's fresh database, with its keys. */
export const startedOn = Effect.fnUntraced(function* (engine: Engine, limits?: Limits) {
  const database = yield* engine.database
  const first = yield* process(database, limits)
  const keys = yield* first.makeKeys
  return { ...first, database, keys }
})
