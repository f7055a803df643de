/** Which budgets callers wait for, as operators are told it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { withBudgetNames } from "../../src/operator/awaited.ts"
import { search } from "../../src/operator/find.ts"
import { EMPTY_VIEW } from "../support/queue-view.ts"

const HOUR = 3_600_000
const WINDOWS = [
  { name: "month", until: 700 * HOUR },
  { name: "day", until: 24 * HOUR },
  { name: "minutes", until: 24 * HOUR, own: true as const },
  { name: "money", until: 24 * HOUR, own: true as const },
  { name: "hourly", until: HOUR, own: true as const },
  { name: "monthly", until: 700 * HOUR, own: true as const },
]

const row = (ticket: string, more: { readonly resumesAt?: number } = {}) => ({
  ...{ ticket, seq: 1, acceptedAt: 1, presentUntil: 1 },
  ...(more.resumesAt === undefined ? {} : { passedOver: "budget" as const, ...more }),
})

const stored = {
  ...EMPTY_VIEW,
  resumesAt: 24 * HOUR,
  waiting: 4,
  slotPage: [],
  waitingPage: [
    row("aaaa000000", { resumesAt: HOUR - 60_000 }),
    row("bbbb000000", { resumesAt: 24 * HOUR - 61_000 }),
    row("cccc000000"),
    row("dddd000000", { resumesAt: 700 * HOUR - 60_000 }),
  ],
}
/** The store's clock is a minute behind the time of day, of which the figures are told already. */
const snapshot = withBudgetNames(stored, WINDOWS, 60_000)

describe("budgets for which callers wait", () => {
  it("are named by the end of their windows, by the time of day", () => {
    assert.deepInclude(snapshot, { resumesAt: 24 * HOUR, budgets: ["day"] })
    const [first, second, third] = snapshot.waitingPage
    assert.deepInclude(first, { resumesAt: HOUR, budgets: ["hourly"] })
    assert.deepInclude(second, { resumesAt: 24 * HOUR - 1_000, budgets: ["minutes", "money"] })
    assert.notProperty(third, "budgets")
  })

  it("of a campaign whose settings have none any more have no name", () => {
    const unnamed = withBudgetNames(stored, [], 0)
    assert.deepInclude(unnamed, { resumesAt: 24 * HOUR })
    for (const each of [unnamed, ...unnamed.waitingPage]) assert.notProperty(each, "budgets")
  })

  it("have no name where no window ends at that time, as when another gate has other budgets", () => {
    const unnamed = withBudgetNames({ ...stored, resumesAt: 10 * HOUR }, WINDOWS, 60_000)
    assert.notProperty(unnamed, "budgets")
  })

  it.effect(
    "are told of a ticket that is found: that of its caller or that of all, whichever has more again later",
    () =>
      Effect.gen(function* () {
        const found = (hash: string) =>
          Effect.map(
            search([{ name: "default" }], { hash }, undefined, Effect.succeed(true), () => Effect.succeed(snapshot)),
            ({ found }) => found[0],
          )
        assert.deepInclude(yield* found("aaaa"), { resumesAt: 24 * HOUR, budgets: ["day"] })
        assert.deepInclude(yield* found("cccc"), { resumesAt: 24 * HOUR, budgets: ["day"] })
        assert.deepInclude(yield* found("dddd"), { resumesAt: 700 * HOUR, budgets: ["monthly"] })
      }),
  )
})
