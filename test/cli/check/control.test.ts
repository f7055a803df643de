/** What `voicegate check` says of call length, price, budgets and offers. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { controlFindings, smallCaps } from "../../../src/cli/check/control.ts"
import { Settings } from "../../../src/settings/Settings.ts"
import { BEGIN, settingsLayer } from "../../support/gate.ts"

const said = (VoiceAiPlatform: Readonly<Record<string, unknown>>) =>
  Effect.gen(function* () {
    const { Campaigns } = yield* Settings
    return Campaigns.flatMap((campaign) => controlFindings(campaign, BEGIN)).map(
      ({ campaign, message, name }) => `${name}, ${campaign}: ${message}`,
    )
  }).pipe(Effect.provide(settingsLayer({ VoiceAiPlatform })))

const Euro = { PerMinute: 0.12, Currency: "EUR", RoundUpSeconds: 6 }

describe("voicegate check of what controls calls", () => {
  it.effect("says nothing where nothing is set", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* said({}), [])
    }),
  )

  it.effect("says the price and each budget in words", () =>
    Effect.gen(function* () {
      const found = yield* said({
        Price: Euro,
        Budget: { Zone: "Europe/Berlin", WaitMinutes: 45 },
        Budgets: [
          { Name: "month", Of: "campaign", Unit: "money", Per: "month", Cap: 300, AlertAt: [0.5, 0.8] },
          { Name: "customer", Of: "caller", Unit: "minutes", Per: "day", Cap: 20, OnLimit: "refuse" },
          { Name: "all", Of: "account", Unit: "minutes", Per: "hour", Cap: 90, OnLimit: "wait" },
          { Name: "watched", Of: "campaign", Unit: "minutes", Per: "day", Cap: 1, OnLimit: "count" },
        ],
        Account: { Name: "agency" },
      })
      assert.deepStrictEqual(found, [
        "price, default: a minute costs 0.12 EUR, and a call is billed in steps of 6 s. What a vendor's webhook says that a call has cost is in USD, so it is not charged",
        "budget, default: month: at most 300 EUR (about 2500 minutes) each month, by the clock of Europe/Berlin, for all calls of this campaign together. When it is used up, new callers are refused, and running calls are warned and ended. The log says when 50 % and 80 % of it are used",
        "budget, default: customer: at most 20 minutes each day, by the clock of Europe/Berlin, for each caller. When it is used up, new calls of that caller are refused, and running calls go on",
        "budget, default: all: at most 90 minutes each hour, by the clock of Europe/Berlin, for all calls of the account agency together. When it is used up, running calls go on, and new callers wait in the queue if the next hour begins within 45 minutes; otherwise they are refused",
        "budget, default: watched: at most 1 minute each day, by the clock of Europe/Berlin, for all calls of this campaign together. When it is used up, nothing happens: it only counts",
      ])
    }),
  )

  it.effect("says that callers wait for a budget only while the campaign is open", () =>
    Effect.gen(function* () {
      const budgetsWith = (Open: string) =>
        Effect.map(
          said({
            Hours: { Zone: "Europe/Berlin", Open, Closed: "Dec 25" },
            Budget: { Zone: "Europe/Berlin", WaitMinutes: 1440 },
            Budgets: [
              { Name: "customer", Of: "caller", Unit: "minutes", Per: "day", Cap: 20, OnLimit: "wait" },
              { Name: "often", Of: "caller", Unit: "minutes", Per: "hour", Cap: 5, OnLimit: "wait" },
              { Name: "all", Of: "campaign", Unit: "minutes", Per: "day", Cap: 90, OnLimit: "wait" },
            ],
          }),
          (found) => found.map((text) => text.replace(/^budget, default: (\w+): .* go on, and /, "$1: ")),
        )
      const never =
        "customer: new calls of that caller are refused: the campaign closes before the next day begins, so OnLimit wait acts as refuse"
      const customer =
        "customer: new calls of that caller wait in the queue if the next day begins within 1440 minutes, and the campaign is open until then; otherwise they are refused"
      const others = [
        customer.replace("customer", "often").replace("next day", "next hour"),
        customer.replace("customer", "all").replace("calls of that caller", "callers"),
      ]
      assert.deepStrictEqual(yield* budgetsWith("Mon-Fri 09:00-17:00"), [never, ...others])
      assert.deepStrictEqual(yield* budgetsWith("Fri-Sat 20:00-02:00"), [customer, ...others])
    }),
  )

  it.effect("warns of caps that are too small for any call", () =>
    Effect.gen(function* () {
      const small = { Of: "caller", Unit: "minutes", Per: "hour", Cap: 0.45 }
      const { Campaigns } = yield* Settings.pipe(
        Effect.provide(
          settingsLayer({
            VoiceAiPlatform: {
              Price: { ...Euro, MinimumSeconds: 25 },
              Budgets: [
                { ...small, Name: "waits", OnLimit: "wait" },
                { ...small, Name: "refuses", OnLimit: "refuse" },
                { ...small, Name: "ends", Of: "campaign", Unit: "money", Cap: 0.059 },
                { ...small, Name: "counts", OnLimit: "count" },
                { ...small, Name: "suffices", OnLimit: "wait", Cap: 0.5 },
                { ...small, Name: "pays", Of: "campaign", Unit: "money", Cap: 0.06 },
              ],
            },
          }),
        ),
      )
      const text = (name: string) =>
        `VoiceAiPlatform.Budgets: the Cap of the budget ${name} is too small for any call, so every caller is refused. A call begins with ` +
        "at least 30 s: Budget.EndLeadSeconds and 10 s more, or Price.MinimumSeconds if that is longer, in whole steps of Price.RoundUpSeconds."
      assert.deepStrictEqual(Campaigns.flatMap(smallCaps), ["waits", "refuses", "ends"].map(text))
    }),
  )

  it.effect("says that no budget uses a price, and that a vendor's cost in USD is charged", () =>
    Effect.gen(function* () {
      const [price] = yield* said({
        Price: { PerMinute: 0.1, Currency: "USD", MinimumSeconds: 30 },
        Budgets: [{ Name: "day", Of: "campaign", Unit: "minutes", Per: "day", Cap: 60 }],
      })
      assert.match(
        price ?? "",
        /steps of 1 s, and as at least 30 s\. .* is charged instead\. No budget of money uses it$/,
      )
    }),
  )

  it.effect(
    "says what is offered to whom, without an offer that leads to the campaign itself, and how long a call may last",
    () =>
      Effect.gen(function* () {
        const Offers = ["Call the shop tel:+49301234567", "Ask the sales agent campaign:sales"]
        const found = yield* said({
          MaxCallSeconds: 600,
          Overflow: { AfterSeconds: 90, Offers },
          Campaigns: { sales: { WebCampaignId: "sales", MaxCallSeconds: 60 } },
        })
        assert.deepStrictEqual(found, [
          "call length, default: a call may last 10 minutes (MaxCallSeconds); its page is warned before",
          'overflow, default: callers who would wait longer than 90 s, or who find the queue full, the campaign closed or a budget used up, are offered: "Call the shop" (tel:+49301234567), "Ask the sales agent" (the campaign sales)',
          "call length, sales: a call may last 1 minute (MaxCallSeconds); its page is warned before",
          'overflow, sales: callers who would wait longer than 90 s, or who find the queue full, the campaign closed or a budget used up, are offered: "Call the shop" (tel:+49301234567)',
        ])
      }),
  )
})
