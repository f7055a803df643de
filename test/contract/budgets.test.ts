/**
 * Budgets of campaign, account and callers on every store: calls over three gates that die at any moment, with a step carried out or not.
 * Settled, held and left add up, nothing is charged twice, and the caps are kept. `npm run verify -- contract` plays ten times as many calls.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Store } from "../../src/store/Store.ts"
import { SEED } from "../harness/seed.ts"
import { onEveryStoreAndCluster } from "../harness/stores.ts"
import { playKills } from "../support/budget-kills.ts"

const CALLS = Number(process.env.TEST_BUDGET_CALLS ?? 300)
/** Minutes that so many calls use up, as a thousand use up these. */
const scaled = (minutes: number): number => Math.ceil((minutes * CALLS) / 1_000)

describe("budgets over gates that die", () => {
  onEveryStoreAndCluster((store) => {
    it.effect(
      `${CALLS} calls are charged once, and the caps are kept (seed ${SEED})`,
      () =>
        Effect.gen(function* () {
          yield* TestClock.setTime(Date.now())
          const report = yield* playKills(
            SEED,
            yield* Store,
            {
              calls: CALLS,
              capMinutes: scaled(250),
              accountMinutes: scaled(240),
              callerMinutes: scaled(30),
              perSecond: 16,
            },
            true,
          )
          assert.deepStrictEqual(report.wrong, [], JSON.stringify(report))
          assert.isAbove(report.kills, 0)
          assert.isAbove(report.calls, CALLS / 5)
        }).pipe(Effect.provide(store)),
      600_000,
    )
  })
})
