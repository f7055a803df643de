/**
 * Breaks what the gate stands on, at full size, and prints what was promised and what was seen:
 *
 *     node scripts/chaos.ts [--only NAME[,NAME…]] [--seed N] [--size full|small] [--json FILE]
 *
 * Ends with 1 when a promise did not hold. A seed decides all that the scenarios decide; what processes do in between is theirs.
 */
import { writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { scenarios } from "../test/chaos/index.ts"
import { carryOut, type Row, tableOf } from "../test/chaos/support/scenario.ts"

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 1_000_000)) },
    size: { type: "string", default: "full" },
    json: { type: "string" },
  },
})
const seed = Number(values.seed)
const size = values.size === "small" ? "small" : "full"
const only = values.only?.split(",")
const chosen = scenarios.filter(({ name }) => only?.includes(name) ?? true)
if (chosen.length === 0 || !Number.isInteger(seed)) {
  console.error(`no such scenario; there are:\n${scenarios.map(({ name }) => `  ${name}`).join("\n")}`)
  process.exit(2)
}

console.error(`seed ${seed}, ${size}`)
const rows: Array<Row & { readonly scenario: string; readonly seconds: number }> = []
for (const scenario of chosen) {
  const began = performance.now()
  const elapsed = (): number => Math.round((performance.now() - began) / 100) / 10
  try {
    for (const row of await carryOut(scenario, size, seed)) {
      rows.push({ scenario: scenario.name, ...row, seconds: elapsed() })
      for (const wrong of row.wrongs) console.error(`${scenario.name}: ${wrong}`)
    }
  } catch (error) {
    console.error(error)
    const wrongs = [error instanceof Error ? error.message : String(error)]
    rows.push({
      scenario: scenario.name,
      fault: scenario.name,
      promised: "",
      seen: "",
      back: "",
      wrongs,
      seconds: elapsed(),
    })
  }
  console.error(`${scenario.name}: ${elapsed()} s`)
}
console.log(tableOf(rows))
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify({ seed, size, rows }, undefined, 2)}\n`)
if (rows.some(({ wrongs }) => wrongs.length > 0)) process.exitCode = 1
