/** Businesses of a user, their web campaigns, and the regions of the platform. */
import { randomUUID } from "node:crypto"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { oneForm } from "../../lib/visible-text.ts"
import { Audit } from "../Audit.ts"
import { lockUser } from "../calls/Concurrency.ts"
import { type DatabaseUnavailable, orUnavailable } from "../data/Database.ts"
import { KeyCache } from "../keys/KeyCache.ts"
import { type Business, type Refused, refuse } from "../model.ts"

export interface Region {
  readonly id: string
  readonly name: string
}

/** The longest name of a business or a campaign, in UTF-16 units. */
export const MAX_NAME = 200

export class Businesses extends Context.Service<
  Businesses,
  {
    /** Oldest first. */
    readonly list: (userId: string) => Effect.Effect<ReadonlyArray<Business>, DatabaseUnavailable>
    readonly find: (userId: string, id: string) => Effect.Effect<Business, Refused | DatabaseUnavailable>
    readonly create: (
      userId: string,
      wanted: { readonly id?: string; readonly name: string },
    ) => Effect.Effect<Business, Refused | DatabaseUnavailable>
    readonly rename: (
      userId: string,
      id: string,
      name: string,
    ) => Effect.Effect<Business, Refused | DatabaseUnavailable>
    /** Every key is refused access to a disabled business. */
    readonly setDisabled: (
      userId: string,
      id: string,
      disabled: boolean,
    ) => Effect.Effect<void, Refused | DatabaseUnavailable>
    /**
     * Deletes a business with its campaigns, sessions, calls and conversations, and removes it from keys; pending webhooks
     * stay in the outbox. Refused while calls of the business run.
     */
    readonly remove: (userId: string, id: string) => Effect.Effect<void, Refused | DatabaseUnavailable>
    readonly regions: Effect.Effect<ReadonlyArray<Region>, DatabaseUnavailable>
    readonly hasRegion: (id: string) => Effect.Effect<boolean, DatabaseUnavailable>
    /** Adds a region, or renames it. */
    readonly putRegion: (region: Region) => Effect.Effect<void, DatabaseUnavailable>
  }
>()("voicegate/platform/Businesses") {}

interface Row {
  readonly id: string
  readonly user_id: string
  readonly name: string
  readonly disabled: number
  readonly created_at: number
}

const show = (row: Row): Business => ({
  id: row.id,
  userId: row.user_id,
  name: row.name,
  disabled: row.disabled !== 0,
  createdAt: row.created_at,
})

/** Also for another user's business, so that its existence is not revealed. */
const noSuchBusiness = (): Refused => refuse("not_found", "BUSINESS_NOT_FOUND", "no such business")

/** Fails for a name that is empty or too long. */
export const checkName = (name: string): Effect.Effect<string, Refused> =>
  name.trim() === "" || name.length > MAX_NAME
    ? Effect.fail(refuse("invalid", "NAME_INVALID", `the name: Expected 1 to ${MAX_NAME} characters.`))
    : Effect.succeed(oneForm(name.trim()))

export const layer: Layer.Layer<Businesses, never, SqlClient.SqlClient | Audit | KeyCache> = Layer.effect(
  Businesses,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const audit = yield* Audit
    const keys = yield* KeyCache

    const remove = Effect.fnUntraced(function* (userId: string, id: string) {
      const now = yield* Clock.currentTimeMillis
      // No call can start between the check and the deletion.
      yield* lockUser(userId)
      const [running] = yield* sql<{ n: number }>`
        SELECT (SELECT count(*) FROM web_sessions WHERE business_id = ${id} AND ended_at IS NULL AND open_until > ${now})
             + (SELECT count(*) FROM calls WHERE business_id = ${id} AND completes_at > ${now}) AS n`
      const [row] = yield* sql<Row>`SELECT * FROM businesses WHERE id = ${id} AND user_id = ${userId}`
      if (row === undefined) return yield* noSuchBusiness()
      if (running !== undefined && running.n > 0) {
        return yield* refuse("conflict", "BUSINESS_IN_USE", "this business has calls in progress")
      }
      yield* sql`DELETE FROM businesses WHERE id = ${id}`
      yield* audit.record(userId, "business.deleted", id, row.name)
    })

    return Businesses.of({
      list: Effect.fnUntraced(function* (userId) {
        const rows = yield* sql<Row>`SELECT * FROM businesses WHERE user_id = ${userId} ORDER BY created_at, id`
        return rows.map(show)
      }, orUnavailable),

      find: Effect.fnUntraced(function* (userId, id) {
        const [row] = yield* sql<Row>`SELECT * FROM businesses WHERE id = ${id} AND user_id = ${userId}`
        return row === undefined ? yield* noSuchBusiness() : show(row)
      }, orUnavailable),

      create: Effect.fnUntraced(
        function* (userId, wanted) {
          const row: Row = {
            id: wanted.id ?? randomUUID(),
            user_id: userId,
            name: yield* checkName(wanted.name),
            disabled: 0,
            created_at: yield* Clock.currentTimeMillis,
          }
          yield* sql`INSERT INTO businesses ${sql.insert({ ...row })}`
          yield* audit.record(userId, "business.created", row.id, row.name)
          return show(row)
        },
        sql.withTransaction,
        orUnavailable,
      ),

      rename: Effect.fnUntraced(function* (userId, id, wanted) {
        const name = yield* checkName(wanted)
        const [row] = yield* sql<Row>`
          UPDATE businesses SET name = ${name} WHERE id = ${id} AND user_id = ${userId} RETURNING *`
        return row === undefined ? yield* noSuchBusiness() : show(row)
      }, orUnavailable),

      setDisabled: Effect.fnUntraced(function* (userId, id, disabled) {
        const rows = yield* sql<Row>`
          UPDATE businesses SET disabled = ${disabled ? 1 : 0} WHERE id = ${id} AND user_id = ${userId} RETURNING *`
        if (rows.length === 0) return yield* noSuchBusiness()
      }, orUnavailable),

      remove: (userId, id) =>
        remove(userId, id).pipe(
          Effect.provideService(SqlClient.SqlClient, sql),
          sql.withTransaction,
          Effect.andThen(keys.clear),
          orUnavailable,
        ),

      regions: orUnavailable(sql<Region>`SELECT id, name FROM regions ORDER BY id`),

      hasRegion: Effect.fnUntraced(function* (id) {
        return (yield* sql`SELECT 1 AS found FROM regions WHERE id = ${id}`).length > 0
      }, orUnavailable),

      putRegion: Effect.fnUntraced(function* ({ id, name }) {
        yield* sql`INSERT INTO regions ${sql.insert({ id, name })} ON CONFLICT (id) DO UPDATE SET name = ${name}`
      }, orUnavailable),
    })
  }),
)
