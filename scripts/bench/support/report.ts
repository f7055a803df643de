/** The results of a benchmark: figures of several servers, measured in alternation, and their ratios. */

/** One measured quantity, in the order of the rounds. */
export interface Figures {
  readonly name: string
  readonly unit: string
  readonly of: Readonly<Record<string, ReadonlyArray<number>>>
}

/** One server's figures relative to another's. */
export interface Ratio {
  readonly name: string
  readonly median: number
  readonly least: number
  readonly most: number
  readonly goal: string
  readonly reached: boolean | undefined
}

export interface Found {
  readonly figures: ReadonlyArray<Figures>
  readonly ratios: ReadonlyArray<Ratio>
}

export const median = (figures: ReadonlyArray<number>): number => {
  const sorted = figures.toSorted((a, b) => a - b)
  const half = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? (sorted[half] ?? Number.NaN) : ((sorted[half - 1] ?? 0) + (sorted[half] ?? 0)) / 2
}

export type Goal = { readonly atLeast: number } | { readonly atMost: number } | undefined

const judge = (value: number, goal: Goal): Pick<Ratio, "goal" | "reached"> => {
  if (goal === undefined) return { goal: "", reached: undefined }
  return "atLeast" in goal
    ? { goal: `≥ ${goal.atLeast}`, reached: value >= goal.atLeast }
    : { goal: `≤ ${goal.atMost}`, reached: value <= goal.atMost }
}

/** A single figure, compared with a goal in its unit. */
export const figure = (name: string, of: ReadonlyArray<number>, goal: Goal): Ratio => ({
  name,
  median: median(of),
  least: Math.min(...of),
  most: Math.max(...of),
  ...judge(median(of), goal),
})

/**
 * The ratio of two servers: the median of the rounds' ratios, with minimum and maximum. Ratios are per round, because the machine's
 * speed changes between rounds; medians of each server would often come from different rounds.
 */
export const ratio = ({ name, of }: Figures, a: string, b: string, goal: Goal): Ratio => {
  const [above = [], below = []] = [of[a], of[b]]
  const rounds = above.map((each, i) => each / (below[i] ?? Number.NaN))
  const value = median(rounds)
  return {
    name: `${name}, ${a} : ${b}`,
    median: value,
    least: Math.min(...rounds),
    most: Math.max(...rounds),
    ...judge(value, goal),
  }
}

const short = (value: number): string =>
  Math.abs(value) >= 100 ? String(Math.round(value)) : Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(2)

/** Both tables, as Markdown. */
export const tables = ({ figures, ratios }: Found): string =>
  [
    "| ratio | median | rounds | goal | |",
    "|---|--:|---|---|---|",
    ...ratios.map(
      ({ goal, least, median, most, name, reached }) =>
        `| ${name} | ${short(median)} | ${short(least)} to ${short(most)} | ${goal} | ${reached === undefined ? "" : reached ? "reached" : "not reached"} |`,
    ),
    "",
    "| measured | unit | server | median | rounds |",
    "|---|---|---|--:|---|",
    ...figures.flatMap(({ name, of, unit }) =>
      Object.entries(of).map(
        ([server, all]) => `| ${name} | ${unit} | ${server} | ${short(median(all))} | ${all.map(short).join(", ")} |`,
      ),
    ),
  ].join("\n")
