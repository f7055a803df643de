/**
 * Watches one campaign of a history. After every step it checks the invariants of the queue's tests (`test/model/invariants.ts`) and of
 * the campaign's account (`account-watch.ts`), what the step owed (`test/model/obligations.ts`), what the rule was allowed to do
 * (`causes.ts`), what became of starts (`start-watch.ts`), what was recorded beside the store (`ledger.ts`), and what has been due since
 * (`promises.ts`).
 */

import type { StepAnswer } from "../../src/fifo-queue/answers.ts"
import { TICK_MILLIS } from "../../src/fifo-queue/FifoQueue.ts"
import { keysOf } from "../../src/fifo-queue/keys.ts"
import type { StoredEvent } from "../../src/fifo-queue/rules/shared/events.ts"
import type { QueueContext } from "../../src/fifo-queue/rules/shared/step.ts"
import { MAX_UNATTENDED, UNATTENDED_MILLIS } from "../../src/fifo-queue/rules/shared/unattended.ts"
import { AUDIT_AGE_MILLIS } from "../../src/gatekeeper/background/audit.ts"
import { UNSERVED_MILLIS } from "../../src/gatekeeper/peers/drain-removed.ts"
import type { HostEvent } from "../../src/protocol/host-events.ts"
import { violations } from "../model/invariants.ts"
import { expectedSettlements, expectedSignals } from "../model/obligations.ts"
import { isDrained } from "../model/over.ts"
import {
  doubtIds,
  EMPTY,
  FieldOfNobody,
  type Probed,
  probe,
  type QueueState,
  readState,
  TERMINAL,
} from "../model/queue-state.ts"
import type { AccountWatch } from "./account-watch.ts"
import type { BudgetWatch } from "./budget-watch.ts"
import type { Carried } from "./carried.ts"
import { left, trespasses } from "./causes.ts"
import { type AnyAsk, boundBy, type Did, json, said, sessionsOf, ticketOf, windowEnds, withdrawnBy } from "./did.ts"
import { EventWatch } from "./event-watch.ts"
import type { Gate } from "./gate.ts"
import { Hindrances } from "./hindrances.ts"
import { HoursWatch } from "./hours-watch.ts"
import type { Ledger } from "./ledger.ts"
import { LengthWatch } from "./length-watch.ts"
import { Promises } from "./promises.ts"
import { type CampaignName, keyOf } from "./settings.ts"
import { StartWatch } from "./start-watch.ts"
import type { World } from "./world.ts"

const QUEUE = "queue."
/** Maximum leases given in one step. */
const MOST_LEASES = 20
export class CampaignWatch {
  state: QueueState = EMPTY
  readonly name: CampaignName
  readonly keys: ReadonlyArray<string>
  /** how many steps changed something */
  changes = 0
  private readonly world: World
  private readonly ledger: Ledger
  private readonly account: AccountWatch | undefined
  private readonly budgets: BudgetWatch | undefined
  private readonly saw: (what: string) => void
  private readonly promises: Promises
  private readonly hindrances: Hindrances
  private readonly starts: StartWatch
  private readonly lengths: LengthWatch
  private readonly hours: HoursWatch | undefined
  private readonly events: EventWatch
  private readonly sessions = new Set<string>()
  /** sessions whose end was reported to the store */
  private readonly ended = new Set<string>()
  private raw = ""
  private lastSwept = 0
  /** the latest times in which nobody swept for long, oldest first */
  private absences: ReadonlyArray<readonly [from: number, until: number]> = []
  /** until then nobody counts as absent */
  private mercy = 0

  constructor(
    world: World,
    name: CampaignName,
    ledger: Ledger,
    account: AccountWatch | undefined,
    budgets: BudgetWatch | undefined,
    saw: (what: string) => void,
  ) {
    this.world = world
    this.name = name
    this.keys = keysOf(keyOf(world.plan, name))
    this.ledger = ledger
    this.account = account
    this.budgets = budgets
    this.saw = saw
    this.hindrances = new Hindrances(world, name)
    this.starts = new StartWatch(world, name, ledger, budgets, saw)
    this.lengths = new LengthWatch(world, ledger, saw)
    this.hours = world.plan.control.hours && new HoursWatch(world, world.plan.control.hours)
    this.events = new EventWatch(world, keyOf(world.plan, name), ledger)
    this.promises = new Promises(world, name, ledger, this.hindrances, account, {
      hours: this.hours,
      lengths: this.lengths,
      budgets,
    })
  }

