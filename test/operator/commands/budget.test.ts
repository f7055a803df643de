/** The commands about budgets: what they ask of the gate, and what they print. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import type { BudgetOrder } from "../../../src/operator/budget-orders.ts"
import type { BudgetsView } from "../../../src/operator/budget-shapes.ts"
import { budgetsViewOf } from "../../../src/operator/budgets.ts"
import { adjustBudget, changeOf, showBudgets } from "../../../src/operator/commands/budget.ts"
import { ConsoleFailed } from "../../../src/operator/commands/console-client.ts"
import { Operator } from "../../../src/operator/Operator.ts"
import { begin, CALLER, gateTest, stateOf } from "../../support/gate.ts"

const given = {
  VoiceAiPlatform: {
    MaxConcurrency: 2,
    Budgets: [
      { Name: "team", Of: "campaign", Unit: "minutes", Per: "day", Cap: 1.5 },
      { Name: "own", Of: "caller", Unit: "minutes", Per: "month", Cap: 20 },
    ],
  },
}

/** The commands' client, without a wire. */
const client = Effect.map(Operator, (operator) => {
  const answered = <A>(answer: Effect.Effect<A | "no_caller" | undefined, { readonly message: string }>) =>
    Effect.flatMap(
      Effect.mapError(answer, ({ message }) => new ConsoleFailed({ message })),
      (found) =>
        found === undefined || found === "no_caller"
          ? Effect.fail(new ConsoleFailed({ message: String(found) }))
          : Effect.succeed(found),
    )
  return {
    budgets: (campaign: string, whose: object) => answered(operator.budgets(campaign, whose)),
    adjustBudget: (campaign: string, order: BudgetOrder) => answered(operator.adjustBudget(campaign, "ada", order)),
  }
})
const order: BudgetOrder = { budget: "team", by: 5, id: "top-up-1", reason: "a busy day" }

describe("the commands about budgets", () => {
  gateTest("show the balances, and those of a caller where one is named", given, () =>
    Effect.gen(function* () {
      yield* begin()
      const gate = yield* client
      const { lines } = yield* showBudgets(gate, "default", {})
      assert.match(lines[1] ?? "", /^team {2,}campaign +day +1\.5 +0 +0 +1 +0\.5 +0 +minutes +2027-01-16T00:00:00/)
      assert.strictEqual(lines.length, 2)
      const own = (yield* showBudgets(gate, "default", { caller: CALLER })).lines[2]
      assert.match(own ?? "", /^own {2,}caller +month +20 +0 +0 +1 +19 /)
      assert.strictEqual((yield* Effect.flip(showBudgets(gate, "default", { caller: "nobody" }))).message, "no_caller")
    }),
  )

  it.effect("say whose caps they show where instances have different ones", () =>
    Effect.gen(function* () {
      const differences = ["VoiceAiPlatform.Budgets is team 5 minutes here and team 6 minutes there"]
      const shown = (document: BudgetsView) =>
        Effect.map(showBudgets({ budgets: () => Effect.succeed(document) }, "default", {}), ({ lines }) => lines.at(-1))
      assert.strictEqual(
        yield* shown({ campaign: "default", budgets: [], differences }),
        'The instances have different settings, and these are the caps of the one that has answered ("here"): ' +
          "VoiceAiPlatform.Budgets is team 5 minutes here and team 6 minutes there.",
      )
      assert.match((yield* shown({ campaign: "default", budgets: [] })) ?? "", /^default has no budgets/)
    }),
  )

  gateTest("are told of other instances' settings only where these concern budgets of the campaign", given, () =>
    Effect.gen(function* () {
      const internals = (yield* Gatekeeper).internals()
      const campaign = internals.campaigns.find(undefined)
      if (campaign === undefined) return assert.fail("no campaign")
      const ofOthers = (...differences: ReadonlyArray<ReadonlyArray<string>>) =>
        budgetsViewOf(
          { ...internals, peers: () => ({ at: 0, since: 0, gates: 2, trouble: [], differences }) },
          campaign,
          {},
        )
      const caps = "VoiceAiPlatform.Budgets is team 5 here and team 6 there"
      const others = [
        "Queue.MaxLength is 5 here and 6 there",
        "VoiceAiPlatform.Campaigns.sales.Budgets is none here and a there",
      ]
      assert.deepInclude(yield* ofOthers(others, [...others, caps], [caps]), { differences: [caps] })
      assert.notProperty(yield* ofOthers(others), "differences")
    }),
  )

  const ofCallers = {
    VoiceAiPlatform: { Budgets: [{ Name: "own", Of: "caller", Unit: "minutes", Per: "month", Cap: 20 }] },
  }
  gateTest("say how budgets of callers are shown where a campaign has no other", ofCallers, () =>
    Effect.gen(function* () {
      const gate = yield* client
      assert.deepStrictEqual((yield* showBudgets(gate, "default", {})).lines, [
        "default has no budgets, or budgets of callers alone: for those, add --caller or --subject.",
      ])
      assert.strictEqual((yield* showBudgets(gate, "default", { caller: CALLER })).lines.length, 2)
    }),
  )

  gateTest("change a cap once by the change's id, with a line in the audit log written before", given, (world) =>
    Effect.gen(function* () {
      world.end = () => Effect.succeed(true)
      const { uniqueRequestId: ticket } = yield* begin()
      const gate = yield* client
      const [first] = (yield* adjustBudget(gate, "default", order)).lines
      assert.strictEqual(first, "Changed for this day (id top-up-1).")
      const again = yield* adjustBudget(gate, "default", order)
      assert.strictEqual(again.lines[0], "Nothing was changed: top-up-1 was made before.")
      assert.match(again.lines[2] ?? "", /^team +campaign +day +1\.5 +5 +0 +1 +5\.5 /)
      const { lines = [] } = (yield* Operator.use((operator) => operator.auditLog("default", 0, 10))) ?? {}
      assert.deepInclude(lines.at(-1), { who: "ada", action: "settings" })
      assert.include(JSON.stringify(lines.at(-1)), "+5 (top-up-1): a busy day")
      // the repetition has none
      assert.strictEqual(lines.filter(({ action }) => action === "settings").length, 1)
      assert.strictEqual(yield* stateOf(ticket), "live")
      const unknown = yield* adjustBudget(gate, "default", { ...order, budget: "own" })
      assert.deepInclude(unknown, { ok: false })
      const own = yield* adjustBudget(gate, "default", { ...order, budget: "own", by: -3, caller: CALLER })
      assert.match(own.lines[2] ?? "", /^own +caller +month +20 +-3 +0 +1 +16 /)
    }),
  )

  it.effect("need an amount to add or to take, and say how a change is tried again", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* changeOf(0, 2.5, "change-1"), { by: -2.5, id: "change-1" })
      assert.match((yield* changeOf(1, 0, undefined)).id, /^[\w-]{36}$/)
      for (const [add, take] of [
        [0, 0],
        [1, 1],
      ] as const)
        assert.include((yield* Effect.flip(changeOf(add, take, undefined))).message, "--add or --take")
      const away = { adjustBudget: () => Effect.fail(new ConsoleFailed({ message: "It did not answer." })) }
      const { message } = yield* Effect.flip(adjustBudget(away, "default", order))
      assert.strictEqual(message, "It did not answer. To try the same again, add --id top-up-1.")
    }),
  )
})
