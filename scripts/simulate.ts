/**
 * Runs random histories in the simulation:
 *
 *     node scripts/simulate.ts [--seeds N] [--from SEED] [--seconds S] [--fault NAME]
 *     node scripts/simulate.ts --record
 *
 * By default 1,000 histories; with `--seconds` until the time is up. A failing one is shrunk and printed with its seed, and the exit
 * code is 1. `--fault` plants one of the faults of scripts/simulation/faults.ts. `--record` looks for a history that finds each of them
 * and writes scripts/simulation/found.json.
 */
import { parseArgs } from "node:util"
import { faults } from "./simulation/faults.ts"
import { record } from "./simulation/found.ts"
import { planOf } from "./simulation/generate.ts"
import { play } from "./simulation/play.ts"
import { report } from "./simulation/report.ts"

const { values } = parseArgs({
  options: {
    seeds: { type: "string" },
    from: { type: "string", default: "1" },
    seconds: { type: "string" },
    fault: { type: "string" },
    record: { type: "boolean", default: false },
  },
})
if (values.record) {
  record(faults)
  process.exit()
}
const from = Number(values.from)
const seconds = Number(values.seconds ?? Number.POSITIVE_INFINITY)
const seeds = Number(values.seeds ?? (values.seconds === undefined ? 1_000 : Number.POSITIVE_INFINITY))
const planted = faults.find(({ name }) => name === values.fault)
if (values.fault !== undefined && planted === undefined) {
  console.error(`unknown fault; known faults:\n${faults.map(({ name }) => `  ${name}`).join("\n")}`)
  process.exit(2)
}

const begun = performance.now()
const elapsed = (): number => (performance.now() - begun) / 1000
let steps = 0
let changes = 0
let millis = 0
let played = 0
while (played < seeds && elapsed() < seconds) {
  const history = play(planOf(from + played), { planted })
  played++
  steps += history.steps
  changes += history.changes
  millis += history.millis
  if (history.violation !== undefined) {
    console.error(report(history, planted))
    process.exitCode = 1
    break
  }
}
console.log(
  `${played} histories from seed ${from}: ${steps} steps, ${changes} of them changes, ${(millis / 3_600_000).toFixed(1)} ` +
    `simulated hours in ${elapsed().toFixed(1)} s, ${Math.round(steps / elapsed())} steps per second`,
)
