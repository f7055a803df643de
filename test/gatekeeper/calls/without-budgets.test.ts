/** A campaign from which a reload has taken its budgets: what its calls hold is not held for ever, since other campaigns of the account have the same budget. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { campaignBook } from "../../../src/budgets/keys.ts"
import { rules } from "../../../src/budgets/rules.ts"
import { encodeData } from "../../../src/budgets/terms.ts"
import { holdName } from "../../../src/fifo-queue/rules/shared/charges.ts"
import { NO_CONTEXT } from "../../../src/store/rule.ts"
import { Store } from "../../../src/store/Store.ts"
import { BEGIN, gateTest } from "../../support/gate.ts"

const HOUR = 3_600_000
const KEYS = campaignBook("account/business/campaign")
const WINDOW = { name: "team", from: BEGIN, until: BEGIN + HOUR, shared: true as const }
const Account = { Name: "account", MaxConcurrency: 2 }
const team = { Name: "team", Of: "account", Unit: "minutes", Per: "hour", Cap: 10 }
const given = {
  VoiceAiPlatform: { Account, Campaigns: { other: { WebCampaignId: "other", Account, Budgets: [team] } } },
}

/** What the account's budget has settled and holds (s). */
const standing = Effect.gen(function* () {
  const store = yield* Store
  const now = yield* store.now
  const { standings } = yield* store.run(rules.balance, {
    ...{ keys: KEYS, now, context: NO_CONTEXT },
    call: { windows: [WINDOW] },
  })
  return [standings[0]?.settled, standings[0]?.held]
})

describe("a campaign without budgets", () => {
  gateTest("settles within minutes what its gates have held for a ticket that is over", given, () =>
    Effect.gen(function* () {
      const store = yield* Store
      const data = encodeData({
        ...{ ticket: "lost", lease: "1", caller: "ada" },
        windows: { team: [WINDOW.from, WINDOW.until] as const },
      })
      yield* store.run(rules.hold, {
        ...{ keys: KEYS, now: BEGIN, context: NO_CONTEXT },
        call: {
          ...{ id: holdName("lost", "1"), seconds: 60, least: 20, minimum: 0, roundUp: 1 },
          books: [{ entries: [{ ...WINDOW, cap: 600, onLimit: "end" }], data, due: BEGIN + 30_000 }],
        },
      })
      expect(yield* standing).toEqual([0, 60])
      yield* TestClock.adjust("4 minutes")
      expect(yield* standing).toEqual([60, 0])
    }),
  )
})
