/**
 * Lists page by page, newest first. A cursor says after or before which entry to go on, so pages neither repeat nor skip an
 * entry when others are added meanwhile. A list's query is given the condition, the order and the limit of a page.
 */
import { Effect } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import { type Refused, refuse } from "../model.ts"

/** The longest page. */
export const MAX_PAGE = 100
/** The length of a page when none is asked for. */
export const DEFAULT_PAGE = 20

export interface PageRequest {
  /** 1 to `MAX_PAGE` */
  readonly limit?: number | undefined
  /** the entries after this one, that is older ones */
  readonly nextCursor?: string | null | undefined
  /** the entries before this one, that is newer ones; not together with `nextCursor` */
  readonly previousCursor?: string | null | undefined
}

export interface Page<A> {
  readonly items: ReadonlyArray<A>
  /** null on the last page */
  readonly nextCursor: string | null
  /** null on the first page */
  readonly previousCursor: string | null
}

/** Where an entry stands in its list. */
export interface Place {
  readonly id: string
  readonly at: number
}

const write = ({ at, id }: Place): string => Buffer.from(`${at} ${id}`).toString("base64url")

const read = (cursor: string): Effect.Effect<Place, Refused> => {
  const [, at, id] = /^(\d{1,15}) ([^\p{Cc}\p{Cs}]{1,256})$/u.exec(Buffer.from(cursor, "base64url").toString()) ?? []
  return at === undefined || id === undefined
    ? Effect.fail(refuse("invalid", "CURSOR_INVALID", "the cursor is not one of this list"))
    : Effect.succeed({ at: Number(at), id })
}

/**
 * One page of a list ordered by the column `at` and then `id`.
 *
 * @param rowsOf runs the list's query with this tail: `… WHERE ${tail.where} ${tail.order}`
 */
export const page = Effect.fnUntraced(function* <Row, A, E>(
  sql: SqlClient.SqlClient,
  request: PageRequest,
  list: {
    /** the column that holds the time */
    readonly at: string
    readonly where: ReadonlyArray<Statement.Fragment>
    readonly rowsOf: (tail: {
      readonly where: Statement.Fragment
      readonly order: Statement.Fragment
    }) => Effect.Effect<ReadonlyArray<Row>, E | SqlError.SqlError>
    readonly placeOf: (row: Row) => Place
    readonly show: (row: Row) => A
  },
) {
  const { nextCursor, previousCursor } = request
  const limit = Math.min(request.limit ?? DEFAULT_PAGE, MAX_PAGE)
  const backwards = typeof previousCursor === "string"
  if (backwards && typeof nextCursor === "string") {
    return yield* refuse("invalid", "CURSOR_INVALID", "a page is asked for by one cursor, not by two")
  }
  const cursor = backwards ? previousCursor : nextCursor
  const from = typeof cursor === "string" ? yield* read(cursor) : undefined
  const at = sql(list.at)
  const beyond =
    from === undefined
      ? []
      : [backwards ? sql`(${at}, id) > (${from.at}, ${from.id})` : sql`(${at}, id) < (${from.at}, ${from.id})`]
  const order = backwards
    ? sql`ORDER BY ${at} ASC, id ASC LIMIT ${limit + 1}`
    : sql`ORDER BY ${at} DESC, id DESC LIMIT ${limit + 1}`
  // One more than asked for says whether there are more.
  const found = yield* list.rowsOf({ where: sql.and([...list.where, ...beyond]), order })
  const more = found.length > limit
  const rows = backwards ? found.slice(0, limit).reverse() : found.slice(0, limit)
  const [first] = rows
  const last = rows.at(-1)
  const hasNewer = backwards ? more : from !== undefined
  const hasOlder = backwards || more
  return {
    items: rows.map(list.show),
    nextCursor: hasOlder && last !== undefined ? write(list.placeOf(last)) : null,
    previousCursor: hasNewer && first !== undefined ? write(list.placeOf(first)) : null,
  } satisfies Page<A>
})
