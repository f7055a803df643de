/**
 * Histories that are shaped for what the others seldom come to, all of it with budgets: each kind is some ten of two hundred. Everything else in
 * them is left as it was generated.
 */
import type { Budget } from "../../src/settings/groups/budgets.ts"
import { keyed } from "../harness/chance.ts"
import { budgetsOf } from "./budgets.ts"
import type { Action, Arrive, BudgetsPlan, Plan } from "./plan.ts"
import { CAMPAIGN } from "./settings.ts"

/** Changes the callers of a history. */
const withCallers = (plan: Plan, change: (caller: Arrive) => Partial<Arrive>): Plan["actions"] =>
  plan.actions.map((action): Action => (action.kind === "arrive" ? { ...action, ...change(action) } : action))

const budgetOf = (name: string, seconds: number, more: Pick<Budget, "Of" | "OnLimit">): Budget => ({
  Name: name,
  Unit: "minutes",
  Per: "hour",
  Cap: Number((seconds / 60).toFixed(6)),
  AlertAt: [],
  ...more,
})

const withTalk = ({ platform: [first, ...further] }: Arrive, talk: number): Arrive["platform"] => [
  { ...first, talk },
  ...further.map((script) => ({ ...script, talk })),
]

/** Operators add to budgets when the first callers have started. */
const toppedUpLater = (action: Action): Action =>
  action.kind === "topUp" ? { ...action, at: Math.max(action.at, 30_000) } : action

/** What the budget has of which callers find nothing left at the start (s): enough for two calls, and not for the second block of one. */
const LATE_CAP = 72

/**
 * Callers wait for a budget, and start late when they are called. The first call is long and the second is short: the third caller, who is called
 * then, finds at the start that the first call holds all of the rest by now, and waits again at the own place (W3).
 */
const startingLate = (plan: Plan, budgets: BudgetsPlan): Plan => {
  const { account, seed, slots, windowSeconds } = plan
  // a call ends earlier at a limit of its length
  const { lengths: _, ...control } = plan.control
  const isOfAccount = account !== undefined && keyed(seed, "late budget") % 2 === 0
  // the first call holds more after a quarter of a minute
  const talks = [50_000, 10_500]
  return {
    ...plan,
    slots: Math.max(slots, 3),
    ...(account === undefined ? {} : { account: { ...account, cap: Math.max(account.cap, 3) } }),
    ...{ networkShare: 1, maxLength: 100, concurrent: 0, hourly: 0 },
    control: {
      ...control,
      budgets: {
        ...budgets,
        blockSeconds: 30,
        // an hour ends after 140 s
        zone: "+00:51",
        waitMinutes: 3,
        budgets: [budgetOf("budget0", LATE_CAP, { Of: isOfAccount ? "account" : "campaign", OnLimit: "wait" })],
      },
    },
    actions: withCallers(
      { ...plan, actions: plan.actions.map(toppedUpLater) },
      ({ campaign, id, platform: [first, ...further], token }) => {
        const talk = talks[id]
        const prompt = { ...first, outcome: "started" as const, delay: 100, webhooks: [100], talk: talk ?? first.talk }
        return {
          ...(isOfAccount ? { campaign } : { campaign: CAMPAIGN }),
          ...(token === undefined ? {} : { token: { subject: token.subject, replay: token.replay } }),
          ...(id > talks.length ? {} : { at: 100 + 1_000 * id, hangUp: -1, connect: 50, leave: -1, vanish: -1 }),
          ...(talk === undefined ? {} : { platform: [prompt, ...further] as const }),
          react: windowSeconds * 800 + (keyed(seed, `late ${id}`) % (windowSeconds * 100)),
        }
      },
    ),
  }
}

