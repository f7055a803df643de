/**
 * Web campaigns of a business, each with its session-ended webhook. The webhook's headers and signing secret are encrypted in the
 * database and never shown again: reading a campaign reveals their names, not their values.
 */
import { randomUUID } from "node:crypto"
import { Clock, Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "../Audit.ts"
import { type DatabaseUnavailable, orUnavailable } from "../data/Database.ts"
import { Vault } from "../data/Vault.ts"
import { DEFAULT_MAX_CALL_MINUTES, MAX_CALL_MINUTES } from "../defaults.ts"
import { type Business, type Refused, refuse, type WebCampaign, type WebhookTarget } from "../model.ts"
import { WebhookRules } from "../webhooks/rules.ts"
import { checkName } from "./Businesses.ts"

export interface CampaignChange {
  readonly name?: string
  /** null removes it; replaces the whole target, so that secrets are never sent to a new address by accident */
  readonly sessionEnded?: WebhookTarget | null
  /** 1 to `MAX_CALL_MINUTES`; applies to sessions that start later */
  readonly maxCallMinutes?: number
}

export class WebCampaigns extends Context.Service<
  WebCampaigns,
  {
    /** Oldest first. */
    readonly list: (businessId: string) => Effect.Effect<ReadonlyArray<WebCampaign>, DatabaseUnavailable>
    readonly find: (businessId: string, id: string) => Effect.Effect<WebCampaign, Refused | DatabaseUnavailable>
    readonly create: (
      business: Business,
      wanted: {
        readonly id?: string
        readonly name: string
        readonly sessionEnded?: WebhookTarget
        /** `DEFAULT_MAX_CALL_MINUTES` by default */
        readonly maxCallMinutes?: number
      },
    ) => Effect.Effect<WebCampaign, Refused | DatabaseUnavailable>
    readonly change: (
      business: Business,
      id: string,
      change: CampaignChange,
    ) => Effect.Effect<WebCampaign, Refused | DatabaseUnavailable>
    readonly remove: (business: Business, id: string) => Effect.Effect<void, Refused | DatabaseUnavailable>
    /** The target of a campaign's session-ended webhook; undefined when there is none or the campaign was deleted. */
    readonly targetOf: (id: string) => Effect.Effect<WebhookTarget | undefined, DatabaseUnavailable>
  }
>()("voicegate/platform/WebCampaigns") {}

interface Row {
  readonly id: string
  readonly business_id: string
  readonly name: string
  readonly webhook_url: string | null
  /** encrypted JSON */
  readonly webhook_headers: string | null
  /** encrypted */
  readonly webhook_secret: string | null
  readonly max_call_minutes: number
  readonly created_at: number
}

/** Fails for a value that is out of range. */
const checkMinutes = (minutes: number): Effect.Effect<number, Refused> =>
  Number.isInteger(minutes) && minutes >= 1 && minutes <= MAX_CALL_MINUTES
    ? Effect.succeed(minutes)
    : Effect.fail(
        refuse("invalid", "MAX_CALL_INVALID", `maxCallMinutes: Expected a whole number from 1 to ${MAX_CALL_MINUTES}.`),
      )

const noSuchCampaign = () => refuse("not_found", "WEB_CAMPAIGN_NOT_FOUND", "no such web campaign")

export const layer: Layer.Layer<WebCampaigns, never, SqlClient.SqlClient | Audit | Vault | WebhookRules> = Layer.effect(
  WebCampaigns,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const audit = yield* Audit
    const vault = yield* Vault
    const rules = yield* WebhookRules

    const sealed = (target: WebhookTarget | undefined) => {
      const headers = Object.entries(target?.headers ?? {}).map(([name, value]) => [name, Redacted.value(value)])
      const secret = target?.signingSecret
      return {
        webhook_url: target?.url ?? null,
        webhook_headers: headers.length === 0 ? null : vault.seal(JSON.stringify(headers)),
        webhook_secret: secret === undefined ? null : vault.seal(Redacted.value(secret)),
      }
    }

    const headersOf = (row: Row): Readonly<Record<string, Redacted.Redacted<string>>> => {
      if (row.webhook_headers === null) return {}
      const entries: Array<[string, string]> = JSON.parse(vault.open(row.webhook_headers))
      return Object.fromEntries(entries.map(([name, value]) => [name, Redacted.make(value)]))
    }

    const target = (row: Row): WebhookTarget | undefined =>
      row.webhook_url === null
        ? undefined
        : {
            url: row.webhook_url,
            headers: headersOf(row),
            ...(row.webhook_secret !== null && { signingSecret: Redacted.make(vault.open(row.webhook_secret)) }),
          }

    const show = (row: Row): WebCampaign => {
      const sessionEnded = target(row)
      return {
        id: row.id,
        businessId: row.business_id,
        name: row.name,
        maxCallMinutes: row.max_call_minutes,
        createdAt: row.created_at,
        ...(sessionEnded && { sessionEnded }),
      }
    }

    const rowOf = Effect.fnUntraced(function* (businessId: string, id: string) {
      const [row] = yield* sql<Row>`SELECT * FROM web_campaigns WHERE id = ${id} AND business_id = ${businessId}`
      return row === undefined ? yield* noSuchCampaign() : row
    })

    return WebCampaigns.of({
      list: Effect.fnUntraced(function* (businessId) {
        const rows = yield* sql<Row>`
          SELECT * FROM web_campaigns WHERE business_id = ${businessId} ORDER BY created_at, id`
        return rows.map(show)
      }, orUnavailable),

      find: Effect.fnUntraced(function* (businessId, id) {
        return show(yield* rowOf(businessId, id))
      }, orUnavailable),

      create: Effect.fnUntraced(
        function* (business, wanted) {
          if (wanted.sessionEnded !== undefined) yield* rules.check(wanted.sessionEnded)
          const row: Row = {
            id: wanted.id ?? randomUUID(),
            business_id: business.id,
            name: yield* checkName(wanted.name),
            ...sealed(wanted.sessionEnded),
            max_call_minutes: yield* checkMinutes(wanted.maxCallMinutes ?? DEFAULT_MAX_CALL_MINUTES),
            created_at: yield* Clock.currentTimeMillis,
          }
          yield* sql`INSERT INTO web_campaigns ${sql.insert({ ...row })}`
          yield* audit.record(business.userId, "web_campaign.created", row.id, row.name)
          return show(row)
        },
        sql.withTransaction,
        orUnavailable,
      ),

      change: Effect.fnUntraced(
        function* (business, id, change) {
          const row = yield* rowOf(business.id, id)
          const name = change.name === undefined ? row.name : yield* checkName(change.name)
          if (change.sessionEnded) yield* rules.check(change.sessionEnded)
          const webhook = change.sessionEnded === undefined ? {} : sealed(change.sessionEnded ?? undefined)
          const max_call_minutes = yield* checkMinutes(change.maxCallMinutes ?? row.max_call_minutes)
          const changed = { ...row, name, max_call_minutes, ...webhook }
          const { webhook_headers, webhook_secret, webhook_url } = changed
          yield* sql`UPDATE web_campaigns
          SET ${sql.update({ name, max_call_minutes, webhook_url, webhook_headers, webhook_secret })} WHERE id = ${id}`
          yield* audit.record(business.userId, "web_campaign.changed", id, name)
          return show(changed)
        },
        sql.withTransaction,
        orUnavailable,
      ),

      remove: Effect.fnUntraced(
        function* (business, id) {
          const row = yield* rowOf(business.id, id)
          yield* sql`DELETE FROM web_campaigns WHERE id = ${id}`
          yield* audit.record(business.userId, "web_campaign.deleted", id, row.name)
        },
        sql.withTransaction,
        orUnavailable,
      ),

      targetOf: Effect.fnUntraced(function* (id) {
        const [row] = yield* sql<Row>`SELECT * FROM web_campaigns WHERE id = ${id}`
        return row && target(row)
      }, orUnavailable),
    })
  }),
)
