/**
 * Chaos tests: breaks the gate's dependencies, at full size, and prints the promises and the observations:
 *
 *     npm run verify -- chaos [--only NAME[,NAME…]] [--seed N] [--size full|small] [--json FILE] [--root DIR]
 *     npm run verify -- chaos --planted [NAME…] [--seed N] [--size full|small]
 *
 * Exit code 1 when a promise did not hold. The seed determines all choices of the scenarios, but not the timing of processes. With
 * `--root` gates run from the build of another checkout, such as an older commit. With `--planted` it plants faults in a copy of this
 * checkout (`test/chaos/planted.ts`; by default all) and exits with 1 when a fault's scenario does not find it; the default size is then
 * small.
 */
import { existsSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { SHARED_FLAGS, seedOf } from "../harness/long-run.ts"
import { findPlanted, tableOfSearches } from "./find-planted.ts"
import { scenarios } from "./index.ts"
import { planted } from "./planted.ts"
import { carryOut, type Row, tableOf } from "./support/scenario.ts"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: "string" },
    seed: SHARED_FLAGS.seed,
    size: { type: "string" },
    json: { type: "string" },
    root: { type: "string" },
    planted: { type: "boolean", default: false },
  },
})
/** Exits with an error about the arguments. */
const refuse = (why: string, names: ReadonlyArray<string> = []): never => {
  console.error([why, ...names.map((name) => `  ${name}`)].join("\n"))
  process.exit(2)
}
const seed = seedOf(values.seed)
const size = (values.size ?? (values.planted ? "small" : "full")) === "small" ? "small" : "full"

if (values.planted) {
  const wanted = positionals.filter((name) => name !== "all")
  const unknown = wanted.find((name) => !planted.some((each) => each.name === name))
  if (unknown !== undefined)
    refuse(
      `unknown fault: ${unknown}; known faults:`,
      planted.map(({ name }) => name),
    )
  console.error(size)
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
    "unknown scenario; known scenarios:",
    scenarios.map(({ name }) => name),
  )
/** An error with its causes: that of a timeout contains the last observed state. */
const describe = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : `${error.message}: ${describe(error.cause)}`
}

console.error(size)
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
    const wrongs = [describe(error)]
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
// what a broken scenario has left running must not keep the process
if (rows.some(({ wrongs }) => wrongs.length > 0)) process.exit(1)
