/**
 * A random history of budgets: calls of several callers in two campaigns of an account are held, extended, settled and corrected, in any
 * order, repeated and lost; windows pass, caps change, operators adjust. The promises (`test/model/budgets.ts`) are checked after every step.
 */
import type { BudgetEffects } from "../../../src/budgets/answers.ts"
import { callerBook, campaignBook } from "../../../src/budgets/keys.ts"
import type { BookPart, BudgetEntry, HoldCall } from "../../../src/budgets/rules/hold.ts"
import { billedSeconds, secondsFor } from "../../../src/budgets/rules/units.ts"
import { rules as budgetRules } from "../../../src/budgets/rules.ts"
import { NO_CONTEXT } from "../../../src/store/rule.ts"
import { Chance } from "../../harness/chance.ts"
import { holdLines, type LedgerLine, ledgerLines, ledgerViolations } from "../../model/budgets.ts"
import { type History, recorder } from "./history.ts"

export const rules = budgetRules
export type Rules = typeof rules

const STEPS = 60
const HOUR = 3_600_000

/** What a budget is here, by its name. */
interface Budget {
  readonly of: "caller" | "campaign" | "account"
  readonly perMinute?: number
  readonly onLimit: BudgetEntry["onLimit"]
  cap: number
}

/** One call. */
interface Call {
  readonly id: string
  readonly campaign: number
  readonly caller: string
  /** the window in which it began */
  readonly from: number
  seconds: number
}

