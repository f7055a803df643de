/**
 * The tables, as numbered steps that are never edited once released: a change is a new step. The same SQL runs on SQLite and
 * PostgreSQL, so it uses only what both support: times are milliseconds since 1970 in BIGINT, booleans 0 or 1, JSON text.
 *
 * No column contains a usable key, password or token: those are digests. What must be read again (the headers and signing secrets
 * of webhooks) is encrypted by `Vault.ts`.
 */
import { Effect } from "effect"
import { Migrator, SqlClient } from "effect/sql"

const first = [
  // values of the installation, such as the check of the vault's key
  `CREATE TABLE installation (name TEXT PRIMARY KEY, value TEXT NOT NULL)`,

  `CREATE TABLE users (
    id TEXT PRIMARY KEY,
    email TEXT UNIQUE,
    name TEXT NOT NULL,
    password_hash TEXT,
    call_concurrency INTEGER NOT NULL,
    disabled INTEGER NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL
  )`,

  `CREATE TABLE dashboard_sessions (
    digest TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
  )`,

  `CREATE TABLE regions (id TEXT PRIMARY KEY, name TEXT NOT NULL)`,

  `CREATE TABLE businesses (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id),
    name TEXT NOT NULL,
    disabled INTEGER NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL
  )`,
  `CREATE INDEX businesses_of_user ON businesses (user_id, created_at, id)`,

  `CREATE TABLE web_campaigns (
    id TEXT PRIMARY KEY,
    business_id TEXT NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    webhook_url TEXT,
    webhook_headers TEXT,
    webhook_secret TEXT,
    created_at BIGINT NOT NULL
  )`,
  `CREATE INDEX web_campaigns_of_business ON web_campaigns (business_id, created_at, id)`,

  `CREATE TABLE api_keys (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id),
    name TEXT NOT NULL,
    digest TEXT NOT NULL UNIQUE,
    display TEXT NOT NULL,
    restricted INTEGER NOT NULL,
    user_management INTEGER NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    last_used_at BIGINT,
    revoked_at BIGINT
  )`,
  `CREATE INDEX api_keys_of_user ON api_keys (user_id, created_at, id)`,
  // deleting a business removes it from the keys that list it
  `CREATE TABLE api_key_businesses (
    key_id TEXT NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
    business_id TEXT NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    PRIMARY KEY (key_id, business_id)
  )`,
  `CREATE INDEX keys_of_business ON api_key_businesses (business_id)`,

  // open_until: until when the token may be used; once joined, until when the session must be renewed
  `CREATE TABLE web_sessions (
    id TEXT PRIMARY KEY,
    conversation_id TEXT NOT NULL UNIQUE,
    user_id TEXT NOT NULL REFERENCES users (id),
    business_id TEXT NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    web_campaign_id TEXT NOT NULL,
    region_id TEXT NOT NULL,
    client_identifier TEXT,
    configuration TEXT NOT NULL,
    status INTEGER NOT NULL,
    token_digest TEXT,
    open_until BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    joined_at BIGINT,
    ended_at BIGINT
  )`,
  `CREATE INDEX web_sessions_of_business ON web_sessions (business_id, created_at, id)`,
  `CREATE INDEX web_sessions_running ON web_sessions (user_id) WHERE ended_at IS NULL`,
  `CREATE INDEX web_sessions_due ON web_sessions (open_until) WHERE ended_at IS NULL`,

  // a simulated call: the times of all its states are fixed at its start
  `CREATE TABLE calls (
    id TEXT PRIMARY KEY,
    conversation_id TEXT NOT NULL UNIQUE,
    user_id TEXT NOT NULL REFERENCES users (id),
    business_id TEXT NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    region_id TEXT NOT NULL,
    to_number TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    rings_at BIGINT NOT NULL,
    answers_at BIGINT NOT NULL,
    completes_at BIGINT NOT NULL
  )`,
  `CREATE INDEX calls_of_business ON calls (business_id, created_at, id)`,
  `CREATE INDEX calls_running ON calls (user_id, completes_at)`,

  `CREATE TABLE conversations (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id),
    business_id TEXT NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    source_id TEXT NOT NULL,
    client_identifier TEXT,
    started_at BIGINT NOT NULL,
    ended_at BIGINT
  )`,
  `CREATE INDEX conversations_of_business ON conversations (business_id, started_at, id)`,
  `CREATE INDEX conversations_of_user ON conversations (user_id, started_at, id)`,
  `CREATE TABLE turns (
    conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    role TEXT NOT NULL,
    text TEXT NOT NULL,
    said_at BIGINT NOT NULL,
    PRIMARY KEY (conversation_id, position)
  )`,

  // the outbox; its messages survive the deletion of the business, so that receivers still learn of the end of a session
  `CREATE TABLE webhook_deliveries (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id),
    business_id TEXT NOT NULL,
    web_campaign_id TEXT NOT NULL,
    web_session_id TEXT NOT NULL,
    body TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    next_attempt_at BIGINT NOT NULL,
    last_outcome TEXT,
    created_at BIGINT NOT NULL,
    settled_at BIGINT
  )`,
  `CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_attempt_at) WHERE state = 'pending'`,
  `CREATE INDEX webhook_deliveries_of_business ON webhook_deliveries (business_id, created_at, id)`,

  `CREATE TABLE audit_entries (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id),
    action TEXT NOT NULL,
    subject_id TEXT NOT NULL,
    detail TEXT NOT NULL,
    at BIGINT NOT NULL
  )`,
  `CREATE INDEX audit_entries_of_user ON audit_entries (user_id, at, id)`,
]

