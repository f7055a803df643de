/**
 * Watches the budgets of a history: the books of its campaigns and callers are read after every step that concerns them, and judged by
 * `test/model/budget-steps.ts` and `budget-lines.ts`; what is owed to them, by what the queues did. Here is also what takes time: that time is held
 * ahead for each running call, and that in the end nothing is held.
 */
import type { BudgetEffects, Corrected, Held, Settled } from "../../src/budgets/answers.ts"
import { callerBook, campaignBook } from "../../src/budgets/keys.ts"
import type { AdjustCall } from "../../src/budgets/rules/adjust.ts"
import type { BalanceCall } from "../../src/budgets/rules/balance.ts"
import { BOOK_KEY_COUNT } from "../../src/budgets/rules/book.ts"
import type { HoldCall } from "../../src/budgets/rules/hold.ts"
import type { CorrectCall, SettleCall } from "../../src/budgets/rules/settle.ts"
import type { QueueContext } from "../../src/fifo-queue/rules/shared/step.ts"
import { CLAIM_MILLIS } from "../../src/gatekeeper/calls/hold-due.ts"
import { HOLD_CHECK_MILLIS } from "../../src/gatekeeper/calls/hold-time.ts"
import { UNPAID_CHECK_MILLIS, UNPAID_CLAIM_MILLIS } from "../../src/gatekeeper/calls/unpaid.ts"
import { callsPaid } from "../model/awaited.ts"
import {
  billedOf,
  changedOthers,
  holdOf,
  newlyOwed,
  type Owed,
  priceOf,
  wrongHold,
  wronglyOwed,
  wrongSettlement,
} from "../model/budget-steps.ts"
import type { Change } from "../model/change.ts"
import { isDoubt, type QueueState } from "../model/queue-state.ts"
import { type Book, EMPTY, readBook } from "./books.ts"
import { BudgetLines } from "./budget-lines.ts"
import type { AnyAsk, Did } from "./did.ts"
import type { BudgetsPlan } from "./plan.ts"
import { CAMPAIGN, type CampaignName, campaignsOf, keyOf } from "./settings.ts"
import type { World } from "./world.ts"

/** How late a loop may be (ms). */
const SLACK_MILLIS = 700
/** How long nobody may hold more time for a call: the gate that was given it may die, and the next one is given it after the claim (ms). */
const EXTENDED_MILLIS = 2 * (CLAIM_MILLIS + HOLD_CHECK_MILLIS + SLACK_MILLIS)
/** How soon time is held for the call of a start in doubt that was found (ms). */
const FOUND_MILLIS = 15_000
/** How long nobody may find that the budget of a caller who waits for it has time again: a gate that has claimed the look may die (ms). */
const FOUND_PAID_MILLIS = 2 * (UNPAID_CHECK_MILLIS + SLACK_MILLIS) + UNPAID_CLAIM_MILLIS
/** With so long a lead, a call whose vendor ends it as told ends before its time is used up (s). */
const SAFE_LEAD_SECONDS = 10

/** How far a zone's clock is ahead of UTC (ms). */
const aheadOf = (zone: string): number => {
  const [, sign, hours = "0", minutes = "0"] = /^([+-])(\d\d):(\d\d)$/.exec(zone) ?? []
  return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
}

/** The windows in which a step counts, by budget: those that it asks for, and those of its hold. */
const windowsOf = (call: object, { records }: Book, own: string): ReadonlyMap<string, number> => {
  const { books = [], from, name } = call as Partial<HoldCall & AdjustCall>
  const asked = books.flatMap(({ entries = [] }) => entries.map((entry) => [entry.name, entry.from] as const))
  const held = (records.get(own)?.parts ?? []).map((part) => [part.name, part.from] as const)
  return new Map([...asked, ...held, ...(name === undefined || from === undefined ? [] : [[name, from] as const])])
}

/** What a step over several books has told of the budgets of one of them. */
const toldIn = ({ books: [part] }: HoldCall, answer: Held): Held => {
  if (answer._tag === "over") return answer
  const names = new Set(part?.entries?.map(({ name }) => name))
  const { alerts = [], exhausted = [], overruns = [] } = answer
  return {
    ...answer,
    alerts: alerts.filter(({ name }) => names.has(name)),
    exhausted: exhausted.filter((name) => names.has(name)),
    overruns: overruns.filter(({ name }) => names.has(name)),
  }
}

/** The part of a step over several books that concerns one of them. */
const partOf = ({ call, keys, ...ask }: AnyAsk, n: number): AnyAsk & { readonly call: HoldCall } => {
  const { books, ...hold } = call as HoldCall
  return {
    ...ask,
    keys: keys.slice(n * BOOK_KEY_COUNT, (n + 1) * BOOK_KEY_COUNT),
    call: { ...hold, books: books.slice(n, n + 1) },
  }
}

