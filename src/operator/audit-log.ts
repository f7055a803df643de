/** The audit log as an operator reads it: what changed of the settings, bounded, and lines of one kind. */

import { Effect, Option, Schema } from "effect"
import type { AuditLine as StoredLine } from "../fifo-queue/answers.ts"
import { PAGE_MAX } from "../fifo-queue/operator/OperatorQueue.ts"
import { type AuditFilter, type AuditLine, type AuditLog, SettingsChanges } from "./shapes.ts"

/** The most characters of the settings' names, of a value, and of all changes in a line. */
const NAMES_MAX = 400
const VALUE_MAX = 120
const CHANGES_MAX = 1_500

const cut = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most)}…` : text)

/** How many characters of two long values are shown before the first that differs. */
const CONTEXT = 20

/** Both values of a change, cut so that what differs is in what is left: values that begin alike are shown from where they differ. */
const cutBoth = (before: string, after: string): { readonly before: string; readonly after: string } => {
  let same = 0
  while (same < before.length && before[same] === after[same]) same++
  const from = Math.max(before.length, after.length) > VALUE_MAX && same > CONTEXT ? same - CONTEXT : 0
  const show = (value: string): string => (from === 0 ? "" : "…") + cut(value.slice(from), VALUE_MAX)
  return { before: show(before), after: show(after) }
}

type Change = SettingsChanges["settings"][number]

/** What a line stores of changed settings: their names, and as many changes as there is room for. */
export const storedChanges = (all: ReadonlyArray<Change>): { readonly changed: string; readonly changes: string } => {
  const settings: Array<Change> = []
  let room = CHANGES_MAX
  for (const { after, before, setting } of all) {
    const change: Change = {
      setting: cut(setting, VALUE_MAX),
      ...(before === undefined || after === undefined ? {} : cutBoth(before, after)),
    }
    room -= JSON.stringify(change).length
    if (room < 0) break
    settings.push(change)
  }
  const changes: SettingsChanges = { settings, more: all.length - settings.length }
  return { changed: cut(all.map(({ setting }) => setting).join(", "), NAMES_MAX), changes: JSON.stringify(changes) }
}

const decodeChanges = Schema.decodeUnknownOption(Schema.fromJsonString(SettingsChanges))

const shown = ({ changes, ...line }: StoredLine): AuditLine =>
  Option.match(changes === undefined ? Option.none() : decodeChanges(changes), {
    onNone: () => line,
    onSome: (decoded) => ({ ...line, changes: decoded }),
  })

interface Stored {
  readonly total: number
  readonly lines: ReadonlyArray<StoredLine>
}

/**
 * A page of the audit log, newest first. The store has no index of kinds, so with a filter the whole log (at most 1,000 lines) is read,
 * in steps of `PAGE_MAX` lines.
 *
 * @param read reads lines of the store, newest first
 */
export const auditLogPage = Effect.fnUntraced(function* <E, R>(
  read: (first: number, count: number) => Effect.Effect<Stored, E, R>,
  first: number,
  count: number,
  only: AuditFilter | undefined,
): Effect.fn.Return<AuditLog, E, R> {
  if (only === undefined) {
    const { lines, total } = yield* read(first, count)
    return { total, lines: lines.map(shown) }
  }
  // by number: when lines are added meanwhile, some are read twice
  const found = new Map<number, StoredLine>()
  for (let from = 0; ; from += PAGE_MAX) {
    const { lines, total } = yield* read(from, PAGE_MAX)
    for (const line of lines) if ((line.action === "settings") === (only === "settings")) found.set(line.n, line)
    if (from + PAGE_MAX >= total) break
  }
  const lines = [...found.values()].slice(first, first + Math.min(count, PAGE_MAX))
  return { total: found.size, lines: lines.map(shown) }
})
