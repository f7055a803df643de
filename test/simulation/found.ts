/**
 * Which history finds a planted fault. `found.json` records one for each, so that a test plays this one first; when the program
 * has changed so that it no longer finds its fault, all are tried. `npm run verify -- simulation --record` brings the table up to date.
 */
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import table from "./found.json" with { type: "json" }
import { planOf } from "./generate.ts"
import type { Plan } from "./plan.ts"
import { type Played, play } from "./play.ts"
import { failsAlike } from "./report.ts"
import { withFewActions } from "./shrink.ts"
import type { Planted } from "./world.ts"

/** A fault, and a corner, is seen within so many histories. */
export const MOST_SEEDS = 200
/** How many histories may be played to leave actions out of one. */
const SHRINK_BUDGET = 120

/** A history that goes wrong with the fault, and the indices of those of its actions with which alone it does too. */
interface Recorded {
  readonly seed: number
  readonly actions: ReadonlyArray<number>
}

export interface Found extends Recorded {
  readonly violation: string
}

const recorded: Readonly<Record<string, Recorded>> = table

const partOf = (plan: Plan, { actions }: Recorded): Plan => ({
  ...plan,
  actions: plan.actions.filter((_, index) => actions.includes(index)),
})

/** Leaves out what the history fails without. */
const shortened = (failed: Played, planted: Planted, violation: string): Found => {
  const { plan } = failed
  const short = withFewActions(plan, failsAlike(failed, planted), SHRINK_BUDGET)
  return { seed: plan.seed, actions: short.actions.map((action) => plan.actions.indexOf(action)), violation }
}

/** Plays what is recorded; undefined when it does not find the fault any more. */
const again = (planted: Planted): Found | undefined => {
  const known = recorded[planted.name]
  if (known === undefined || known.seed < 1 || known.seed > MOST_SEEDS) return undefined
  const plan = planOf(known.seed)
  const played = play(plan, { planted })
  if (played.violation === undefined || !failsAlike(played, planted)(partOf(plan, known))) return undefined
  return { ...known, violation: played.violation }
}

/** Plays one history after the other. */
const searched = (planted: Planted): Found | undefined => {
  for (let seed = 1; seed <= MOST_SEEDS; seed++) {
    const played = play(planOf(seed), { planted })
    if (played.violation !== undefined) return shortened(played, planted, played.violation)
  }
  return undefined
}

/** A history that finds the fault; `isRecorded` says that it was the recorded one. */
export const find = (planted: Planted): (Found & { readonly isRecorded: boolean }) | undefined => {
  const known = again(planted)
  if (known !== undefined) return { ...known, isRecorded: true }
  const found = searched(planted)
  return found && { ...found, isRecorded: false }
}

/** Finds the fault and prints what found it; undefined when nothing did. */
export const search = (planted: Planted): (Found & { readonly isRecorded: boolean }) | undefined => {
  const found = find(planted)
  console.log(`${found === undefined ? "not found" : `seed ${found.seed}`}: ${planted.name}`)
  return found
}

/** Writes a table of this folder. */
export const writeTable = (name: string, table: unknown): void => {
  const file = join(import.meta.dirname, name)
  writeFileSync(file, JSON.stringify(table))
  execFileSync("npx", ["biome", "format", "--write", file], { stdio: "ignore" })
}

/** Writes the table anew: a fault keeps its entry as long as that finds it. Answers whether all were found. */
export const record = (faults: ReadonlyArray<Planted>): boolean => {
  const table: Record<string, Recorded> = {}
  for (const planted of faults) {
    const found = search(planted)
    if (found !== undefined) table[planted.name] = { seed: found.seed, actions: found.actions }
  }
  writeTable("found.json", table)
  return Object.keys(table).length === faults.length
}
