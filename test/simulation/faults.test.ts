/** Tests the simulation itself: it finds every planted fault and shrinks its history. */
import { assert, describe, it } from "@effect/vitest"
import { faults } from "./faults.ts"
import { planOf } from "./plan.ts"
import { type Played, play } from "./play.ts"
import { shortest } from "./report.ts"
import type { Planted } from "./world.ts"

/** A fault must be found within this many histories. */
const MOST_SEEDS = 200
/** The shrunk history needs only a few callers and few troubles. */
const MOST_ACTIONS = 12
const SHRINK_BUDGET = 120

const caught = (planted: Planted): Played | undefined => {
  for (let seed = 1; seed <= MOST_SEEDS; seed++) {
    const played = play(planOf(seed), { planted })
    if (played.violation !== undefined) return played
  }
  return undefined
}

describe("the simulation detects that", () => {
  for (const planted of faults) {
    it(planted.name, { timeout: 120_000 }, () => {
      const played = caught(planted)
      if (played === undefined) return assert.fail(`not found in ${MOST_SEEDS} histories`)
      const { actions } = shortest(played, planted, SHRINK_BUDGET)
      console.log(
        `seed ${played.plan.seed}, ${played.plan.actions.length} → ${actions.length} actions: ${played.violation}`,
      )
      assert.isAtMost(actions.length, MOST_ACTIONS)
    })
  }
})
