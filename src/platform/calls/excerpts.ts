/** What a search has found in a conversation: the first turn with the text, cut to what is around it. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { oneForm } from "../../lib/visible-text.ts"
import type { Role } from "../model.ts"
import { AT_ONCE, contains, SEARCHED_TURNS } from "./search.ts"

/** A turn of a conversation, and the part of it around what was searched for: `text` is what was found, as it was said. */
export interface Excerpt {
  readonly role: Role
  readonly at: number
  readonly before: string
  readonly text: string
  readonly after: string
}

/** How many characters are shown before and after what was found. */
const BEFORE = 40
const AFTER = 80

/** In SQLite capitals do not matter in the letters a to z, in PostgreSQL in those of every language. */
const lower = (text: string): string => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())

/** Where a text begins with what was searched for; 0 where a database compares otherwise. */
const startOf = (text: string, sought: string): number => {
  const start = lower(text).indexOf(lower(sought))
  return Math.max(0, start >= 0 ? start : text.toLowerCase().indexOf(sought.toLowerCase()))
}

/** Cut between words where there is one near. */
const cutBefore = (text: string): string =>
  text.length <= BEFORE
    ? text
    : `…${text
        .slice(-BEFORE)
        .toWellFormed()
        .replace(/^\S{0,20}\s/, "")}`
const cutAfter = (text: string): string =>
  text.length <= AFTER
    ? text
    : `${text
        .slice(0, AFTER)
        .toWellFormed()
        .replace(/\s\S{0,20}$/, "")}…`

/** @param search what was searched for */
export const excerptOf = (
  { at, role, text }: { readonly role: Role; readonly text: string; readonly at: number },
  search: string,
): Excerpt => {
  const sought = oneForm(search)
  const start = startOf(text, sought)
  const end = start + sought.length
  return {
    ...{ role, at },
    before: cutBefore(text.slice(0, start)),
    text: text.slice(start, end),
    after: cutAfter(text.slice(end)),
  }
}

/** The excerpts of these conversations by their ids, in small statements, as the search reads them. One that was found by its caller or its id has none. */
export const excerptsOf = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<string>,
  search: string,
  now: number,
) {
  const excerpts = new Map<string, Excerpt>()
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    // for each the first such turn
    const rows = yield* sql<{ conversation_id: string; role: Role; text: string; said_at: number }>`
      SELECT turns.conversation_id, role, text, said_at FROM turns JOIN (
        SELECT conversations.id AS found_id, (SELECT position FROM turns WHERE conversation_id = conversations.id
          AND position < ${SEARCHED_TURNS} AND said_at <= ${now} AND ${contains(sql, "text", search)}
          ORDER BY position LIMIT 1) AS first
        FROM conversations WHERE ${sql.in("id", ids.slice(at, at + AT_ONCE))}) AS found
      ON turns.conversation_id = found_id AND turns.position = first`
    for (const { conversation_id, role, said_at, text } of rows)
      excerpts.set(conversation_id, excerptOf({ role, text, at: said_at }, search))
    yield* Effect.yieldNow
  }
  return excerpts
})
