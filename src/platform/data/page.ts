/**
 * Cursor pagination, newest first. A cursor names the entry after or before which a page starts, so pages neither repeat nor skip
 * entries when others are added. A list's query gets the condition, the order and the limit of a page.
 */
import { Effect } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import { type Refused, refuse } from "../model.ts"

export const MAX_PAGE = 100
export const DEFAULT_PAGE = 20

export interface PageRequest {
  /** 1 to `MAX_PAGE` */
  readonly limit?: number | undefined
  /** entries after this one, that is older ones */
  readonly nextCursor?: string | null | undefined
  /** entries before this one, that is newer ones; not together with `nextCursor` */
  readonly previousCursor?: string | null | undefined
}

export interface Page<A> {
  readonly items: ReadonlyArray<A>
  /** null on the last page */
  readonly nextCursor: string | null
  /** null on the first page */
  readonly previousCursor: string | null
}

export interface CursorPosition {
  readonly id: string
  readonly at: number
}

/** Which rows of a list a page needs. */
export interface PartOfList {
  /** those behind this one, in the direction of the page; undefined for the first */
  readonly from: CursorPosition | undefined
  /** the oldest comes first */
  readonly backwards: boolean
  /** how many at most */
  readonly count: number
}

const encodeCursor = ({ at, id }: CursorPosition): string => Buffer.from(`${at} ${id}`).toString("base64url")

const decodeCursor = (cursor: string): Effect.Effect<CursorPosition, Refused> => {
  const [, at, id] = /^(\d{1,15}) ([^\p{Cc}\p{Cs}]{1,256})$/u.exec(Buffer.from(cursor, "base64url").toString()) ?? []
  return at === undefined || id === undefined
    ? Effect.fail(refuse("invalid", "CURSOR_INVALID", "the cursor does not belong to this list"))
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
    /** the column with the time */
    readonly at: string
    readonly where: ReadonlyArray<Statement.Fragment>
    readonly rowsOf: (
      tail: {
        readonly where: Statement.Fragment
        readonly order: Statement.Fragment
      } & PartOfList,
    ) => Effect.Effect<ReadonlyArray<Row>, E | SqlError.SqlError>
    readonly positionOf: (row: Row) => CursorPosition
    readonly show: (row: Row) => A
  },
) {
  const { nextCursor, previousCursor } = request
  const limit = Math.min(request.limit ?? DEFAULT_PAGE, MAX_PAGE)
  const backwards = typeof previousCursor === "string"
  if (backwards && typeof nextCursor === "string") {
    return yield* refuse("invalid", "CURSOR_INVALID", "nextCursor and previousCursor cannot be combined")
  }
  const cursor = backwards ? previousCursor : nextCursor
  const from = typeof cursor === "string" ? yield* decodeCursor(cursor) : undefined
  const at = sql(list.at)
  const pastCursor =
    from === undefined
      ? []
      : [backwards ? sql`(${at}, id) > (${from.at}, ${from.id})` : sql`(${at}, id) < (${from.at}, ${from.id})`]
  const order = backwards
    ? sql`ORDER BY ${at} ASC, id ASC LIMIT ${limit + 1}`
    : sql`ORDER BY ${at} DESC, id DESC LIMIT ${limit + 1}`
  // One extra row tells whether there are more.
  const found = yield* list.rowsOf({
    ...{ where: sql.and([...list.where, ...pastCursor]), order },
    ...{ from, backwards, count: limit + 1 },
  })
  const more = found.length > limit
  const rows = backwards ? found.slice(0, limit).reverse() : found.slice(0, limit)
  const [first] = rows
  const last = rows.at(-1)
  const hasNewer = backwards ? more : from !== undefined
  const hasOlder = backwards || more
  return {
    items: rows.map(list.show),
    nextCursor: hasOlder && last !== undefined ? encodeCursor(list.positionOf(last)) : null,
    previousCursor: hasNewer && first !== undefined ? encodeCursor(list.positionOf(first)) : null,
  } satisfies Page<A>
})
