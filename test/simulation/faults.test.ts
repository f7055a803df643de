/** Tests the simulation itself: it finds every planted fault and shrinks its history. */
import { assert, describe, it } from "@effect/vitest"
import { faults } from "./faults.ts"
import { find, MOST_SEEDS } from "./found.ts"

/** The shrunk history needs only a few callers and few troubles. */
const MOST_ACTIONS = 12

describe("the simulation detects that", () => {
  for (const planted of faults) {
    it(planted.name, { timeout: 120_000 }, () => {
      const found = find(planted)
      if (found === undefined) return assert.fail(`not found in ${MOST_SEEDS} histories`)
      const { actions, isRecorded, seed, violation } = found
      console.log(`seed ${seed}, ${actions.length} actions: ${violation}`)
      if (!isRecorded) console.log("searched: `npm run verify -- simulation --record` records this history")
      assert.isAtMost(actions.length, MOST_ACTIONS)
    })
  }
})
