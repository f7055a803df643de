/**
 * The refusal of a caller for whom too little is left, before a request costs anything. What this instance remembers of it spares the store
 * the questions of a caller who insists; it is over when the clock is set back.
 */
import { Effect } from "effect"
import { ageOf, isOpen } from "../lib/age.ts"
import { boundedCache } from "../lib/bounded-cache.ts"
import { type BudgetExhausted, budgetExhausted } from "../protocol/refusals.ts"
import { type Budget, millionths } from "../settings/groups/budgets.ts"
import type { BudgetBalance, BudgetedCampaign, Budgets, OwnWait } from "./Budgets.ts"
import type { BalancesOf, GiveBack } from "./balances.ts"
import { campaignBook } from "./keys.ts"
import type { Known } from "./known.ts"
import type { Note } from "./note.ts"
import { secondsFor } from "./rules/units.ts"
import { rules } from "./rules.ts"
import { type Compiled, capOf, isOwn } from "./terms.ts"
import type { WindowOf } from "./windows.ts"

/** How long an instance repeats a refusal without asking the store (ms), so that a caller who insists costs it nothing. */
const REPEAT_MILLIS = 1_000
const MAX_REMEMBERED_REFUSALS = 10_000
/** How often an instance looks whether it is told that a budget is used up (ms). */
const TOLD_MILLIS = 60_000
const MAX_TOLD = 10_000