/** Permissions of keys. Existing keys keep all permissions. */
const keyPermissions = [
  `ALTER TABLE api_keys ADD COLUMN may_start INTEGER NOT NULL DEFAULT 1`,
  `ALTER TABLE api_keys ADD COLUMN may_read INTEGER NOT NULL DEFAULT 1`,
  `ALTER TABLE api_keys ADD COLUMN may_manage INTEGER NOT NULL DEFAULT 1`,
]

/** The maximum length of a campaign's calls, and when a session ends because of it; null in existing sessions. */
const longestCall = [
  `ALTER TABLE web_campaigns ADD COLUMN max_call_minutes INTEGER NOT NULL DEFAULT 120`,
  `ALTER TABLE web_sessions ADD COLUMN ends_by BIGINT`,
]

/**
 * Sign-ins that their user can list and end. A session is valid while its epoch equals the user's: incrementing the user's ends
 * all of them. Existing ones are ended, since their origin is unknown.
 */
const signIns = [
  `ALTER TABLE users ADD COLUMN sign_in_epoch INTEGER NOT NULL DEFAULT 0`,
  `DELETE FROM dashboard_sessions`,
  `ALTER TABLE dashboard_sessions ADD COLUMN id TEXT NOT NULL DEFAULT ''`,
  `ALTER TABLE dashboard_sessions ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0`,
  `ALTER TABLE dashboard_sessions ADD COLUMN address TEXT NOT NULL DEFAULT ''`,
  `ALTER TABLE dashboard_sessions ADD COLUMN user_agent TEXT NOT NULL DEFAULT ''`,
  `ALTER TABLE dashboard_sessions ADD COLUMN last_used_at BIGINT NOT NULL DEFAULT 0`,
  `CREATE INDEX dashboard_sessions_of_user ON dashboard_sessions (user_id)`,
]

/** The secret of a key before its last rotation, and until when it works. */
const keyRotation = [
  `ALTER TABLE api_keys ADD COLUMN previous_digest TEXT`,
  `ALTER TABLE api_keys ADD COLUMN previous_until BIGINT`,
  `CREATE UNIQUE INDEX api_keys_by_previous_digest ON api_keys (previous_digest)`,
]

/** When a key was first used, unknown for a key that was last used before this step; and the webhooks of one campaign. */
const setupChecks = [
  `ALTER TABLE api_keys ADD COLUMN first_used_at BIGINT`,
  `CREATE INDEX webhook_deliveries_of_campaign ON webhook_deliveries (web_campaign_id, created_at, id)`,
]

/** What was sent and answered in the last attempts of a webhook's delivery, without secrets. */
const deliveryAttempts = [
  `CREATE TABLE webhook_attempts (
    delivery_id TEXT NOT NULL REFERENCES webhook_deliveries (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    at BIGINT NOT NULL,
    duration_millis INTEGER NOT NULL,
    url TEXT NOT NULL,
    headers TEXT NOT NULL,
    status INTEGER,
    error TEXT,
    answer TEXT,
    truncated INTEGER NOT NULL,
    PRIMARY KEY (delivery_id, number)
  )`,
]

/** The addresses from which a key may be used, a JSON list; empty for any. */
const keyAddresses = [`ALTER TABLE api_keys ADD COLUMN allowed_addresses TEXT NOT NULL DEFAULT '[]'`]

/** What a key started on a day: days since 1970 (UTC). */
const keyUsage = [
  `CREATE TABLE api_key_usage (
    key_id TEXT NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
    day INTEGER NOT NULL,
    sessions INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    PRIMARY KEY (key_id, day)
  )`,
]

/** The newest webhooks of a user, in all businesses. */
const deliveriesOfUser = [`CREATE INDEX webhook_deliveries_of_user ON webhook_deliveries (user_id, created_at, id)`]

const step = (statements: ReadonlyArray<string>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true }),
  )

const run = Migrator.make({})

/** On PostgreSQL several processes may run them concurrently. */
export const migrate = run({
  loader: Migrator.fromRecord({
    "1_first": step(first),
    "2_key_permissions": step(keyPermissions),
    "3_longest_call": step(longestCall),
    "4_sign_ins": step(signIns),
    "5_key_rotation": step(keyRotation),
    "6_setup_checks": step(setupChecks),
    "7_delivery_attempts": step(deliveryAttempts),
    "8_key_addresses": step(keyAddresses),
    "9_key_usage": step(keyUsage),
    "10_deliveries_of_user": step(deliveriesOfUser),
  }),
  table: "migrations",
})
