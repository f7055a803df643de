/** What the settings say of budgets, and how a rule is run on a book: what every chapter of the layer needs. */
import { Effect } from "effect"
import { campaignKeyOf } from "../fifo-queue/keys.ts"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import type { Campaign } from "../settings/Settings.ts"
import { Settings } from "../settings/Settings.ts"
import { NO_CONTEXT } from "../store/rule.ts"
import { type Rule, Store } from "../store/Store.ts"
import type { BookContext } from "./rules/book.ts"
import type { AlertsAt, TellsUsedUp } from "./rules/settle.ts"
import { type Compiled, capOf, compile, isOwn, makeWindows } from "./terms.ts"

export const makeKnown = Effect.gen(function* () {
  const store = yield* Store
  const { Campaigns, Queue } = yield* Settings
  const { aheadMillis = () => 0 } = store
  const compiled = new Map(
    Campaigns.flatMap((campaign) => {
      const budgets = compile(campaign)
      return budgets === undefined ? [] : [[campaign.name, budgets] as const]
    }),
  )
  const byKey = new Map(
    Campaigns.map((campaign) => {
      const { Account, BusinessId, WebCampaignId } = campaign
      return [campaignKeyOf({ account: Account?.Name, campaign: `${BusinessId}/${WebCampaignId}` }), campaign] as const
    }),
  )
  const tells = new Map(
    [...compiled].map(([name, { all, least }]): readonly [string, TellsUsedUp] => [
      name,
      { caps: Object.fromEntries(all.filter((each) => !isOwn(each)).map((each) => [each.Name, capOf(each)])), least },
    ]),
  )

  const alerting = (own: boolean) =>
    new Map(
      [...compiled].flatMap(([name, { all }]) => {
        const found = all.filter((each) => isOwn(each) === own && each.AlertAt.length > 0)
        if (found.length === 0) return []
        const alerts = Object.fromEntries(
          found.map((each): readonly [string, AlertsAt] => [each.Name, { cap: capOf(each), shares: each.AlertAt }]),
        )
        return [[name, { alerts }] as const]
      }),
    )
  const [alertsOfCampaigns, alertsOfCallers] = [alerting(false), alerting(true)]

  return {
    store,
    aheadMillis,
    /** how long the longest call lasts (ms) */
    callMillis: Queue.MaxCallMinutes * 60_000,
    /** by the campaign's name; undefined for one without budgets */
    budgetsOf: (campaign: string): Compiled | undefined => compiled.get(campaign),
    /** by the key of its queue; undefined for one that is not in the settings */
    campaignOf: (key: string): Campaign | undefined => byKey.get(key),
    /** What a charge tells of the budgets of callers: when they alert. */
    toldOfCallers: (campaign: Campaign | undefined) => alertsOfCallers.get(campaign?.name ?? "") ?? {},
    /** What a step tells of the budgets of a campaign: whether it reports events, and when its budgets alert and are used up. */
    told: (campaign: Campaign | undefined) => {
      const usedUp = campaign === undefined ? undefined : tells.get(campaign.name)
      return {
        ...alertsOfCampaigns.get(campaign?.name ?? ""),
        ...(usedUp === undefined ? {} : { tells: usedUp }),
        ...(campaign?.Events === undefined ? {} : { events: true as const }),
      }
    },
    ...makeWindows(aheadMillis),
    run: <Call extends object, A>(
      rule: Rule<BookContext, Call, A>,
      keys: ReadonlyArray<string>,
      now: number,
      call: Call,
    ): Effect.Effect<A, StoreUnavailable> => {
      const ahead = aheadMillis()
      const context: BookContext = ahead < 0 ? { behindMillis: -ahead } : NO_CONTEXT
      return store.run(rule, { keys, now, context, call })
    },
  }
})

export type Known = Effect.Success<typeof makeKnown>
