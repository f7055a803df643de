/** Budgets over gates that die: all adds up, nothing is charged twice, and the cap is kept. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { SEED } from "../../harness/seed.ts"
import { playKills } from "../../support/budget-kills.ts"
import { BEGIN } from "../../support/gate.ts"
import { makeStore } from "../../support/gates.ts"

describe("budgets over gates that die", () => {
  it.effect(
    `settled, held and left add up after kills, and the caps are kept (seed ${SEED})`,
    () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(BEGIN)
        const report = yield* playKills(SEED, yield* makeStore, { calls: 200, capMinutes: 40, callerMinutes: 20 })
        assert.deepStrictEqual(report.wrong, [], JSON.stringify(report))
        assert.isAbove(report.kills, 0)
        assert.isAbove(report.calls, 50)
      }),
    300_000,
  )
})
