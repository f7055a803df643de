/** The settings of budgets of minutes and money: below a campaign `Price`, `Budget` and the list `Budgets`. */
import { Schema } from "effect"
import { listWithDefault, optional, withDefault } from "../setting.ts"
import { budgetToken } from "../values/secret.ts"
import { decimal, fraction, list, oneOf, pattern, type Text, wholeNumber, withNotes } from "../values/values.ts"
import { zoneOrOffset } from "../values/zone.ts"

/** Who spends a budget: each caller one of his own, the campaign, or all campaigns of its account together. */
export const SPENDERS = ["caller", "campaign", "account"] as const
export const UNITS = ["minutes", "money"] as const
/** The kinds of windows by which a budget is counted. */
export const PERIODS = ["hour", "day", "month"] as const
export type Period = (typeof PERIODS)[number]
export const LIMIT_ACTIONS = ["count", "refuse", "wait", "end"] as const

/** So large that no amount is rounded: its millionths, times 60, are whole numbers of a double. */
export const LARGEST_CAP = 10_000_000

const budgetName: Text<string> = pattern(/^[A-Za-z0-9_-]{1,64}$/u).annotate({
  expected: "a name of 1 to 64 letters, digits, - and _",
})
const currency: Text<string> = pattern(/^[A-Z]{3}$/u).annotate({
  expected: "the code of a currency in capital letters, such as EUR",
})

/** A value that each item of the list needs. */
const needed = <A, E>(value: Schema.Codec<A, E>, description: string) =>
  value.pipe(Schema.annotateKey({ description, ...withNotes(value, { defaultText: "needed" }) }))

export const PriceSettings = Schema.Struct({
  PerMinute: optional(decimal(0.000_001, 10_000, 6), "none", {
    shared: true,
    description: "what a minute of a call costs you, for budgets of money",
    documentation: "A call keeps the price that it began with",
  }),
  Currency: optional(currency, "none", {
    shared: true,
    description: "the currency of `PerMinute` and of the caps of money, such as `EUR`",
  }),
  RoundUpSeconds: withDefault(wholeNumber(1, 60), 1, {
    shared: true,
    description: "a call is billed in whole steps of so many seconds: 1, 6, 30 or 60, as your vendor does",
  }),
  MinimumSeconds: withDefault(wholeNumber(0, 3600), 0, {
    shared: true,
    description: "a call is billed as at least so many seconds",
  }),
})

export const BudgetSettings = Schema.Struct({
  Token: listWithDefault(list(budgetToken), [], "none: budgets cannot be read and adjusted over HTTP", {
    description:
      "who has this token may read and adjust the budgets at `/api/budgets/{name}`; those that campaigns share need a token that all of them have",
  }),
  Zone: withDefault(zoneOrOffset, "UTC", {
    shared: true,
    description:
      "the time zone whose clock begins hours, days and months of budgets, such as `Europe/Berlin`; or an offset from UTC that is always the same, such as `+05:30`",
  }),
  BlockSeconds: withDefault(wholeNumber(30, 3600), 60, {
    shared: true,
    description: "how much time a call holds of its budgets at once; before it is used up, it holds more",
    documentation: "What is held and not used is given back when the call ends",
  }),
  EndLeadSeconds: withDefault(wholeNumber(0, 60), 10, {
    shared: true,
    description: "how long before its time is used up a call is ended, since a vendor takes a moment",
  }),
  WaitMinutes: withDefault(wholeNumber(1, 1440), 60, {
    shared: true,
    description:
      "of budgets with `OnLimit` `wait`: callers wait for the next hour, day or month when it is at most so far away, and are refused before",
  }),
})

export const BudgetItem = Schema.Struct({
  Name: needed(budgetName, "the budget's name, in answers, in the console and in `voicegate budget`"),
  Of: needed(oneOf(SPENDERS), "whose it is: each `caller`'s, the `campaign`'s, or the `account`'s (`Account.Name`)"),
  Unit: needed(oneOf(UNITS), "`minutes` of calls, or `money`, which needs `Price`"),
  Per: needed(oneOf(PERIODS), "`hour`, `day` or `month`, by the clock of `Budget.Zone`"),
  Cap: needed(decimal(0.000_001, LARGEST_CAP, 6), "how much may be used in each of them"),
  AlertAt: listWithDefault(list(fraction(0.01)), [], "none", {
    description: "shares of the cap, such as 0.8, at each of which the log and the console say so once",
  }),
  OnLimit: withDefault(oneOf(LIMIT_ACTIONS), "end", {
    description:
      "what happens when it is used up: `end` refuses new calls and ends running ones, `refuse` refuses new calls only, `wait` lets callers wait until there is more, `count` refuses nobody and counts",
    documentation: "See [Budgets](control.md#budgets)",
  }),
})

export type Budget = typeof BudgetItem.Type

/** The budgets of a campaign with their price; all absent where it has none. */
export type Budgeted = Partial<CampaignBudgets>

export const budgetsOf = ({ Budget, Budgets, Price }: Budgeted): CampaignBudgets | undefined =>
  Budget === undefined || Budgets === undefined || Price === undefined ? undefined : { Budget, Budgets, Price }

/** What the budgets of a campaign are. */
export interface CampaignBudgets {
  readonly Price: typeof PriceSettings.Type
  readonly Budget: typeof BudgetSettings.Type
  /** at least one; the names are unique */
  readonly Budgets: ReadonlyArray<Budget>
}

/** Millionths, of a number with at most six decimal places. */
export const millionths = (value: number): number => Math.round(value * 1_000_000)
