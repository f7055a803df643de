/** Budgets over gates that die: all adds up, nothing is charged twice, and the cap is kept. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { asOnCluster } from "../../harness/one-slot.ts"
import { SEED } from "../../harness/seed.ts"
import { playKills } from "../../support/budget-kills.ts"
import { BEGIN } from "../../support/gate.ts"
import { makeStore } from "../../support/gates.ts"

describe("budgets over gates that die", () => {
  for (const [where, crossSlot] of [
    ["on one server", true],
    ["where a caller's book is a step of its own, as on a cluster", false],
  ] as const) {
    it.effect(
      `settled, held and left add up after kills, and the caps are kept, ${where} (seed ${SEED})`,
      () =>
        Effect.gen(function* () {
          yield* TestClock.setTime(BEGIN)
          const memory = yield* makeStore
          const store = crossSlot ? memory : asOnCluster(memory)
          const report = yield* playKills(SEED, store, { calls: 150, capMinutes: 40, callerMinutes: 20 })
          assert.deepStrictEqual(report.wrong, [], JSON.stringify(report))
          assert.isAbove(report.kills, 0)
          assert.isAbove(report.calls, 50)
        }),
      300_000,
    )
  }
})
