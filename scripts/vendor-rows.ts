/**
 * Lists the vendors whose rows were compared with the vendor's documents more than 90 days ago, with their sources and the cells that only a
 * real key can tell. Exits with 1 if there is one, or if a date cannot be read.
 *
 *     node scripts/vendor-rows.ts [days]
 */
import { DateTime, Option } from "effect"
import { type VendorPart, vendorParts } from "./vendor-tables.ts"

const DAYS = 90
const DAY_MILLIS = 24 * 60 * 60_000

type DatedPart = Pick<VendorPart, "platform" | "rows">

/** The age of a vendor's rows in whole days; infinite without a date of the form 2026-11-26. */
export const ageInDays = ({ rows: { lookedAt } }: DatedPart, now: number): number =>
  /^\d{4}-\d{2}-\d{2}$/.test(lookedAt)
    ? Option.match(DateTime.make(lookedAt), {
        onNone: () => Number.POSITIVE_INFINITY,
        onSome: (date) => Math.floor((now - DateTime.toEpochMillis(date)) / DAY_MILLIS),
      })
    : Number.POSITIVE_INFINITY

/** One line for each vendor whose rows are older than so many days. */
export const outdated = (parts: ReadonlyArray<DatedPart>, now: number, days: number): ReadonlyArray<string> =>
  parts
    .filter((part) => ageInDays(part, now) > days)
    .map((part) => {
      const { lookedAt, sources } = part.rows
      const age = ageInDays(part, now)
      const untried = Object.values(part.rows).filter((cell) => cell.includes("[?]")).length
      const when = Number.isFinite(age) ? `${lookedAt}, ${age} days ago` : "no date"
      return `${part.platform}: looked at: ${when}; ${untried} cells with [?]; sources: ${sources}`
    })

if (process.argv[1] === import.meta.filename) {
  const days = Number(process.argv[2] ?? DAYS)
  if (!Number.isInteger(days) || days < 0) throw new Error("Expected a number of days")
  const found = outdated(vendorParts, Date.now(), days)
  for (const line of found) console.log(line)
  console.log(`${found.length} of ${vendorParts.length} vendors were looked at more than ${days} days ago`)
  process.exitCode = found.length > 0 ? 1 : 0
}