export class BudgetWatch {
  private readonly world: World
  private readonly plan: BudgetsPlan
  private readonly saw: (what: string) => void
  private readonly ahead: number
  /** by their ledgers */
  private readonly books = new Map<string, Book>()
  /** the books of the campaigns with callers, which may share the ledger of an account */
  private readonly ofCampaigns: ReadonlySet<string>
  private readonly lines: BudgetLines
  /** tickets that wait for budgets of their callers, by when these had time again (ms) */
  private readonly paidSince = new Map<string, number>()
  /** what the queues have owed, by hold */
  private readonly owed = new Map<string, Owed>()

  constructor(world: World, plan: BudgetsPlan, saw: (what: string) => void) {
    this.world = world
    this.plan = plan
    this.saw = saw
    this.ahead = aheadOf(plan.zone)
    this.ofCampaigns = new Set(campaignsOf(world.plan).map((name) => campaignBook(keyOf(world.plan, name))[0] ?? ""))
    this.lines = new BudgetLines(world, plan, this.books, this.ofCampaigns, saw)
  }

  /** A step of a queue: what it owes to budgets. */
  stepped(step: Did, change: Change): void {
    const { world } = this
    const reported = step.name === "end" ? step.call.seconds : undefined
    const charged = step.name === "acknowledge" ? (step.call.charges ?? []) : []
    for (const wrong of wronglyOwed(change, reported, charged)) world.fail(wrong)
    for (const [hold, owed] of newlyOwed(change)) this.owed.set(hold, owed)
    const hasOwn = this.plan.budgets.some(({ Of }) => Of === "caller")
    for (const { caller, doubt, hold } of charged) {
      const by = [...this.books].filter(([, { records }]) => records.get(hold)?.settled === true)
      if (!by.some(([ledger]) => this.ofCampaigns.has(ledger)))
        world.fail(`B5: what is owed of ${hold} is taken as charged, and it is not`)
      else if (hasOwn && caller !== undefined && doubt !== true && by.length < 2)
        world.fail(`B5: what is owed of ${hold} is taken as charged, and its caller is not`)
    }
    if (step.name === "bind" && step.result === "live") this.begins(step.call.id, step.call.lease, change.after)
  }

  /** A call begins: time is held for it. */
  private begins(id: string, lease: string, { tickets }: QueueState): void {
    const ticket = tickets.get(id)
    // a repeated bind may find that the call is over
    if (ticket?.state !== "live" || ticket.lease !== lease || ticket.billed < 0) return
    this.saw("a call with budgets begins")
    if (this.heldFor(holdOf(id, ticket)) === undefined)
      this.world.fail(`B1: the call of ${id} begins, and no time is held for it`)
  }

  /** How much time a campaign holds for a call (s); undefined for none. */
  private heldFor(hold: string): number | undefined {
    for (const ledger of this.ofCampaigns) {
      const record = this.books.get(ledger)?.records.get(hold)
      if (record?.settled === false) return record.seconds
    }
    return undefined
  }

  /** A rule of the budgets was executed; `done` when everything was checked. */
  carriedOut(rule: string, ask: AnyAsk, answer: unknown, done: () => void): void {
    const books = ask.keys.length / BOOK_KEY_COUNT
    if (books > 1 && !this.plan.oneStep) this.world.fail(`${rule} concerns two books, as it cannot on a cluster`)
    const judged = (n: number): void => {
      if (n === books) done()
      else if (books === 1) this.judgeBook(rule, ask, answer, () => judged(n + 1))
      else {
        const part = partOf(ask, n)
        this.judgeBook(rule, part, toldIn(part.call, answer as Held), () => judged(n + 1))
      }
    }
    judged(0)
  }

  /** What a step has done in one book. */
  private judgeBook(rule: string, ask: AnyAsk, answer: unknown, done: () => void): void {
    const [ledger = ""] = ask.keys
    readBook(this.world, ask, (after) => {
      const before = this.books.get(ledger) ?? EMPTY
      this.books.set(ledger, after)
      // campaigns of an account share its ledger
      for (const each of this.ofCampaigns.has(ledger) ? this.ofCampaigns : [])
        this.books.set(each, { ...(this.books.get(each) ?? EMPTY), shared: after.shared })
      this.judge(rule.slice("budgets.".length), ledger, ask, answer, before, after)
      this.lines.check(ledger, after)
      done()
    })
  }

