/** What a campaign's budgets come to: their caps in the units of the rules, how a call is held and billed, and the windows in which it counts. */
import { DateTime, Schema } from "effect"
import { type Budget, type Budgeted, budgetsOf, millionths, type Period } from "../settings/groups/budgets.ts"
import type { BudgetEntry } from "./rules/hold.ts"
import { secondsFor } from "./rules/units.ts"
import { type WindowOf, windowOf } from "./windows.ts"

/** How long a call lasts at least that is worth beginning, beyond the time before its end in which it is ended (s). */
export const WORTH_SECONDS = 10

/** What is stored with a hold: what its call needs later. */
const HoldData = Schema.fromJsonString(
  Schema.Struct({
    ticket: Schema.String,
    lease: Schema.String,
    caller: Schema.String,
    /** the window of each budget, by its name, and the price in millionths a minute, as they were when the call began */
    windows: Schema.Record(Schema.String, Schema.Tuple([Schema.Finite, Schema.Finite])),
    perMinute: Schema.optionalKey(Schema.Finite),
    /** the caller's book has a part of it */
    own: Schema.optionalKey(Schema.Literal(true)),
  }),
)
export type HoldData = typeof HoldData.Type
export const encodeData = Schema.encodeSync(HoldData)
export const decodeData = Schema.decodeUnknownOption(HoldData)

/** The budgets of a campaign, as the rules are told of them. */
export interface Compiled {
  readonly all: ReadonlyArray<Budget>
  readonly timeZone: DateTime.TimeZone
  readonly perMinute: number | undefined
  readonly roundUp: number
  readonly minimum: number
  /** what a call holds at first, and the least with which it may begin (s) */
  readonly block: number
  readonly least: number
  readonly leadSeconds: number
  /** how far away the next window may be for which callers wait (ms) */
  readonly waitMillis: number
}

export const compile = (campaign: Budgeted): Compiled | undefined => {
  const given = budgetsOf(campaign)
  if (given === undefined) return undefined
  const { Budget, Budgets, Price } = given
  const { MinimumSeconds: minimum, PerMinute, RoundUpSeconds: roundUp } = Price
  const steps = (seconds: number): number => Math.ceil(seconds / roundUp) * roundUp
  const least = steps(Math.max(minimum, Budget.EndLeadSeconds + WORTH_SECONDS))
  return {
    all: Budgets,
    timeZone: DateTime.zoneMakeNamedUnsafe(Budget.Zone),
    perMinute: PerMinute === undefined ? undefined : millionths(PerMinute),
    roundUp,
    minimum,
    block: Math.max(least, steps(Budget.BlockSeconds)),
    least,
    leadSeconds: Budget.EndLeadSeconds,
    waitMillis: Budget.WaitMinutes * 60_000,
  }
}

/** The cap in the unit of the rules: seconds, or millionths. */
export const capOf = ({ Cap, Unit }: Budget): number => (Unit === "money" ? millionths(Cap) : Math.floor(Cap * 60))

/** An amount of the rules as operators say it. */
export const shown = ({ Unit }: Pick<Budget, "Unit">, amount: number): number =>
  Unit === "money" ? amount / 1_000_000 : amount / 60

export const isOwn = ({ Of }: Budget): boolean => Of === "caller"

/** Whether even the whole cap is less than a call may begin with: then nobody is ever called, unless an operator adds something. */
export const isTooSmall = (budget: Budget, terms: Compiled): boolean =>
  secondsFor(capOf(budget), budget.Unit === "money" ? terms.perMinute : undefined, terms) < terms.least

/** Whether callers wait for the next window of a budget, which begins at `until` (ms since 1970, as `now`). */
export const isAwaited = (budget: Budget, terms: Compiled, until: number, now: number): boolean =>
  budget.OnLimit === "wait" && until - now <= terms.waitMillis && !isTooSmall(budget, terms)

/** Finds windows, and keeps the present ones. */
export const makeWindows = (aheadMillis: () => number) => {
  const windows = new Map<string, WindowOf>()
  /** The window of a moment of the store's clock (ms since 1970). */
  const window = (Per: Period, timeZone: DateTime.TimeZone, moment: number): WindowOf => {
    const now = moment + aheadMillis()
    const key = `${Per} ${DateTime.zoneToString(timeZone)}`
    const known = windows.get(key)
    if (known !== undefined && known.from <= now && now < known.until) return known
    const found = windowOf(Per, timeZone, now)
    windows.set(key, found)
    return found
  }
  const windowsAt = ({ all, timeZone }: Compiled, moment: number): HoldData["windows"] =>
    Object.fromEntries(
      all.map(({ Name, Per }) => {
        const { from, until } = window(Per, timeZone, moment)
        return [Name, [from, until] as const]
      }),
    )
  return { window, windowsAt }
}

/** The budgets as a rule is told of them, for a call that counts in these windows at this price. */
export const entriesOf = (
  budgets: ReadonlyArray<Budget>,
  { perMinute, windows }: Pick<HoldData, "perMinute" | "windows">,
): ReadonlyArray<BudgetEntry> =>
  budgets.flatMap((budget) => {
    const [from, until] = windows[budget.Name] ?? []
    // a budget that is newer than the call does not count it
    if (from === undefined || until === undefined) return []
    if (budget.Unit === "money" && perMinute === undefined) return []
    return {
      name: budget.Name,
      from,
      until,
      cap: capOf(budget),
      // who waits for more holds nothing meanwhile
      onLimit: budget.OnLimit === "wait" ? "refuse" : budget.OnLimit,
      ...(budget.Of === "account" ? { shared: true as const } : {}),
      ...(budget.Unit === "money" && perMinute !== undefined ? { perMinute } : {}),
      ...(budget.AlertAt.length === 0 ? {} : { shares: budget.AlertAt }),
    }
  })