  /** Called after a rule of the campaign was executed, with the messages that it has published; `done` when everything was checked. */
  carriedOut(
    gate: Gate,
    rule: string,
    ask: AnyAsk,
    answer: unknown,
    heard: () => ReadonlyArray<string>,
    done: () => void,
  ): void {
    const context = ask.context as QueueContext
    const stepped = answer as StepAnswer<unknown>
    const step = { name: rule.slice(QUEUE.length), call: ask.call, result: stepped.result } as Did
    this.promises.acts(gate, context)
    this.hindrances.acts(gate, context.instance)
    if (step.name === "admit") this.ledger.admitted(gate, step.call)
    if (step.name === "bind" || step.name === "alias" || step.name === "resolve")
      for (const session of sessionsOf(step)) this.sessions.add(session)
    if (step.name === "attach" || step.name === "fail") this.ledger.sign(step.call.id)
    this.look((after, raw) =>
      this.events.read(after.meta.get("events") ?? 0, (written) => {
        this.judge(gate, step, ask.now, context, { ...left(stepped), written }, heard(), after, raw)
        if (step.name === "end") for (const session of step.call.sessions) this.ended.add(session)
        done()
      }),
    )
  }

  private look(then: (state: QueueState, raw: string) => void): void {
    const { world } = this
    const tickets = [...this.ledger.ids, ...doubtIds((this.state.meta.get("lease") ?? 0) + MOST_LEASES)]
    const call = { tickets, sessions: [...this.sessions] }
    world.base.run(probe, { keys: this.keys, now: world.kernel.now, context: {}, call }, (probed) => {
      const raw = textOf(probed)
      const state = raw === this.raw ? { ...this.state, gates: new Map(probed.gates) } : this.read(probed)
      if (state === undefined) then(this.state, this.raw)
      else then(state, raw)
    })
  }

  /** A state without orphaned fields; else the orphans are the violation. */
  private read(probed: Probed): QueueState | undefined {
    try {
      return readState(probed)
    } catch (error) {
      if (!(error instanceof FieldOfNobody)) throw error
      this.world.fail(error.message)
      return undefined
    }
  }

