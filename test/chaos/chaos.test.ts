/**
 * Chaos tests at a size for every run: real gates on a real Redis, a fault in the middle, and the invariants checked from outside and in the
 * store afterwards. The commits take turns with the scenarios, and each decides what a seed decides in them (`test/harness/seed.ts`). All
 * scenarios, larger: `npm run verify -- chaos`.
 */
import { assert, describe, it } from "@effect/vitest"
import { rotating, SEED } from "../harness/seed.ts"
import { scenarios } from "./index.ts"
import { carryOut } from "./support/scenario.ts"

/** Those that recover within seconds. A commit has one row: it takes some 15 s of CPU, and its scenarios mostly wait, so they run concurrently. */
const SMALL: ReadonlyArray<ReadonlyArray<string>> = [
  ["gate-killed"],
  ["gate-stopped"],
  ["redis-always", "redis-emptied"],
  ["redis-full", "junk-records"],
  ["silent-subscription", "cut-redis"],
  ["cut-callers", "redis-stopped"],
  ["platform-refuses", "end-twice"],
  ["reconnect"],
  ["budgets-killed"],
  ["budget-waits"],
  ["hours"],
  ["own-budget-waits"],
]

describe("order is restored, and no promise was broken", () => {
  for (const name of rotating(SMALL, 1).flat()) {
    it.concurrent(`order is restored after ${name}, and no promise was broken (seed ${SEED})`, async () => {
      const scenario = scenarios.find((each) => each.name === name)
      if (scenario === undefined) throw new Error(`no scenario is named ${name}`)
      const rows = await carryOut(scenario, "small", SEED)
      assert.isNotEmpty(rows)
      const wrongs = rows.flatMap((row) => row.wrongs)
      assert.isEmpty(wrongs, wrongs.join("\n"))
    }, 400_000)
  }
})
