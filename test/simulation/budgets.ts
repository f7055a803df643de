/** The budgets of a history: small ones, so that they are used up in its course, and what happens to them meanwhile. */
import type { LengthControl } from "../../src/platform-api/model.ts"
import type { Budget } from "../../src/settings/groups/budgets.ts"
import { keyed } from "../harness/chance.ts"
import type { Action, BudgetRule, BudgetsPlan } from "./plan.ts"
import { PER_MINUTE } from "./settings.ts"

const pickBy = <A>(hash: number, from: readonly [A, ...ReadonlyArray<A>]): A => from[hash % from.length] ?? from[0]

/** How many budgets a campaign has at most. */
const MOST = 3

/** Histories begin at 07:06:40 UTC: in these zones an hour ends 20 s later, a day does, an hour does after 80 s, and none. */
const ZONES = ["+00:53", "-07:07", "+00:52", "UTC"] as const

/** The same, where callers wait for the next hour: 80 s and 140 s. */
const SOON_ZONES = ["+00:52", "+00:51"] as const

const RULES: readonly [BudgetRule, ...ReadonlyArray<BudgetRule>] = [
  ...(["budgets.hold", "budgets.settle"] as const),
  ...(["budgets.correct", "budgets.due"] as const),
]

/** The names leave recorded histories as they were. */
const isOneStep = (seed: number): boolean => keyed(seed, "budget steps 168") % 4 === 0

const countOf = (seed: number): number => 1 + (keyed(seed, "budgets") % MOST)

const budgetOf = (seed: number, n: number, hasAccount: boolean, control: LengthControl): Budget => {
  const pick = <A>(what: string, ...from: readonly [A, ...ReadonlyArray<A>]): A =>
    pickBy(keyed(seed, `budget ${n} ${what}`), from)
  const Of = pick<Budget["Of"]>("of", "caller", "campaign", "campaign", hasAccount ? "account" : "campaign")
  const Unit = pick<Budget["Unit"]>("unit", "minutes", "minutes", "money")
  const ends = control === "endable"
  const onLimit = pick<Budget["OnLimit"]>("limit", ends ? "end" : "refuse", ends ? "end" : "refuse", "refuse", "count")
  // the names leave recorded histories as they were
  const isAwaited =
    Of === "caller" ? keyed(seed, `budget ${n} of callers waits`) % 3 === 0 : keyed(seed, `budget ${n} waits`) % 3 > 0
  const waits = onLimit !== "end" && isAwaited
  const usual = Of === "caller" ? pick("cap", 25, 40, 70, 120) : pick("cap", 40, 60, 90, 150, 300)
  const seconds = waits ? pick("cap", 25, 40, 60) : usual
  return {
    Name: `budget${n}`,
    Of,
    Unit,
    Per: waits ? "hour" : pick<Budget["Per"]>("per", "hour", "day", "month"),
    // as an operator writes it
    Cap: Number((Unit === "money" ? (seconds * PER_MINUTE) / 60 : seconds / 60).toFixed(6)),
    AlertAt: pick<ReadonlyArray<number>>("alerts", [], [0.5, 0.8], [0.8], [1]),
    OnLimit: waits ? "wait" : onLimit,
  }
}

const plannedFor = (seed: number, budgets: ReadonlyArray<Budget>): BudgetsPlan => ({
  budgets,
  oneStep: isOneStep(seed),
  zone: budgets.some(({ OnLimit }) => OnLimit === "wait")
    ? pickBy(keyed(seed, "budget zone"), SOON_ZONES)
    : pickBy(keyed(seed, "budget zone"), ZONES),
  blockSeconds: pickBy(keyed(seed, "budget block"), [30, 30, 60]),
  leadSeconds: pickBy(keyed(seed, "budget lead"), [10, 10, 5]),
  waitMinutes: pickBy(keyed(seed, "budget wait"), [2, 3]),
  roundUp: pickBy(keyed(seed, "budget round"), [1, 1, 6]),
  minimum: pickBy(keyed(seed, "budget minimum"), [0, 0, 15]),
  reports: pickBy(keyed(seed, "budget reports"), ["nothing", "length", "cost"] as const),
})

export const budgetsOf = (seed: number, hasAccount: boolean, control: LengthControl): BudgetsPlan =>
  plannedFor(
    seed,
    Array.from({ length: countOf(seed) }, (_, n) => budgetOf(seed, n, hasAccount, control)),
  )

/** Operators add to budgets, and gates die and stand still around the steps of budgets. */
export const budgetActions = (seed: number, millis: number, gates: number, callers: number): ReadonlyArray<Action> => {
  const chance = (what: string, below: number): number => keyed(seed, `budget action ${what}`) % below
  const topUps = Array.from({ length: chance("top-ups", 4) }, (_, n): Action => {
    return {
      kind: "topUp",
      at: chance(`top-up ${n} at`, millis),
      gate: chance(`top-up ${n} gate`, gates),
      budget: chance(`top-up ${n} of`, countOf(seed)),
      caller: chance(`top-up ${n} caller`, callers),
      seconds: pickBy(chance(`top-up ${n} by`, 1_000), [30, 60, 90, -30]),
    }
  })
  const troubles = Array.from({ length: chance("troubles", 4) }, (_, n): Action => {
    const at = chance(`trouble ${n} at`, millis)
    const gate = chance(`trouble ${n} gate`, gates)
    const rule = pickBy(chance(`trouble ${n} rule`, 1_000), RULES)
    return chance(`trouble ${n}`, 3) === 0
      ? {
          ...{ kind: "freeze", at, gate, when: rule },
          millis: pickBy(chance(`trouble ${n} millis`, 1_000), [3_000, 12_000, 38_000]),
          clocks: pickBy(chance(`trouble ${n} clocks`, 1_000), ["none", "steady", "both"] as const),
        }
      : {
          ...{ kind: "crash", at, gate, rule },
          when: pickBy(chance(`trouble ${n} when`, 1_000), ["before", "after"] as const),
          downMillis: pickBy(chance(`trouble ${n} down`, 1_000), [10, 4_000, 30_000]),
        }
  })
  // a gate dies when it has held time of a caller, and not yet of the campaign
  const between = Array.from({ length: keyed(seed, "kills between 443") % 3 === 0 ? 2 : 0 }, (_, n): Action => {
    const [at, gate] = [chance(`between ${n} at`, millis), chance(`between ${n} gate`, gates)]
    return { kind: "crash", at, gate, rule: "budgets.hold", when: "after", downMillis: 4_000 }
  })
  // … and when it has taken over to extend what a call holds
  const extending = Array.from({ length: keyed(seed, "kills extending") % 3 === 0 ? 2 : 0 }, (_, n): Action => {
    const [at, gate] = [chance(`extending ${n} at`, millis), chance(`extending ${n} gate`, gates)]
    return { kind: "crash", at, gate, rule: "budgets.due", when: "after", downMillis: 30_000 }
  })
  return [...topUps, ...troubles, ...between, ...extending]
}