  private judge(name: string, ledger: string, { call, now }: AnyAsk, answer: unknown, before: Book, after: Book): void {
    const { world } = this
    let own = ""
    let why: string | undefined
    switch (name) {
      case "hold":
        own = (call as HoldCall).id
        this.held(ledger, call as HoldCall, now, answer as Held, before, after)
        break
      case "settle":
        own = (call as SettleCall).id
        why = this.settled(ledger, call as SettleCall, answer as Settled, before, after)
        break
      case "correct": {
        const corrected = answer as Corrected
        if ("id" in corrected) own = corrected.id
        why = "the vendor has said it"
        this.corrected(call as CorrectCall, corrected, before, after)
        break
      }
      case "adjust":
        this.lines.adjusted(ledger, call as AdjustCall, answer as never, before)
        break
      case "balance":
        this.lines.balanced(ledger, call as BalanceCall, answer as never, after)
    }
    this.lines.effects(ledger, answer as BudgetEffects, after, windowsOf(call, after, own), why)
    // a gate that does not serve the campaign any more does not know at which shares it alerts
    const knows = world.serves && world.gates.every((gate) => gate?.servesCampaign(CAMPAIGN) !== false)
    if (knows && (name === "settle" || name === "correct" || name === "adjust"))
      this.lines.raised(ledger, before, after)
    if (name === "hold") this.lines.limited(ledger, call as HoldCall, answer as Held, after)
    for (const other of changedOthers(before.records, after.records, own))
      world.fail(`B5: ${name} has changed what is held of ${other}, which it does not concern`)
  }

  private held(ledger: string, call: HoldCall, now: number, answer: Held, before: Book, after: Book): void {
    const { world } = this
    const { id, running } = call
    const [was, is] = [before.records.get(id), after.records.get(id)]
    if (answer._tag === "held") {
      for (const wrong of wrongHold(call, now, answer.seconds, was, is, this.lines.budgets, this.ahead))
        world.fail(wrong)
      if (was === undefined && running === true)
        world.fail(`B1: time of ${id} is held again in ${ledger}, as if the store had lost it`)
      if (was !== undefined && answer.seconds > was.seconds) this.saw("more time is held")
      return
    }
    if (answer._tag === "over" && (was?.settled !== true || !this.owed.has(id)))
      world.fail(`B6: ${id} is taken as settled, and its slot is held`)
    for (const other of changedOthers(before.records, after.records, ""))
      world.fail(`B1: nothing is held of ${id}, and ${other} has changed`)
  }

  /** Returns what explains that its call has used more than it held. */
  private settled(
    ledger: string,
    { id, unknown }: SettleCall,
    answer: Settled,
    before: Book,
    after: Book,
  ): string | undefined {
    const { world } = this
    const [was, is] = [before.records.get(id), after.records.get(id)]
    const isOfCampaign = this.ofCampaigns.has(ledger)
    const owed = this.owed.get(id)
    // on a cluster, a caller's part is given back where the campaign refuses
    if (owed === undefined && isOfCampaign) world.fail(`B6: ${id} is settled, and its slot is held`)
    if (unknown === true) world.fail(`B5: ${id} is charged what it holds, and how long it was is known`)
    const seconds = owed === undefined || (owed.doubt && !isOfCampaign) ? 0 : owed.seconds
    switch (answer._tag) {
      case "lost":
        world.fail(`B5: ${id} was held, and the store has lost it`)
        return undefined
      case "unmade":
        if (was !== undefined) world.fail(`B5: ${id} was held, and is taken as never made`)
        return undefined
      case "again":
        if (was?.settled !== true) world.fail(`B5: ${id} is taken as settled, and was not`)
        for (const other of changedOthers(before.records, after.records, ""))
          world.fail(`B5: ${other} is settled twice`)
        return undefined
      case "settled":
        if (was === undefined || was.settled) {
          world.fail(`B5: ${id} is settled twice`)
          return undefined
        }
        for (const wrong of wrongSettlement(id, seconds, was, is)) world.fail(wrong)
        this.saw(seconds === 0 ? "time is given back" : "a call is charged")
        // beyond the cap time is held for no other call that runs
        if (billedOf(seconds, was) <= was.seconds)
          return this.world.plan.actions.some(({ kind }) => kind === "remove") ? "its campaign was removed" : undefined
        return owed?.doubt === true ? "nobody knew that it ran" : this.lateBecause()
    }
  }

  /** Why a call may run beyond the time that is held for it; undefined where nothing explains it. */
  private lateBecause(): string | undefined {
    const { isDisturbed, plan } = this.world
    const { reports } = this.plan
    if (plan.control.vendor?.ends !== "confirmed") return "its vendor does not end it as told"
    if (isDisturbed || plan.outageTo > 0) return "gates die or stand still, or reach nobody"
    if (plan.actions.some(({ kind }) => kind === "remove" || kind === "hours")) return "gates start anew"
    if (reports !== "nothing") return "its vendor says that it was longer"
    return this.plan.leadSeconds < SAFE_LEAD_SECONDS ? "its end takes longer than the lead" : undefined
  }

