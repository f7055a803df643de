/**
 * Tests the simulation itself: it finds the planted faults and shrinks their histories. The commits take turns with the faults;
 * `npm run verify -- simulation --planted` looks for all.
 */
import { assert, describe, it } from "@effect/vitest"
import { rotating } from "../harness/seed.ts"
import { faults } from "./faults.ts"
import { find, MOST_SEEDS } from "./found.ts"

/** So many of a commit. */
const FAULTS = 24
/** The shrunk history needs only a few callers and few troubles. */
const MOST_ACTIONS = 12

describe("the simulation detects that", () => {
  it.each(rotating(faults, FAULTS).map((planted) => [planted.name, planted] as const))(
    "%s",
    {
      // where the recorded history is out of date, all are played
      timeout: 600_000,
    },
    (_, planted) => {
      const found = find(planted)
      if (found === undefined) return assert.fail(`not found in ${MOST_SEEDS} histories`)
      const { actions, isRecorded, seed, violation } = found
      console.log(`seed ${seed}, ${actions.length} actions: ${violation}`)
      if (!isRecorded) console.log("searched: `npm run verify -- simulation --record` records this history")
      assert.isAtMost(actions.length, MOST_ACTIONS)
    },
  )
})
