/**
 * Chaos tests at a size for every run: real gates on a real Redis, a fault in the middle, and the invariants checked
 * from outside and in the store afterwards. All scenarios, larger: `npm run verify -- chaos`. `CHAOS_SEED` repeats what a
 * seed decides.
 */
import { assert, describe, it } from "@effect/vitest"
import { scenarios } from "./index.ts"
import { carryOut } from "./support/scenario.ts"

/** Scenarios that recover within seconds; they mostly wait, so they run concurrently. */
const SMALL = [
  "gate-killed",
  "gate-stopped",
  "redis-always",
  "redis-emptied",
  "redis-full",
  "junk-records",
  "silent-subscription",
  "cut-redis",
  "cut-callers",
  "redis-stopped",
  "platform-refuses",
  "end-twice",
  "reconnect",
]

const seed = Number(process.env.CHAOS_SEED ?? Date.now() % 1_000_000)

describe("order is restored, and no promise was broken", () => {
  for (const name of SMALL) {
    it.concurrent(`after ${name} (seed ${seed})`, async () => {
      const scenario = scenarios.find((each) => each.name === name)
      if (scenario === undefined) throw new Error(`no scenario is named ${name}`)
      const rows = await carryOut(scenario, "small", seed)
      assert.isNotEmpty(rows)
      const wrongs = rows.flatMap((row) => row.wrongs)
      assert.isEmpty(wrongs, wrongs.join("\n"))
    }, 400_000)
  }
})
