/**
 * What the simulation must come to. `corners.json` records histories that come to all of it together; when the program has changed so that
 * they no longer do, others are searched. `npm run verify -- simulation --record` brings the table up to date.
 */
import table from "./corners.json" with { type: "json" }
import { MOST_SEEDS, writeTable } from "./found.ts"
import { planOf } from "./generate.ts"
import type { Plan } from "./plan.ts"
import { type Played, play } from "./play.ts"
import { withSignals } from "./signals.ts"

/** How the platform tells that a call is over: as the history says, by the page alone, or not at all. */
export type Told = "usual" | "page" | "none"

/** Answers, and moves (`rule from→to`), that the histories must contain. */
const CORNERS: Readonly<Record<Told, ReadonlyArray<string>>> = {
  usual: [
    ...["admit starting", "admit waiting", "admit full", "admit waiting→called"],
    ...["start starting", "start waiting", "start busy", "start live", "start ended", "start called→missed"],
    ...["bind live", "bind ended", "bind stale", "bind waiting→called"],
    ...["fail waiting", "fail failed", "fail stale", "fail waiting→called"],
    ...["fail capacity waiting", "fail limited waiting", "fail refused failed", "fail rejected waiting"],
    ...["fail disrupted waiting", "fail answered waiting", "fail doubt waiting"],
    ...["resolve running", "resolve open", "resolve free", "sweep doubt→none"],
    ...["alias kept", "alias ended", "alias stale", "alias waiting→called", "alias kept by audit"],
    ...["end released", "end repeat", "end unknown", "end waiting→called"],
    ...["withdraw waiting→left", "reportOutage waiting→left", "reportOutage starting→left", "admit withdrawn"],
    "reportOutage starting→called",
    ...["clear waiting→removed", "clear called→removed", "end released elsewhere", "fail elsewhere"],
    ...["leave waiting→left", "leave called→left", "leave busy", "leave ended", "leave waiting→called"],
    ...[
      "sweep called→missed",
      "sweep starting→waiting",
      "sweep live→reclaimed",
      "sweep waiting→abandoned",
      "sweep waiting→called",
      "sweep owed",
      "audit asks",
    ],
    ...["end passes over", "sweep passes over"],
    ...["attach waiting", "attach called", "attach starting", "attach live", "attach ended"],
    ...["account withholds a slot", "account leaves a slot to another"],
    ...["a call with budgets begins", "more time is held", "a call is charged", "time is given back"],
    ...["a budget refuses a call", "fail starting→budget", "end live→budget", "fail unpaid waiting"],
    ...["a budget alerts", "a budget is used up", "a budget is overrun"],
    ...["a caller waits for a budget of his own", "the budget of a caller who waits for it has time again"],
    ...["a call is corrected", "an operator adds to a budget"],
    ...["sweep waiting→closed", "a page is warned", "a call is to be ended at its limit", "end live→too_long"],
    ...["a connected page is offered something", "a caller who is queued is offered something"],
    ...["a caller who polls is offered something", "a caller is offered something with QueueFull"],
    "a caller takes what is offered",
    "stop",
  ],
  page: ["end released", "leave busy"],
  none: ["sweep live→reclaimed"],
}

export const planOfTold = (told: Told, seed: number): Plan =>
  told === "usual" ? planOf(seed) : withSignals(planOf(seed), told)

const recorded: Readonly<Record<Told, ReadonlyArray<number>>> = table

/** All seeds, the recorded ones first. */
const searched = (told: Told): ReadonlyArray<number> => [
  ...new Set([...recorded[told], ...Array.from({ length: MOST_SEEDS }, (_, n) => n + 1)]),
]

export interface Reached {
  /** the corners that no history came to */
  readonly missing: ReadonlyArray<string>
  /** whether the recorded histories came to all */
  readonly isRecorded: boolean
}

/** Plays histories until all corners were seen. */
export const reachAll = (told: Told, each: (played: Played) => void): Reached => {
  let missing = CORNERS[told]
  let count = 0
  for (const seed of searched(told)) {
    if (missing.length === 0) break
    const played = play(planOfTold(told, seed))
    count++
    each(played)
    missing = missing.filter((corner) => !played.seen.has(corner))
  }
  return { missing, isRecorded: count <= recorded[told].length }
}

/** Few and short histories that come to all: each time the one that adds most for its steps. Undefined when all together do not. */
const cover = (told: Told): ReadonlyArray<number> | undefined => {
  const all = searched(told).map((seed) => play(planOfTold(told, seed)))
  const chosen: Array<number> = []
  for (let missing = CORNERS[told]; missing.length > 0; ) {
    const gain = ({ seen, steps }: Played): number =>
      missing.filter((corner) => seen.has(corner)).length / Math.sqrt(steps)
    const [best] = all.toSorted((a, b) => gain(b) - gain(a))
    if (best === undefined || gain(best) === 0) return undefined
    chosen.push(best.plan.seed)
    missing = missing.filter((corner) => !best.seen.has(corner))
  }
  return chosen
}

/** Writes the table anew, and answers whether everything was reached. */
export const recordCorners = (): boolean => {
  const [usual, page, none] = [cover("usual"), cover("page"), cover("none")]
  writeTable("corners.json", {
    usual: usual ?? recorded.usual,
    page: page ?? recorded.page,
    none: none ?? recorded.none,
  })
  return usual !== undefined && page !== undefined && none !== undefined
}