export const budgetHistory = (seed: number, asked: Rules = rules): History => {
  const random = new Chance(seed)
  const prefix = `b${seed}:`
  const campaigns = ["one", "two"].map((name) => campaignBook(`${prefix}account/${name}/campaign`))
  const callers = new Map(["x", "y"].map((name) => [name, callerBook(`${prefix}${name}`)]))
  const { db, look, run, steps } = recorder([])
  const roundUp = random.pick(1, 6, 30, 60)
  const minimum = random.pick(0, 0, 30, 60)
  const rounding = { roundUp, minimum }
  const least = Math.max(roundUp, minimum)
  const onLimit = () => random.pick("end", "end", "end", "refuse", "count")
  const budgets: Record<string, Budget> = {
    own: { of: "caller", onLimit: onLimit(), cap: random.pick(60, 120, 300, 900) },
    team: { of: "campaign", onLimit: onLimit(), cap: random.pick(60, 180, 600, 3600) },
    bill: {
      of: "account",
      perMinute: random.pick(100_000, 70_001, 1),
      onLimit: onLimit(),
      cap: random.pick(1, 150_000, 900_000),
    },
  }
  const calls: Array<Call> = []
  /** what was counted as overrun, by ledger and line */
  const overruns = new Map<string, number>()
  /** the budgets that were told to be used up, and have been since, by ledger, budget and window */
  const usedUp = new Map<string, () => boolean>()
  /** a cap was lowered or changed below what was used: from then on it bounds nothing */
  let lowered = false
  let now = 1_700_000_000_000 + random.below(1_000_000)
  const wrong: Array<string> = []

  const entriesOf = (call: Call, of: ReadonlyArray<Budget["of"]>): ReadonlyArray<BudgetEntry> =>
    Object.entries(budgets).flatMap(([name, budget]) =>
      of.includes(budget.of)
        ? [
            {
              name,
              from: call.from,
              until: call.from + HOUR,
              cap: budget.cap,
              onLimit: budget.onLimit,
              ...(budget.of === "account" ? { shared: true as const } : {}),
              ...(budget.perMinute === undefined ? {} : { perMinute: budget.perMinute }),
              ...(random.percent(50) ? { shares: [0.5, 0.9] } : {}),
            },
          ]
        : [],
    )
  const partOf = (entries: ReadonlyArray<BudgetEntry>, ofCaller: boolean): BookPart => ({
    ...(entries.length === 0 ? {} : { entries }),
    due: now + 30_000,
    ...(ofCaller
      ? { expires: true as const, due: now + random.pick(60_000, 2 * HOUR) }
      : {
          data: `data {é}`,
          ...(random.percent(50) ? { dueIfShort: now + 5_000 } : {}),
          ...(random.percent(50) ? { events: true as const } : {}),
        }),
  })

  const ledgerName = (call: Pick<Call, "caller">, { of }: Budget, campaign: number): string =>
    of === "caller" ? `caller ${call.caller}` : of === "account" ? "account" : `campaign ${campaign}`
  const noteOverruns = (
    call: Pick<Call, "caller" | "campaign">,
    from: number,
    { exhausted: told = [], overruns: more = [] }: BudgetEffects,
  ): void => {
    for (const name of told) {
      const budget = budgets[name]
      if (budget === undefined || budget.of === "caller") {
        wrong.push(`${name} was told to be used up`)
        continue
      }
      const key = `${ledgerName(call, budget, call.campaign)} ${name} ${from}`
      const [ledger = "", , , shared = ""] = campaigns[call.campaign] ?? []
      const isUsedUp = (): boolean => {
        const line = ledgerLines(db, budget.of === "account" ? shared : ledger).get(`${name} ${from}`)
        const left = budget.cap + (line?.adjusted ?? 0) - (line?.settled ?? 0)
        return secondsFor(left, budget.perMinute, rounding) < least
      }
      if (!isUsedUp()) wrong.push(`${key} was told to be used up, and is not`)
      if (usedUp.has(key)) wrong.push(`${key} was told twice to be used up`)
      usedUp.set(key, isUsedUp)
    }
    for (const { amount, name } of more) {
      const budget = budgets[name]
      if (budget === undefined) wrong.push(`an overrun of ${name}`)
      else {
        const key = `${ledgerName(call, budget, call.campaign)} ${name} ${from}`
        overruns.set(key, (overruns.get(key) ?? 0) + amount)
      }
    }
  }

  const check = (): void => {
    const bound =
      (ledger: string) =>
      (line: string, { adjusted }: LedgerLine): number | undefined => {
        const [name = ""] = line.split(" ")
        const budget = budgets[name]
        return lowered || budget === undefined
          ? undefined
          : budget.cap + adjusted + (overruns.get(`${ledger} ${line}`) ?? 0)
      }
    for (const [key, isUsedUp] of usedUp) if (!isUsedUp()) usedUp.delete(key)
    const none = new Map<string, number>()
    const shared: Array<ReturnType<typeof holdLines>[number]> = []
    campaigns.forEach(([ledger = "", records = ""], n) => {
      const lines = holdLines(db, records)
      shared.push(...lines.filter((each) => each.shared))
      const own = lines.filter((each) => !each.shared)
      wrong.push(...ledgerViolations(ledgerLines(db, ledger), own, none, bound(`campaign ${n}`)))
    })
    wrong.push(...ledgerViolations(ledgerLines(db, campaigns[0]?.[3] ?? ""), shared, none, bound("account")))
    for (const [name, [ledger = "", records = ""]] of callers) {
      wrong.push(...ledgerViolations(ledgerLines(db, ledger), holdLines(db, records), none, bound(`caller ${name}`)))
    }
  }

  const hold = (call: Call, seconds: number, running = false): void => {
    const holdCall: Omit<HoldCall, "books"> = {
      id: call.id,
      seconds: Math.ceil(seconds / roundUp) * roundUp,
      least,
      ...rounding,
      ...(running ? { running: true as const } : {}),
    }
    const callerKeys = callers.get(call.caller) ?? []
    const campaignKeys = campaigns[call.campaign] ?? []
    const ofCaller = partOf(entriesOf(call, ["caller"]), true)
    const ofCampaign = partOf(entriesOf(call, ["campaign", "account"]), false)
    const ask = (keys: ReadonlyArray<string>, books: ReadonlyArray<BookPart>, wanted: number) => {
      const { answer } = run(
        asked.hold,
        { now, context: NO_CONTEXT, call: { ...holdCall, seconds: wanted, books } },
        keys,
      )
      if (answer._tag !== "over") noteOverruns(call, call.from, answer)
      if (answer._tag === "refused" && running) wrong.push("a running call was refused")
      if (answer._tag === "held") {
        if (answer.seconds > wanted) wrong.push(`${answer.seconds} s were held for ${wanted}`)
        return answer.seconds
      }
      return 0
    }
    if (random.percent(60)) {
      const granted = ask([...campaignKeys, ...callerKeys], [ofCampaign, ofCaller], holdCall.seconds)
      if (granted > 0) call.seconds = granted
      return
    }
    // as on a cluster: one book, then the other; a gate may die between them
    const first = ask(callerKeys, [ofCaller], holdCall.seconds)
    if (first === 0 || random.percent(10)) return
    const second = ask(campaignKeys, [ofCampaign], first)
    if (second > 0) call.seconds = second
    if (second > 0 && second < first) ask(callerKeys, [ofCaller], second)
  }

  const alerts = () => ({
    team: { cap: budgets.team?.cap ?? 0, shares: [0.5, 0.9] },
    own: { cap: budgets.own?.cap ?? 0, shares: [0.8] },
  })
  const tells = () => ({ caps: { team: budgets.team?.cap ?? 0, bill: budgets.bill?.cap ?? 0 }, least })
  const settle = (call: Call): void => {
    const unknown = random.percent(10)
    const seconds = random.pick(0, 1, 17, call.seconds, Math.max(0, call.seconds - 7), call.seconds + 40)
    const sessions = random.pick([], [`s${call.id}`, `t${call.id}`])
    const ofCampaign = campaigns[call.campaign] ?? []
    const ofCaller = callers.get(call.caller) ?? []
    for (const keys of [ofCampaign, ofCaller]) {
      // a step may be lost, and is repeated later
      if (random.percent(15)) continue
      const { answer } = run(
        asked.settle,
        {
          now,
          context: NO_CONTEXT,
          call: {
            ...{ id: call.id, seconds, sessions },
            ...(unknown ? { unknown: true as const } : {}),
            ...(keys === ofCampaign ? { tells: tells() } : {}),
            ...(random.percent(70) ? { alerts: alerts() } : {}),
            ...(random.percent(50) ? { events: true as const } : {}),
          },
        },
        keys,
      )
      if (answer._tag === "lost" && seconds === 0) wrong.push("a hold without a call is lost")
      if (answer._tag === "settled") {
        noteOverruns(call, call.from, answer)
        if (!unknown && answer.billed !== billedSeconds(seconds, rounding))
          wrong.push(`${answer.billed} s were billed for ${seconds}`)
      }
      for (const report of (answer._tag === "settled" || answer._tag === "again" ? answer.reports : undefined) ?? []) {
        for (const [each, more] of [
          [ofCaller, {}],
          [ofCampaign, { sessions, tells: tells() }],
        ] as const) {
          const about = { now, context: NO_CONTEXT, call: { ...report, ...more, id: call.id } }
          const { answer: corrected } = run(asked.correct, about, each)
          if (corrected._tag === "corrected") noteOverruns(call, call.from, corrected)
        }
      }
    }
  }

  for (let n = 0; n < STEPS && wrong.length === 0; n++) {
    now += random.pick(0, 1, 999, 20_000, 60_000, HOUR / 2)
    const call = random.maybe(calls)
    switch (random.weighted({ begin: 30, extend: 25, settle: 20, correct: 8, due: 8, adjust: 4, cap: 3, look: 2 })) {
      case "begin": {
        const begun: Call = {
          id: `${prefix}h${calls.length}.${calls.length}`,
          campaign: random.below(2),
          caller: random.pick("x", "y"),
          from: now - (now % HOUR),
          seconds: 0,
        }
        calls.push(begun)
        hold(begun, random.pick(30, 60, 90))
        break
      }
      case "extend":
        if (call !== undefined)
          hold(call, call.seconds + random.pick(0, 30, 60), call.seconds > 0 && random.percent(50))
        break
      case "settle":
        if (call !== undefined) settle(call)
        break
      case "correct":
        if (call !== undefined) {
          const keys = random.percent(50) ? (campaigns[call.campaign] ?? []) : (callers.get(call.caller) ?? [])
          const about = {
            ...random.pick({ id: call.id }, { sessions: ["none", `t${call.id}`] }),
            report: random.pick("r1", "r2"),
            ...(keys === campaigns[call.campaign] ? { tells: tells() } : {}),
            ...(random.percent(70) ? { alerts: alerts() } : {}),
            ...(random.percent(50) ? { events: true as const } : {}),
          }
          const { answer } = run(
            asked.correct,
            {
              now,
              context: NO_CONTEXT,
              call: {
                ...about,
                ...random.pick({ seconds: 33 }, { seconds: 400 }, { cost: 77_777 }, { seconds: 5, cost: 12 }),
              },
            },
            keys,
          )
          if (answer._tag === "corrected") noteOverruns(call, call.from, answer)
        }
        break
      case "due": {
        const keys = campaigns[random.below(2)] ?? []
        const { answer } = run(asked.due, { now, context: NO_CONTEXT, call: { claimMillis: 10_000 } }, keys)
        const again = look(asked.due, { now, context: NO_CONTEXT, call: { claimMillis: 10_000 } }, keys)
        if (again.holds !== undefined) wrong.push("a claimed hold was given to another gate")
        for (const { id } of answer.holds ?? []) {
          run(asked.postpone, { now, context: NO_CONTEXT, call: { id, due: now + 5_000 } }, keys)
        }
        break
      }
      case "adjust": {
        const from = now - (now % HOUR)
        const by = random.pick(60, 300, -60)
        if (by < 0) lowered = true
        const cap = budgets.team?.cap ?? 0
        const call = {
          ...{ name: "team", from, until: from + HOUR, by, id: random.pick("a1", "a2") },
          ...{ cap, shares: [0.5, 0.9], usedUp: { cap, least, roundUp }, events: true as const },
        }
        const campaign = random.below(2)
        const { answer } = run(asked.adjust, { now, context: NO_CONTEXT, call }, campaigns[campaign] ?? [])
        noteOverruns({ caller: "", campaign }, from, answer)
        break
      }
      case "cap": {
        const budget = random.pick("own", "team", "bill")
        const known = budgets[budget]
        if (known !== undefined) known.cap += random.pick(30, 100_000)
        break
      }
      case "look": {
        const from = now - (now % HOUR)
        const windows = [
          { name: "team", from },
          { name: "bill", from, shared: true as const },
        ]
        run(asked.balance, { now, context: NO_CONTEXT, call: { windows } }, campaigns[random.below(2)] ?? [])
        const ids = [`${prefix}h0.0`, `${prefix}none`]
        const { answer } = run(asked.missing, { now, context: NO_CONTEXT, call: { ids } }, campaigns[0] ?? [])
        if (answer.ids?.includes(`${prefix}none`) !== true) wrong.push("a hold that was never made is not missing")
        const bill = budgets.bill ?? { cap: 0 }
        const exhaust = {
          ...{ name: "bill", from, until: from + HOUR, cap: bill.cap, least, roundUp },
          ...("perMinute" in bill && bill.perMinute !== undefined ? { perMinute: bill.perMinute } : {}),
          ...{ shared: true as const, events: true as const },
        }
        const which = random.below(2)
        const told = run(asked.exhaust, { now, context: NO_CONTEXT, call: exhaust }, campaigns[which] ?? [])
        const asking = { id: "", campaign: which, caller: "", from, seconds: 0 }
        if (told.answer.told) noteOverruns(asking, from, { exhausted: ["bill"] })
        const made = { name: "team", from, until: from + HOUR, id: random.pick("a1", "a2") }
        run(asked.made, { now, context: NO_CONTEXT, call: made }, campaigns[which] ?? [])
        break
      }
    }
    check()
  }
  // all that remains is settled: nothing stays held
  if (wrong.length === 0) {
    for (const call of calls) {
      for (const keys of [campaigns[call.campaign] ?? [], callers.get(call.caller) ?? []]) {
        const { answer } = run(asked.settle, { now, context: NO_CONTEXT, call: { id: call.id, seconds: 10 } }, keys)
        if (answer._tag === "settled") noteOverruns(call, call.from, answer)
      }
    }
    check()
    const left = [...campaigns, ...callers.values()].flatMap(([ledger = "", , , shared = ""]) =>
      [ledger, shared].flatMap((key) => [...ledgerLines(db, key).values()].map(({ held }) => held)),
    )
    if (left.some((held) => held !== 0)) wrong.push("something is still held after all calls were settled")
  }
  return { seed, prefix, steps, wrong }
}