  private judge(
    gate: Gate,
    step: Did,
    now: number,
    context: QueueContext,
    { settlements, signals, written }: ReturnType<typeof left> & { readonly written: ReadonlyArray<StoredEvent> },
    heard: ReadonlyArray<string>,
    after: QueueState,
    raw: string,
  ): void {
    const { world } = this
    const { plan } = world
    const { instance: self, slots } = context
    const { name, result } = step
    const before = this.state
    const ticket = ticketOf(step)
    if (step.name === "sweep" && (step.result.owed ?? []).length > 0) this.saw("sweep owed")
    if (step.name === "audit" && (step.result.sessions ?? []).length > 0) this.saw("audit asks")
    if (["start", "bind", "alias", "fail", "resolve", "end", "leave", "admit", "attach"].includes(name))
      this.saw(`${name} ${said(result)}`)
    if (step.name === "alias" && now - since(before, step.call.known) >= AUDIT_AGE_MILLIS)
      this.saw(`alias ${step.result} by audit`)
    if (step.name === "fail") this.starts.failed(gate, step.call, said(result))
    if (step.name === "end" && step.result === "released") {
      if (!gate.servesCampaign(this.name)) this.saw("end released elsewhere")
      world.platform.freed(step.call.sessions, gate)
    }
    const changed = raw !== this.raw
    this.raw = raw
    this.state = after
    const swept = step.name === "sweep" && !step.result.more
    for (const startBefore of windowEnds(step)) {
      if (startBefore < now) world.fail(`${name} says that a start window ended ${now - startBefore} ms ago`)
    }
    const window = plan.windowSeconds * 1000
    const refused = step.name === "fail" && step.call.reason === "refused"
    const withdrawn = withdrawnBy(step)
    const withdraws = withdrawn.length > 0
    const clears = step.name === "clear"
    const admits = step.name === "admit" ? { admits: [ticket, step.call.caller] as const } : {}
    const share = plan.networkShare
    const late = step.name === "admit" && this.ledger.wasWithdrawn(ticket)
    if (late) this.saw("admit withdrawn")
    for (const id of withdrawn) this.ledger.withdrawn(id)
    const away = this.away(now)
    const present = [this.lastSwept, now] as const
    if (away && step.name === "sweep") this.absences = [...this.absences, present].slice(-MAX_UNATTENDED)
    const absences = away && step.name !== "sweep" ? [...this.absences, present] : this.absences
    const shown = step.name === "sweep" ? { shown: step.call.heartbeatAt ?? now } : {}
    const by = { self, ...shown }
    const pays = step.name === "pay" ? { pays: step.call.ids } : {}
    const kind = { swept, away, absences, refused, withdraws, clears, ...pays }
    const shared = this.account?.boundsOf(gate, this.name, context)
    const within = shared === undefined ? {} : { account: shared }
    this.budgets?.tells(this.name, context, now)
    const paid = this.budgets?.paidBy(this.name, context)
    const change = {
      ...(paid === undefined ? {} : { paid }),
      before,
      after,
      now,
      time: world.kernel.now,
      ...by,
      slots,
      ...within,
      share,
      skew: 2 * plan.skewMillis,
      window,
      ...kind,
      ...admits,
    }
    if (shared !== undefined && shared.most < slots && after.leases.size >= shared.most && after.waiting.size > 0)
      this.saw("account withholds a slot")
    if (shared !== undefined && shared.least < shared.most && after.leases.size >= shared.least)
      this.saw("account leaves a slot to another")
    if (changed || swept) for (const wrong of violations(change)) world.fail(wrong)
    for (const wrong of this.account?.judge(gate, this.name, context, change) ?? []) world.fail(wrong)
    const carried: Carried = {
      ...step,
      now,
      ...by,
      slots: Math.min(slots, shared?.least ?? slots),
      ...(paid === undefined ? {} : { paid }),
      before,
      after,
      late,
      unattended: this.unattended(now),
      away,
      lastSwept: this.lastSwept,
      ended: this.ended,
      unserved: now - this.lastSwept >= UNSERVED_MILLIS,
      maxLength: plan.maxLength,
      share: plan.networkShare,
      graceMillis: plan.graceSeconds * 1000,
      windowMillis: plan.windowSeconds * 1000,
      callMillis: plan.callMinutes * 60_000,
    }
    if (changed || ["admit", "end", "bind", "alias", "clear"].includes(name)) {
      for (const wrong of trespasses(carried, (move) => this.saw(move))) world.fail(wrong)
    }
    const signalled = [...signals, ...heard].toSorted()
    const due = changed ? expectedSignals(change) : []
    if (signalled.join() !== due.join()) world.fail(`signals [${signalled.join()}] where [${due.join()}] are due`)
    const owed = changed ? expectedSettlements(change) : []
    if (settlements.toSorted().join() !== owed.join()) {
      world.fail(`settlements [${settlements.join()}] where [${owed.join()}] are due`)
    }
    this.events.stepped(written, change, boundBy(step, before), context.events === true && changed)
    this.lengths.stepped(step, now, before, after)
    this.budgets?.stepped(step, change)
    if (step.name === "sweep") this.hours?.swept(gate, now)
    if (step.name === "admit" && after.tickets.has(ticket) && !before.tickets.has(ticket))
      this.hours?.admitted(ticket, gate, now)
    if (changed) {
      this.changes++
      this.ledger.record(change)
      if (after.passed.size > before.passed.size) this.saw(`${name} passes over`)
      for (const [id, { state }] of after.tickets) {
        const was = before.tickets.get(id)?.state
        // a ticket whose start was not reported in time waits again
        if ((name === "sweep" || name === "clear") && state === "waiting" && was === "starting") this.ledger.sign(id)
        if (state === "abandoned" && was === "waiting") this.hindrances.abandoned(id, before)
        if (state === "closed" && was !== "closed") this.hours?.closed(id, now)
        if (state === "missed" && was === "called")
          this.hindrances.missed(id, before, this.ledger.lifeOf(id)?.turnAt ?? 0)
      }
      world.trace?.push(`        ${gate.name} ${name} ${ticket} → ${json(result)} ${summary(after)}`)
    }
    if (step.name === "reportOutage") this.starts.reported(gate, step.call, now, after)
    if (step.name === "sweep") this.sweptAt(now)
    if (step.name === "reportOutage" && this.mercy <= now) this.mercy = now + this.graceAnew
    this.timePassed()
  }

