/** Formats a soak as Markdown tables. */
import type { Ledger } from "./ledger.ts"
import type { Sample } from "./measured.ts"
import type { Allowed, Figure, Judged } from "./verdict.ts"

const mb = (bytes: number): string => (bytes / 2 ** 20).toFixed(1)
const formatValue = (value: number, unit: Figure["unit"]): string =>
  unit === "MB" ? `${mb(value)} MB` : value.toLocaleString("en")

const allowance = (allowed: Allowed, unit: Figure["unit"]): string => {
  switch (allowed.kind) {
    case "same":
      return "the same"
    case "growth":
      return `+ ${formatValue(allowed.by, unit)}`
    case "at most":
      return allowed.limit === Number.POSITIVE_INFINITY ? "any" : `≤ ${formatValue(allowed.limit, unit)}`
    case "at least":
      return `≥ ${formatValue(allowed.limit, unit)}`
  }
}

const row = (cells: ReadonlyArray<string | number>): string => `| ${cells.join(" | ")} |`
const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string | number>>): string =>
  [row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n")

export const figuresTable = (figures: ReadonlyArray<Judged>): string =>
  table(
    ["", "before", "after", "allowed", "", ""],
    figures.map(({ after, allowed, before, name, note = "", ok, unit }) => [
      name,
      formatValue(before, unit),
      formatValue(after, unit),
      allowance(allowed, unit),
      ok ? "ok" : "**off**",
      note,
    ]),
  )

/** One row per 1, 2 or 10 minutes, depending on the run's length. */
export const seriesTable = (series: ReadonlyArray<Sample>, minutes: number): string => {
  const every = minutes > 20 ? 10 : minutes > 8 ? 2 : 1
  const shownRows = series.filter(({ minute }, i) => Math.round(minute) % every === 0 || i === series.length - 1)
  return table(
    [
      "minute",
      "calls",
      "callers",
      "waiting",
      "rss A/B MB",
      "heap A/B MB",
      "sockets A/B",
      "timers A/B",
      "keys",
      "redis MB",
    ],
    shownRows.map(({ active, callsStarted, gates, minute, store }) => {
      const of = (figure: (gate: Sample["gates"][number]) => string | number): string => gates.map(figure).join(" / ")
      return [
        minute.toFixed(0),
        callsStarted,
        active,
        store.sizes.waiting,
        of(({ rss }) => mb(rss)),
        of(({ heapUsed }) => mb(heapUsed)),
        of(({ sockets }) => sockets),
        of(({ timers }) => timers),
        Object.values(store.keys).reduce((sum, n) => sum + n, 0),
        mb(store.usedMemory),
      ]
    }),
  )
}

export const countsTable = ({ counts }: Ledger): string =>
  table(
    ["", "times"],
    [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, n]) => [name, n.toLocaleString("en")]),
  )

export const problemsText = ({ problems }: Ledger): string =>
  [...problems]
    .map(([kind, { examples, times }]) => `${kind} (${times}):\n${examples.map((e) => `  ${e}`).join("\n")}`)
    .join("\n")
