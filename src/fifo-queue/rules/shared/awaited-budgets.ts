/**
 * Budgets of the campaign and of its account for which callers wait (`OnLimit: wait`). While one of them has less than a call may begin with,
 * nobody is called and newcomers queue.
 *
 * Nothing of that is stored here: each step reads what the budgets have (`budgets/rules/book.ts`). So the queue goes on, on whichever gate takes
 * the next step, after all that changes it: a call that ends, a correction, a top-up, another setting, the next window.
 *
 * A caller holds no time before the start. So no more callers are called than the budgets have time for, if each one holds a block.
 */
import type { Hindrances } from "../../answers.ts"
import { type AwaitedBudget, meta, type Step } from "./step.ts"

/** How many keys a step has besides those of the queue: the ledgers of campaign and account. */
export const LEDGER_KEY_COUNT = 2

/** @lazy */
const leftOf = (s: Step, { cap, fields, ofAccount }: AwaitedBudget): number => {
  const ledger = ofAccount === true ? s.ledgers.account : s.ledgers.campaign
  const [settled = 0, held = 0, adjusted = 0] = s.db.hgetNumbers(ledger, fields)
  return cap + adjusted - settled - held
}

/** What the budgets allow: how many calls may begin, and if none may, when the last of the budgets that have too little begins anew; else 0. */
export interface Allowance {
  readonly calls: number
  readonly resumesAt: number
}

/** @lazy */
const allowanceIn = (s: Step, budgets: ReadonlyArray<AwaitedBudget>): Allowance => {
  let calls = s.slots
  let resumesAt = 0
  for (const budget of budgets) {
    const left = leftOf(s, budget)
    if (left < budget.least) {
      calls = 0
      resumesAt = Math.max(resumesAt, budget.until)
    } else {
      calls = Math.min(calls, Math.floor((left - budget.least) / budget.block) + 1)
    }
  }
  return { calls, resumesAt }
}

/**
 * When a budget that has too little for a call has more again at the latest; 0 while all have enough.
 * @lazy
 */
export const resumesAt = (s: Step): number => allowanceIn(s, s.context.awaited ?? []).resumesAt

/**
 * How many more callers may be called, or be started without a call: those who have been and do not run yet count as if they held nothing.
 * @lazy
 */
const callableIn = (s: Step, budgets: ReadonlyArray<AwaitedBudget>): number => {
  const { calls } = allowanceIn(s, budgets)
  if (calls === 0) return 0
  const starting = s.db.zcard(s.keys.leases) - Math.max(0, meta(s, "live")) - Math.max(0, meta(s, "doubts"))
  return Math.max(0, calls - Math.max(0, starting))
}

/** @param most as many as there would be otherwise */
export const callable = (s: Step, most: number): number =>
  s.context.awaited === undefined ? most : Math.min(most, callableIn(s, s.context.awaited))

/** @lazy */
const withHold = <A extends Hindrances>(s: Step, answer: A): A => {
  const at = resumesAt(s)
  return at === 0 ? answer : { ...answer, resumesAt: at, heldMillis: Math.max(0, at - s.now) }
}

/** Adds to an answer that nobody is called because of a budget, until when, and how long that is from now (ms). */
export const withBudgets = <A extends Hindrances>(s: Step, answer: A): A =>
  s.context.awaited === undefined ? answer : withHold(s, answer)
