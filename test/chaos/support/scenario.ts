/** A scenario, and the row of the table that it produces. */
import { type Bench, makeBench } from "../../harness/gate.ts"

export type Size = "small" | "full"

export interface Row {
  readonly fault: string
  readonly promised: string
  readonly seen: string
  /** time until order was restored */
  readonly back: string
  /** broken promises */
  readonly wrongs: ReadonlyArray<string>
}

export interface Scenario {
  readonly name: string
  readonly run: (size: Size, seed: number, bench: Bench) => Promise<ReadonlyArray<Row>>
}

/** Runs one, and stops everything that it started. */
export const carryOut = async (scenario: Scenario, size: Size, seed: number): Promise<ReadonlyArray<Row>> => {
  const bench = makeBench()
  try {
    return await scenario.run(size, seed, bench)
  } finally {
    await bench.dispose()
  }
}

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ")

/** The table as markdown. */
export const tableOf = (rows: ReadonlyArray<Row>): string =>
  [
    "| fault | promised | seen | order back |",
    "|---|---|---|---|",
    ...rows.map(({ back, fault, promised, seen, wrongs }) => {
      const broken = wrongs.length === 0 ? "" : ` **${wrongs.length} violations: ${wrongs.slice(0, 3).join("; ")}**`
      return `| ${cell(fault)} | ${cell(promised)} | ${cell(seen + broken)} | ${cell(back)} |`
    }),
  ].join("\n")
