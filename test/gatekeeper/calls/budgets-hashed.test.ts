/** Budgets of callers where `Privacy.Addresses: hashed` names them. */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { CALLER, type Given, makeWorld } from "../../support/gate.ts"
import { makeStore, startGate } from "../../support/gates.ts"

const given: Given = {
  VoiceAiPlatform: {
    MaxConcurrency: 5,
    Budgets: [{ Name: "own", Of: "caller", Unit: "minutes", Per: "month", Cap: 1 }],
  },
  Privacy: { Addresses: "hashed" },
}

it.effect("the budget of a month goes on on Monday for callers with a token, and begins anew for others", () =>
  Effect.gen(function* () {
    // two minutes before a Monday
    yield* TestClock.setTime(Date.UTC(2027, 0, 17, 23, 58))
    const gate = yield* startGate(makeWorld(), yield* makeStore, given)
    const request = (caller: object) =>
      gate.on(
        Gatekeeper.use((gate) =>
          Effect.match(gate.request({}, { address: CALLER, ...caller }), {
            onFailure: ({ _tag }): string => _tag,
            onSuccess: () => "Started",
          }),
        ),
      )
    const known = request({ identity: { subject: "customer-7" } })
    const unknown = request({})
    expect([yield* known, yield* unknown]).toEqual(["Started", "Started"])
    expect([yield* known, yield* unknown]).toEqual(["BudgetExhausted", "BudgetExhausted"])
    yield* TestClock.adjust("4 minutes")
    expect([yield* known, yield* unknown]).toEqual(["BudgetExhausted", "Started"])
  }).pipe(Effect.scoped),
)
