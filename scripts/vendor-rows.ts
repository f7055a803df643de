/**
 * Lists the vendors whose rows of `src/docs/vendors.md` were compared with the vendor's documents more than 90 days ago, with their
 * sources and the cells that only a real key can tell. Exits with 1 if there is one, or if a date cannot be read.
 *
 *     node scripts/vendor-rows.ts [days]
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

const DAYS = 90
const DAY_MILLIS = 24 * 60 * 60_000

export interface VendorRow {
  readonly vendor: string
  /** undefined if the cell has no date of the form 2026-11-26 */
  readonly lookedAt: string | undefined
  readonly sources: string
  /** how many of the vendor's cells, in all tables, only a real key can tell */
  readonly untried: number
}

const cellsOf = (line: string): ReadonlyArray<string> => line.split("|").map((cell) => cell.trim())

/** The rows of the table whose last columns are `looked at` and `sources`. */
export const vendorRows = (document: string): ReadonlyArray<VendorRow> => {
  const lines = document.split("\n")
  const from = lines.findIndex((line) => /\| looked at \| sources \|$/.test(line)) + 2
  if (from < 2) return []
  const to = lines.findIndex((line, index) => index >= from && !line.startsWith("|"))
  return lines.slice(from, to < 0 ? undefined : to).map((line) => {
    const row = cellsOf(line)
    const [, name = ""] = row
    const [date = "", sources = ""] = row.slice(-3)
    const cells = lines.filter((each) => each.startsWith(`| ${name} |`)).flatMap(cellsOf)
    return {
      vendor: name.replaceAll("`", ""),
      lookedAt: /^\d{4}-\d{2}-\d{2}$/.test(date) && !Number.isNaN(Date.parse(date)) ? date : undefined,
      sources,
      untried: cells.filter((cell) => cell.includes("[?]")).length,
    }
  })
}

/** The age of a row in whole days; infinite without a date. */
export const ageInDays = ({ lookedAt }: VendorRow, now: number): number =>
  lookedAt === undefined ? Number.POSITIVE_INFINITY : Math.floor((now - Date.parse(lookedAt)) / DAY_MILLIS)

/** One line for each row that is older than so many days. */
export const outdated = (rows: ReadonlyArray<VendorRow>, now: number, days: number): ReadonlyArray<string> =>
  rows
    .filter((row) => ageInDays(row, now) > days)
    .map((row) => {
      const when = row.lookedAt === undefined ? "no date" : `${row.lookedAt}, ${ageInDays(row, now)} days ago`
      return `${row.vendor}: looked at: ${when}; ${row.untried} cells with [?]; sources: ${row.sources}`
    })

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const days = Number(process.argv[2] ?? DAYS)
  if (!Number.isInteger(days) || days < 0) throw new Error("Expected a number of days")
  const rows = vendorRows(readFileSync(join(import.meta.dirname, "../src/docs/vendors.md"), "utf8"))
  const found = outdated(rows, Date.now(), days)
  for (const line of found) console.log(line)
  console.log(`${found.length} of ${rows.length} vendors were looked at more than ${days} days ago`)
  process.exitCode = found.length > 0 || rows.length === 0 ? 1 : 0
}