/** Few callers, who ask several times at once: some of their budgets are used up when it is their turn. */
const ofFewCallers = (plan: Plan, budgets: BudgetsPlan): Plan => {
  const { control, seed } = plan
  return {
    ...plan,
    concurrent: 0,
    control: {
      ...control,
      budgets: {
        ...budgets,
        oneStep: keyed(seed, "few steps") % 2 === 0,
        budgets: [
          budgetOf("budget0", 25 + (keyed(seed, "few budget") % 20), { Of: "caller", OnLimit: "refuse" }),
          budgetOf("budget1", 300, { Of: "campaign", OnLimit: "refuse" }),
        ],
      },
    },
    actions: withCallers(plan, (caller) => ({
      address: caller.address % 3,
      platform: withTalk(caller, 10_000 + (keyed(seed, `few talk ${caller.id}`) % 20_000)),
    })),
  }
}

/** How many calls are asked for at least where callers wait for budgets of their own. */
const MANY = 10

/** The troubles of gates in a history in which callers wait for budgets of their own. */
const troublesOf = ({ actions, gates, seed }: Plan): ReadonlyArray<Action> => {
  const others = actions.filter(({ kind }) => kind !== "arrive" && kind !== "topUp")
  // a gate dies that has just found callers whose budgets may have more again
  const crashes = [5_000, 20_000].map((from, n): Action => {
    const [at, gate] = [from + (keyed(seed, `own crash ${n} at`) % 10_000), keyed(seed, `own crash ${n} gate`) % gates]
    return { kind: "crash", at, gate, rule: "queue.findUnpaid", when: "after", downMillis: 4_000 }
  })
  return [[], crashes, [...others, ...crashes]][keyed(seed, "own troubles") % 3] ?? []
}

/**
 * Few callers, who ask several times at once and wait for budgets of their own: the next call of one for what the last one gives back, a further
 * one for an operator or for the next hour. Meanwhile others are called and newcomers start.
 */
const waitingForOwn = (plan: Plan): Plan => {
  const { account, control, seed } = plan
  // few, so that others wait too, or enough, so that newcomers start at once
  const slots = 2 + (keyed(seed, "own slots") % 4)
  const callers = withCallers(plan, (caller) => ({
    address: caller.address % 4,
    platform: withTalk(caller, 4_000 + (keyed(seed, `own talk ${caller.id}`) % 12_000)),
  })).filter(({ kind }) => kind === "arrive")
  const topUps = [0, 1].map((n): Action => {
    const [at, gate] = [keyed(seed, `own top-up ${n} at`) % 60_000, keyed(seed, `own top-up ${n} gate`) % plan.gates]
    const caller = keyed(seed, `own top-up ${n} caller`) % callers.length
    return { kind: "topUp", at, gate, budget: 0, caller, seconds: 30 }
  })
  return {
    ...plan,
    slots,
    ...(account === undefined ? {} : { account: { ...account, cap: slots } }),
    ...{ networkShare: 1, maxLength: 100, concurrent: 0, hourly: 0 },
    control: {
      ...control,
      budgets: {
        ...budgetsOf(seed, false, "unbounded"),
        blockSeconds: 30,
        // an hour ends after 80 s
        zone: "+00:52",
        waitMinutes: 3,
        budgets: [budgetOf("budget0", 40 + (keyed(seed, "own budget") % 20), { Of: "caller", OnLimit: "wait" })],
      },
    },
    actions: [...callers, ...topUps, ...troublesOf(plan)],
  }
}

/** The numbers in the names leave most recorded histories as they were. */
export const shaped = (plan: Plan): Plan => {
  const { budgets } = plan.control
  if (budgets === undefined) {
    const asked = plan.actions.filter(({ kind }) => kind === "arrive").length
    return asked >= MANY && keyed(plan.seed, "own waits 7011") % 8 === 0 ? waitingForOwn(plan) : plan
  }
  if (keyed(plan.seed, "starts late 54") % 5 === 0) return startingLate(plan, budgets)
  return keyed(plan.seed, "few callers 888") % 5 === 0 ? ofFewCallers(plan, budgets) : plan
}
