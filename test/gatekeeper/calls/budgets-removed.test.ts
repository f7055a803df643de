/** Gates whose campaign has lost its budgets by a change of the settings. */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { campaignBook } from "../../../src/budgets/keys.ts"
import { rules } from "../../../src/budgets/rules.ts"
import { StoreUnavailable } from "../../../src/protocol/refusals.ts"
import { NO_CONTEXT } from "../../../src/store/rule.ts"
import type { Store } from "../../../src/store/Store.ts"
import { BEGIN, begin, type Given, hangUp, makeWorld } from "../../support/gate.ts"
import { makeStore, startGate } from "../../support/gates.ts"

const DAY_MILLIS = 86_400_000
const withBudget: Given = {
  VoiceAiPlatform: { Budgets: [{ Name: "team", Of: "campaign", Unit: "minutes", Per: "day", Cap: 10 }] },
}

it.effect("a gate charges a call that another gate owes to a budget which the settings do not have any more", () =>
  Effect.gen(function* () {
    yield* TestClock.setTime(BEGIN)
    const store = yield* makeStore
    const settles = rules.settle.name
    const away = Effect.fail(new StoreUnavailable({ message: "away" }))
    const failing: Store["Service"] = {
      ...store,
      run: (rule, ask) => (rule.name === settles ? away : store.run(rule, ask)),
    }
    const world = makeWorld()
    const before = yield* startGate(world, failing, withBudget)
    const { sessionId } = yield* before.on(begin())
    yield* TestClock.adjust("30 seconds")
    yield* before.on(hangUp(sessionId))
    yield* before.stop
    yield* startGate(world, store, {})
    yield* TestClock.adjust("20 seconds")
    const call = { windows: [{ name: "team", from: Math.floor(BEGIN / DAY_MILLIS) * DAY_MILLIS }] }
    const keys = campaignBook("business/campaign")
    const { standings } = yield* store.run(rules.balance, { keys, now: BEGIN, context: NO_CONTEXT, call })
    expect(standings).toEqual([{ settled: 30, held: 0, adjusted: 0 }])
  }).pipe(Effect.scoped),
)
