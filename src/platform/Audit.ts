/** The audit log: who created, changed and revoked what. Written in the transaction of the action, never changed, without secrets. */
import { randomUUID } from "node:crypto"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type DatabaseUnavailable, orUnavailable } from "./data/Database.ts"
import { type Page, type PageRequest, page } from "./data/page.ts"
import type { Refused } from "./model.ts"

export interface AuditEntry {
  readonly id: string
  readonly userId: string
  /** `api_key.created`, `api_key.revoked`, `business.deleted` … */
  readonly action: string
  readonly subjectId: string
  /** a description for people */
  readonly detail: string
  readonly at: number
}

/** What an entry is about: the first part of its action. */
export type AuditSubject = "api_key" | "business" | "web_campaign" | "webhooks" | "user"

export class Audit extends Context.Service<
  Audit,
  {
    /** To be used inside the transaction of the action. */
    readonly record: (
      userId: string,
      action: `${AuditSubject}.${string}`,
      subjectId: string,
      detail: string,
    ) => Effect.Effect<void, SqlError.SqlError>
    /** Newest first; those about one kind of subject, if it is given. */
    readonly list: (
      userId: string,
      request: PageRequest,
      subject?: AuditSubject,
    ) => Effect.Effect<Page<AuditEntry>, Refused | DatabaseUnavailable>
  }
>()("voicegate/platform/Audit") {}

interface Row {
  readonly id: string
  readonly user_id: string
  readonly action: string
  readonly subject_id: string
  readonly detail: string
  readonly at: number
}

const show = ({ subject_id, user_id, ...rest }: Row): AuditEntry => ({
  ...rest,
  userId: user_id,
  subjectId: subject_id,
})

export const layer: Layer.Layer<Audit, never, SqlClient.SqlClient> = Layer.effect(
  Audit,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    return Audit.of({
      record: Effect.fnUntraced(function* (user_id, action, subject_id, detail) {
        const at = yield* Clock.currentTimeMillis
        yield* sql`INSERT INTO audit_entries ${sql.insert({ id: randomUUID(), user_id, action, subject_id, detail, at })}`
      }),
      list: Effect.fnUntraced(function* (userId, request, subject) {
        return yield* page(sql, request, {
          at: "at",
          where: [sql`user_id = ${userId}`, ...(subject === undefined ? [] : [sql`action LIKE ${`${subject}.%`}`])],
          rowsOf: ({ order, where }) => sql<Row>`SELECT * FROM audit_entries WHERE ${where} ${order}`,
          positionOf: ({ at, id }) => ({ at, id }),
          show,
        })
      }, orUnavailable),
    })
  }),
)