export const makeRefusals = (known: Known, note: Note, balancesOf: BalancesOf, giveBack: GiveBack) => {
  const { aheadMillis, budgetsOf, run, store, told } = known
  const refusals = boundedCache<{ readonly until: number; readonly error: BudgetExhausted }>(MAX_REMEMBERED_REFUSALS)
  /** Callers who wait for budgets of their own, and until when they are not looked up again (ms). */
  const waits = boundedCache<{ readonly until: number; readonly wait: OwnWait }>(MAX_REMEMBERED_REFUSALS)
  /** Until when a caller is not looked up again who had something left: `hold` decides anyway. */
  const passes = boundedCache<number>(MAX_REMEMBERED_REFUSALS)
  const refuse = (
    { campaign }: BudgetedCampaign,
    budgets: Compiled,
    caller: string,
    name: string,
    until: number,
    now: number,
  ): BudgetExhausted => {
    const budget = budgets.all.find((each) => each.Name === name)
    const own = budget === undefined || isOwn(budget)
    const error = budgetExhausted(name, own, until, now + aheadMillis())
    refusals.set(own ? `${caller} ${campaign.name}` : campaign.name, { until: now + REPEAT_MILLIS, error })
    return error
  }
  const knownRefusal = (campaign: string, caller: string, now: number): BudgetExhausted | undefined => {
    for (const key of [campaign, `${caller} ${campaign}`]) {
      const known = refusals.get(key)
      if (known !== undefined && isOpen(known.until, REPEAT_MILLIS, now)) return known.error
    }
    return undefined
  }

  /** when this instance has last looked whether it is told that a budget is used up (ms) */
  const lookedAt = boundedCache<number>(MAX_TOLD)
  const tellUsedUp = Effect.fnUntraced(function* (
    { campaign, key }: BudgetedCampaign,
    { least, perMinute, roundUp }: Compiled,
    budget: Budget,
    window: WindowOf,
    now: number,
  ) {
    const where = `${campaign.name} ${budget.Name}`
    if (ageOf(lookedAt.get(where) ?? 0, now) < TOLD_MILLIS) return
    const { events } = told(campaign)
    const { told: isFirst } = yield* run(rules.exhaust, campaignBook(key), now, {
      ...{ name: budget.Name, ...window, cap: capOf(budget), least, roundUp },
      ...(budget.Of === "account" ? { shared: true as const } : {}),
      ...(budget.Unit === "money" && perMinute !== undefined ? { perMinute } : {}),
      ...(events === undefined ? {} : { events }),
    })
    lookedAt.set(where, now)
    if (isFirst) yield* note(key, { exhausted: [budget.Name] })
  })

  /** Too little is left for a call. */
  const isShort = ({ budget, left }: BudgetBalance, budgets: Compiled): boolean => {
    const amount = budget.Unit === "money" ? millionths(left) : Math.round(left * 60)
    return secondsFor(amount, budget.Unit === "money" ? budgets.perMinute : undefined, budgets) < budgets.least
  }

  /** What has too little for a call of this caller to begin. */
  const shortOf = Effect.fnUntraced(function* (
    at: BudgetedCampaign,
    budgets: Compiled,
    caller: string,
    among: (budget: Budget) => boolean,
  ) {
    const read = balancesOf(at, caller, among)
    let balances = yield* read
    const isOwnShort = balances.some((each) => isOwn(each.budget) && isShort(each, budgets))
    // perhaps only because of calls that their campaign has lost
    if (isOwnShort && (yield* giveBack(caller))) balances = yield* read
    return balances.filter((each) => isShort(each, budgets))
  })

  const check: Budgets["Service"]["check"] = Effect.fnUntraced(function* (at, caller) {
    const budgets = budgetsOf(at.campaign.name)
    if (budgets === undefined) return undefined
    const now = yield* store.now
    const before = knownRefusal(at.campaign.name, caller, now)
    if (before !== undefined) return yield* Effect.fail(before)
    const who = `${caller} ${at.campaign.name}`
    if (isOpen(passes.get(who) ?? 0, REPEAT_MILLIS, now)) return undefined
    const waited = waits.get(who)
    if (waited !== undefined && isOpen(waited.until, REPEAT_MILLIS, now)) return waited.wait
    const wait = yield* waitOf(at, budgets, caller, now)
    if (wait === undefined) passes.set(who, now + REPEAT_MILLIS)
    else waits.set(who, { until: now + REPEAT_MILLIS, wait })
    return wait
  })

  /** Refuses a caller for whom too little is left; else answers with the last budget of his own for which he waits. */
  const waitOf = Effect.fnUntraced(function* (at: BudgetedCampaign, budgets: Compiled, caller: string, now: number) {
    let wait: OwnWait | undefined
    for (const balance of yield* shortOf(at, budgets, caller, ({ OnLimit }) => OnLimit !== "count")) {
      const { budget, from, until, waits: isAwaited } = balance
      if (!isOwn(budget)) yield* tellUsedUp(at, budgets, budget, { from, until }, now)
      if (isAwaited !== true) return yield* Effect.fail(refuse(at, budgets, caller, budget.Name, until, now))
      if (isOwn(budget) && until - aheadMillis() > (wait?.until ?? 0)) wait = ownWait(budget.Name, until, now)
    }
    return wait
  })

  /** @param until by the time of day, as budgets have it (ms since 1970) */
  const ownWait = (name: string, until: number, now: number): OwnWait => ({
    until: until - aheadMillis(),
    refusal: budgetExhausted(name, true, until, now + aheadMillis()),
  })

  const mayBegin: Budgets["Service"]["mayBegin"] = Effect.fnUntraced(function* (at, caller) {
    const budgets = budgetsOf(at.campaign.name)
    if (budgets === undefined) return true
    const short = yield* shortOf(at, budgets, caller, (budget) => isOwn(budget) && budget.OnLimit !== "count")
    return short.length === 0 || short.some(({ waits: isAwaited }) => isAwaited !== true)
  })

  return {
    check,
    mayBegin,
    ownWait,
    waitOf,
    /** A call of this caller holds time: he may have nothing left. */
    holds: (campaign: string, caller: string) => void passes.delete(`${caller} ${campaign}`),
    refuse,
    forget: () => {
      refusals.clear()
      waits.clear()
    },
  }
}
export type Refusals = ReturnType<typeof makeRefusals>
