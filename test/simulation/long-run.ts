/**
 * Runs random histories in the simulation:
 *
 *     npm run verify -- simulation [--seed N] [--minutes M] [--histories N] [--redis] [--signals page|none] [--trace] [--fault NAME]
 *     npm run verify -- simulation --planted
 *     npm run verify -- simulation --record
 *
 * By default 1,000 histories, beginning with one of the first million; with `--minutes` until the time is up. A failing one is shrunk and
 * printed with its seed, and the exit code is 1. `--redis` plays them on a real server too, by default 20: each must take the same course there.
 * `--signals` takes platforms whose ends the page alone tells, or nobody. `--trace` prints the course of each. `--fault` plants one of the faults of
 * `faults.ts`. `--planted` looks for every one of them among the histories from 1 on, and exits with 1 when one is not found. `--record` does so and
 * writes what found it to `found.json`, and histories that come to all corners to `corners.json`.
 */
import { parseArgs } from "node:util"
import { Effect } from "effect"
import { millisOf, refuseArguments, SHARED_FLAGS, seedOf } from "../harness/long-run.ts"
import { recordCorners } from "./corners.ts"
import { faults } from "./faults.ts"
import { record, search } from "./found.ts"
import { planOf } from "./generate.ts"
import { onRedis } from "./on-redis.ts"
import { type Played, play } from "./play.ts"
import { report } from "./report.ts"
import { withSignals } from "./signals.ts"

const { values } = parseArgs({
  options: {
    ...SHARED_FLAGS,
    histories: { type: "string" },
    redis: { type: "boolean", default: false },
    signals: { type: "string" },
    trace: { type: "boolean", default: false },
    fault: { type: "string" },
    planted: { type: "boolean", default: false },
    record: { type: "boolean", default: false },
  },
})
if (values.record) process.exit([record(faults), recordCorners()].includes(false) ? 1 : 0)
if (values.planted) process.exit(faults.filter((planted) => search(planted) === undefined).length === 0 ? 0 : 1)
const planted = faults.find(({ name }) => name === values.fault)
if (values.fault !== undefined && planted === undefined)
  refuseArguments(`unknown fault; known faults:\n${faults.map(({ name }) => `  ${name}`).join("\n")}`)
const { signals } = values
if (signals !== undefined && signals !== "page" && signals !== "none")
  refuseArguments(`--signals: Expected page or none. Found: ${signals}`)
const from = seedOf(values.seed)
const longest = millisOf(values.minutes) ?? Number.POSITIVE_INFINITY
const most = Number(
  values.histories ?? (values.minutes !== undefined ? Number.POSITIVE_INFINITY : values.redis ? 20 : 1_000),
)

const inMemory = (seed: number): Played => {
  const plan = planOf(seed)
  const told = signals === "page" || signals === "none" ? withSignals(plan, signals) : plan
  return play(told, { planted, traced: values.trace })
}

const began = performance.now()
const elapsed = (): number => performance.now() - began
let steps = 0
let changes = 0
let millis = 0
let played = 0
const run = Effect.gen(function* () {
  const playOn = values.redis ? yield* onRedis : undefined
  while (played < most && elapsed() < longest) {
    const seed = from + played
    const history = playOn === undefined ? inMemory(seed) : yield* playOn(seed)
    played++
    steps += history.steps
    changes += history.changes
    millis += history.millis
    if (values.trace) console.log(history.trace.join("\n"))
    if (history.violation !== undefined) {
      console.error(report(history, planted))
      process.exitCode = 1
      break
    }
  }
})
await Effect.runPromise(Effect.scoped(run))
const seconds = elapsed() / 1000
console.log(
  `${played} histories from seed ${from}: ${steps} steps, ${changes} of them changes, ${(millis / 3_600_000).toFixed(1)} ` +
    `simulated hours in ${seconds.toFixed(1)} s, ${Math.round(steps / seconds)} steps per second`,
)
