/**
 * The search in conversations. SQLite stops everything else while a statement runs, calls in progress too: so a search is many small
 * statements, with pauses in between, however much the conversations of an account have. It looks into the newest conversations, and into
 * the first turns of each.
 */
import { Effect } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import { oneForm } from "../../lib/visible-text.ts"
import type { PartOfList } from "../data/page.ts"

/** How many conversations a search looks into, and how many turns of each. */
export const SEARCHED = 2_000
export const SEARCHED_TURNS = 50
/** Conversations of one statement: at most 2 million characters of turns, which take 20 ms. */
export const AT_ONCE = 10

/** A conversation as it is stored. */
export interface ConversationRow {
  readonly id: string
  readonly user_id: string
  readonly business_id: string
  readonly kind: "web" | "call"
  readonly source_id: string
  readonly client_identifier: string | null
  readonly started_at: number
  readonly ended_at: number | null
}

type Key = Pick<ConversationRow, "id" | "started_at">

/**
 * Whether a column has a text anywhere. No pattern of LIKE: it is tried anew at every letter, and takes seconds for one letter that is said
 * and searched for many times.
 */
export const contains = (sql: SqlClient.SqlClient, column: string, text: string): Statement.Fragment => {
  const sought = oneForm(text)
  return sql.onDialectOrElse({
    pg: () => sql`strpos(lower(${sql(column)}), lower(${sought})) > 0`,
    orElse: () => sql`instr(lower(${sql(column)}), lower(${sought})) > 0`,
  })
}

/** Those behind the cursor, in the direction of the page; `newest` are in the order of the list. */
const behind = (newest: ReadonlyArray<Key>, { backwards, from }: PartOfList): ReadonlyArray<Key> => {
  const ordered = backwards ? newest.toReversed() : newest
  if (from === undefined) return ordered
  const known = ordered.findIndex(({ id }) => id === from.id)
  if (known !== -1) return ordered.slice(known + 1)
  // it is not among them any more
  return ordered.filter(({ started_at }) => (backwards ? started_at > from.at : started_at < from.at))
}

/** Finds conversations among those that `where` leaves, as many as the page needs. */
export const makeSearch =
  (sql: SqlClient.SqlClient) =>
  (
    where: Statement.Fragment,
    search: string,
    now: number,
    part: PartOfList,
  ): Effect.Effect<ReadonlyArray<ConversationRow>, SqlError.SqlError> =>
    Effect.gen(function* () {
      const direction = part.backwards ? sql`ASC` : sql`DESC`
      const newest = yield* sql<Key>`SELECT id, started_at FROM conversations WHERE ${where}
        ORDER BY started_at DESC, id DESC LIMIT ${SEARCHED}`
      const left = behind(newest, part)
      const found: Array<ConversationRow> = []
      for (let at = 0; at < left.length && found.length < part.count; at += AT_ONCE) {
        const ids = left.slice(at, at + AT_ONCE).map(({ id }) => id)
        const rows = yield* sql<ConversationRow>`SELECT * FROM conversations WHERE ${sql.in("id", ids)}
          AND (${contains(sql, "client_identifier", search)} OR ${contains(sql, "id", search)}
            OR EXISTS (SELECT 1 FROM turns WHERE conversation_id = conversations.id AND position < ${SEARCHED_TURNS}
              AND said_at <= ${now} AND ${contains(sql, "text", search)}))
          ORDER BY started_at ${direction}, id ${direction}`
        found.push(...rows)
        yield* Effect.yieldNow
      }
      return found.slice(0, part.count)
    })