  /** A gate has stopped gracefully. */
  stopped(gate: Gate): void {
    this.starts.stopped(gate, this.state)
  }

  /** A gate asks the platform to end a session. */
  ends(gate: Gate, ids: ReadonlyArray<string>): void {
    this.lengths.ends(gate, ids, this.state)
  }

  /** A page was told when its call ends. */
  warned(ticket: string, endsAt: number): void {
    this.lengths.warned(ticket, endsAt, this.state)
  }

  /** Whether a gate may refuse a newcomer because of the hours. */
  mayRefuse(gate: Gate): boolean {
    return this.hours?.mayRefuse(gate) === true
  }

  /** Whether it is closed to newcomers at a gate; undefined where the gate may think either. */
  isClosed(gate: Gate): boolean | undefined {
    return this.hours === undefined ? false : this.hours.isClosed(gate)
  }

  /** A rule of the event log was executed; false for the log of another campaign. */
  loggedEvents(rule: string, ask: AnyAsk, answer: unknown): boolean {
    if (ask.keys[0] !== this.events.keys[0]) return false
    this.events.carriedOut(rule, ask, answer)
    return true
  }

  /** Whether the budgets that have these keys write their events to the campaign's log. */
  logsTo(keys: ReadonlyArray<string>): boolean {
    return this.world.plan.control.events !== undefined && keys.includes(this.events.keys[0] ?? "")
  }

  /** A step of its budgets was executed, which may have written events. */
  budgetStepped(_keys: ReadonlyArray<string>, done: () => void): void {
    this.events.readAll((written) => {
      this.events.ofBudgets(written)
      done()
    })
  }

  /** The host has taken an event. */
  received(event: HostEvent): void {
    this.events.received(event)
  }

  private away(now: number): boolean {
    return this.lastSwept > 0 && now - this.lastSwept > UNATTENDED_MILLIS
  }

  private unattended(now: number): boolean {
    return this.away(now) || this.mercy > now
  }

  /** How long nobody counts as absent after an outage (ms). */
  private get graceAnew(): number {
    return this.world.plan.graceSeconds * 1000 + TICK_MILLIS
  }

  /** After a time without sweeps, waiting tickets have a new grace. */
  private sweptAt(now: number): void {
    if (this.unattended(now) && this.mercy <= now) this.mercy = now + this.graceAnew
    if (now > this.lastSwept) this.lastSwept = now
  }

  /** Checks what is due. */
  timePassed(): void {
    this.promises.check(this.state, this.mercy)
  }

  /** Nobody waits, and nothing is held or owed. */
  get drained(): boolean {
    return isDrained(this.state)
  }

  /** The host has every event. */
  get told(): boolean {
    return this.world.plan.control.events === undefined || this.events.done
  }

  /** Everything has ended, and all slots are free. */
  finish(): void {
    const { state, world } = this
    if (!this.drained)
      world.fail(`I4: ${summary(state)} are left when everything is over, ${state.settlements.size} settlements`)
    if (!this.told) this.events.finish()
  }
}

/** Since when a session has held its slot (ms). */
const since = ({ sessions, tickets }: QueueState, session: string): number =>
  tickets.get(sessions.get(session) ?? "")?.since ?? Number.POSITIVE_INFINITY

/** What each sweep writes. */
const SWEPT: ReadonlySet<string> = new Set(["sweptAt", "openAt", "hoursAt"])

/** A state as text, without the times of sweeps. */
const textOf = ({ gates: _gates, meta, ...rest }: Probed): string =>
  JSON.stringify([meta.found.filter(([field]) => !SWEPT.has(field)), rest])

/** A short summary of a state. */
const summary = (state: QueueState): string => {
  const open = [...state.tickets].filter(([, { state }]) => !TERMINAL.has(state))
  return `[${open.map(([id, { lease, state }]) => `${id}:${state}${lease}`).join(" ")}]`
}
