/**
 * Breaks what the gate stands on, at full size, and prints what was promised and what was seen:
 *
 *     node scripts/chaos.ts [--only NAME[,NAME…]] [--seed N] [--size full|small] [--json FILE] [--root DIR]
 *     node scripts/chaos.ts --planted [NAME…] [--seed N] [--size full|small]
 *
 * Ends with 1 when a promise did not hold. A seed decides all that the scenarios decide; what processes do in between is theirs.
 * With `--root` gates run from the build of another checkout, an older commit say. With `--planted` faults are planted in a copy of this
 * one (`test/chaos/planted.ts`; all of them by default), and the script ends with 1 when the scenario of one does not find it; it runs in
 * small unless told otherwise.
 */
import { existsSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { scenarios } from "../test/chaos/index.ts"
import { planted } from "../test/chaos/planted.ts"
import { carryOut, type Row, tableOf } from "../test/chaos/support/scenario.ts"
import { findPlanted, tableOfSearches } from "./chaos/find-planted.ts"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: "string" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 1_000_000)) },
    size: { type: "string" },
    json: { type: "string" },
    root: { type: "string" },
    planted: { type: "boolean", default: false },
  },
})
/** Ends with what is wrong with the arguments. */
const refuse = (why: string, names: ReadonlyArray<string> = []): never => {
  console.error([why, ...names.map((name) => `  ${name}`)].join("\n"))
  process.exit(2)
}
const seed = Number(values.seed)
if (!Number.isInteger(seed)) refuse(`no seed: ${values.seed}`)
const size = (values.size ?? (values.planted ? "small" : "full")) === "small" ? "small" : "full"

if (values.planted) {
  const wanted = positionals.filter((name) => name !== "all")
  const unknown = wanted.find((name) => !planted.some((each) => each.name === name))
  if (unknown !== undefined)
    refuse(
      `no such fault: ${unknown}; there are:`,
      planted.map(({ name }) => name),
    )
  console.error(`seed ${seed}, ${size}`)
  const chosen = planted.filter(({ name }) => wanted.length === 0 || wanted.includes(name))
  const searches = await findPlanted(chosen, seed, size)
  console.log(tableOfSearches(searches))
  process.exit(searches.every(({ found }) => found) ? 0 : 1)
}
if (positionals.length > 0) refuse(`unknown: ${positionals.join(" ")}`)

if (values.root !== undefined) {
  const root = resolve(values.root)
  if (!existsSync(join(root, "dist/main.js"))) refuse(`${root} has not been built`)
  process.env.GATES_FROM = root
}
const only = values.only?.split(",")
const chosen = scenarios.filter(({ name }) => only?.includes(name) ?? true)
if (chosen.length === 0)
  refuse(
    "no such scenario; there are:",
    scenarios.map(({ name }) => name),
  )
/** With its causes: what was waited for says what was there instead. */
const inWords = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : `${error.message}: ${inWords(error.cause)}`
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
    const wrongs = [inWords(error)]
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