  private corrected(call: CorrectCall, answer: Corrected, before: Book, after: Book): void {
    const { world } = this
    if (answer._tag !== "corrected") {
      for (const other of changedOthers(before.records, after.records, ""))
        world.fail(`C1: a report that says nothing new has changed ${other}`)
      return
    }
    const { id } = answer
    const [was, is] = [before.records.get(id), after.records.get(id)]
    if (was?.settled !== true || is?.settled !== true) {
      world.fail(`C1: ${id} is corrected, and was not settled`)
      return
    }
    if (was.corrected.split(" ").includes(call.report)) world.fail(`C1: ${id} is corrected twice by ${call.report}`)
    this.saw("a call is corrected")
    const billed = call.seconds === undefined ? was.seconds : billedOf(call.seconds, was)
    if (is.seconds !== billed) world.fail(`C1: ${id} was ${call.seconds} s, and is billed ${is.seconds} s`)
    for (const [n, part] of is.parts.entries()) {
      const amount = call.cost !== undefined && part.perMinute > 0 ? call.cost : priceOf(billed, part)
      if (part.amount !== amount || part.from !== was.parts[n]?.from)
        world.fail(`C1: ${id} is charged ${part.amount} of ${part.name} from ${part.from}, and should be ${amount}`)
    }
  }

  /** How many calls of a campaign may begin by the budgets for which callers wait, as a gate was told of them; undefined for none. */
  paidBy(name: CampaignName, { awaited }: QueueContext): number | undefined {
    if (awaited === undefined) return undefined
    const book = this.books.get(campaignBook(keyOf(this.world.plan, name))[0] ?? "") ?? EMPTY
    return callsPaid(awaited.map(({ fields: [settled = ""] }) => this.lines.awaited(book, settled)))
  }

  /** A gate takes a step of a campaign at this time: it waits for no window that has begun. */
  tells(name: CampaignName, { awaited = [] }: QueueContext, now: number): void {
    if (awaited.some(({ until }) => until < now)) this.world.fail(`W2: ${name} waits for a window that has begun`)
  }

  /** Somebody was refused because of a budget. */
  refused(who: string, budget: string): void {
    this.lines.refused(who, budget)
  }

  /** A gate has told an operator that a change was made. */
  toppedUp(id: string): void {
    this.lines.toppedUp(id)
  }

  /** W8, of the oldest ticket of each caller who waits for a budget of his own. */
  private checkUnpaid({ tickets, unpaid }: QueueState): void {
    const { calmSince, kernel, plan } = this.world
    const seen = new Set<string>()
    const paid = new Set<string>()
    for (const id of unpaid.keys()) {
      const caller = tickets.get(id)?.caller ?? ""
      if (seen.has(caller)) continue
      seen.add(caller)
      this.saw("a caller waits for a budget of his own")
      if (!this.lines.hasOwn(this.books.get(callerBook(caller)[0] ?? "") ?? EMPTY)) continue
      paid.add(id)
      this.saw("the budget of a caller who waits for it has time again")
      const since = this.paidSince.get(id) ?? kernel.now
      this.paidSince.set(id, since)
      if (kernel.now - Math.max(since, calmSince) - 2 * plan.skewMillis > FOUND_PAID_MILLIS)
        this.world.fail(`W8: the budget of the caller of ${id} has time again, and it waits`)
    }
    for (const id of this.paidSince.keys()) if (!paid.has(id)) this.paidSince.delete(id)
  }

  /** Time is held ahead of a campaign's running calls, judged since when nothing has disturbed any gate. */
  check(state: QueueState, isServed: boolean): void {
    const { calmSince, kernel, plan } = this.world
    const { tickets } = state
    if (!isServed) return
    this.checkUnpaid(state)
    for (const [id, ticket] of tickets) {
      const { billed, endsAt, spent, state } = ticket
      if (state !== "live" || billed <= 0) continue
      const until = billed + (this.heldFor(holdOf(id, ticket)) ?? 0) * 1000
      if (spent && endsAt > until)
        this.world.fail(`B1: the call of ${id} ends ${endsAt - until} ms after what is held of it`)
      // a call at its end is ended (L1)
      const late = kernel.now - Math.max(until, calmSince) - 2 * plan.skewMillis
      // a start in doubt may have run since its slot was taken, and is looked at again when it is found
      if (!spent && late > EXTENDED_MILLIS + (isDoubt(id) ? FOUND_MILLIS : 0))
        this.world.fail(`B1: the call of ${id} runs on time that is not held`)
    }
  }

  /** Nothing is held. */
  get drained(): boolean {
    return [...this.books.values()].every(({ records }) => [...records.values()].every(({ settled }) => settled))
  }

  finish(): void {
    for (const [ledger, { records }] of this.books)
      for (const [hold, { seconds, settled }] of records)
        if (!settled) this.world.fail(`B6: ${ledger} holds ${seconds} s of ${hold} when everything is over`)
  }
}
