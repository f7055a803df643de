/**
 * Runs random histories in the simulation:
 *
 *     npm run verify -- simulation [--seed N] [--minutes M] [--histories N] [--fault NAME]
 *     npm run verify -- simulation --planted
 *     npm run verify -- simulation --record
 *
 * By default 1,000 histories, beginning with one of the first million; with `--minutes` until the time is up. A failing one is shrunk and
 * printed with its seed, and the exit code is 1. `--fault` plants one of the faults of `faults.ts`. `--planted` looks for every one of them among the
 * histories from 1 on, and exits with 1 when one is not found. `--record` does so and writes what found it to `found.json`.
 */
import { parseArgs } from "node:util"
import { millisOf, refuseArguments, SHARED_FLAGS, seedOf } from "../harness/long-run.ts"
import { faults } from "./faults.ts"
import { record, search } from "./found.ts"
import { planOf } from "./generate.ts"
import { play } from "./play.ts"
import { report } from "./report.ts"

const { values } = parseArgs({
  options: {
    ...SHARED_FLAGS,
    histories: { type: "string" },
    fault: { type: "string" },
    planted: { type: "boolean", default: false },
    record: { type: "boolean", default: false },
  },
})
if (values.planted || values.record) {
  const all = values.record ? record(faults) : faults.filter((planted) => search(planted) === undefined).length === 0
  process.exit(all ? 0 : 1)
}
const planted = faults.find(({ name }) => name === values.fault)
if (values.fault !== undefined && planted === undefined)
  refuseArguments(`unknown fault; known faults:\n${faults.map(({ name }) => `  ${name}`).join("\n")}`)
const from = seedOf(values.seed)
const longest = millisOf(values.minutes) ?? Number.POSITIVE_INFINITY
const most = Number(values.histories ?? (values.minutes === undefined ? 1_000 : Number.POSITIVE_INFINITY))

const began = performance.now()
const elapsed = (): number => performance.now() - began
let steps = 0
let changes = 0
let millis = 0
let played = 0
while (played < most && elapsed() < longest) {
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
const seconds = elapsed() / 1000
console.log(
  `${played} histories from seed ${from}: ${steps} steps, ${changes} of them changes, ${(millis / 3_600_000).toFixed(1)} ` +
    `simulated hours in ${seconds.toFixed(1)} s, ${Math.round(steps / seconds)} steps per second`,
)
