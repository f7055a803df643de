/**
 * Watches a history: the campaigns with callers, each after every step of it (`campaign-watch.ts`), what they share of their account, and
 * what callers were told.
 */

import type { HostEvent } from "../../src/protocol/host-events.ts"
import type { Taken } from "../../src/rate-limiter/answers.ts"
import type { Take } from "../../src/rate-limiter/rules/take.ts"
import type { Record as TicketRecord } from "../model/queue-state.ts"
import { AccountWatch } from "./account-watch.ts"
import { BudgetWatch } from "./budget-watch.ts"
import { CampaignWatch } from "./campaign-watch.ts"
import { type AnyAsk, messageText } from "./did.ts"
import type { Gate } from "./gate.ts"
import { Ledger } from "./ledger.ts"
import { OfferWatch } from "./offer-watch.ts"
import { type CampaignName, campaignsOf } from "./settings.ts"
import type { World } from "./world.ts"

const QUEUE = "queue."

export class Watch {
  /** how often each thing was seen: moves of tickets as `rule from→to`, answers as `rule answer` */
  readonly seen = new Map<string, number>()
  private readonly world: World
  readonly ledger: Ledger
  private readonly campaigns: ReadonlyArray<CampaignWatch>
  /** undefined where calls have no budgets */
  readonly budgets: BudgetWatch | undefined
  /** undefined where nothing is offered */
  readonly offers: OfferWatch | undefined
  private messages: Array<string> = []

  constructor(world: World) {
    const { plan } = world
    this.world = world
    this.ledger = new Ledger(world)
    const account = plan.account && new AccountWatch(plan, plan.account)
    const saw = (what: string): void => void this.seen.set(what, (this.seen.get(what) ?? 0) + 1)
    const { budgets } = plan.control
    this.budgets = budgets && new BudgetWatch(world, budgets, saw)
    this.offers = plan.control.overflow && new OfferWatch(world, plan.control.overflow, saw)
    this.campaigns = campaignsOf(plan).map(
      (name) => new CampaignWatch(world, name, this.ledger, account, this.budgets, saw),
    )
  }

  /** How many steps changed something. */
  get changes(): number {
    return this.campaigns.reduce((sum, { changes }) => sum + changes, 0)
  }

  /** The campaign with callers that a call to the store concerns. */
  of(rule: string, [key]: ReadonlyArray<string>): CampaignWatch | undefined {
    return rule.startsWith(QUEUE) ? this.campaigns.find(({ keys }) => keys[0] === key) : undefined
  }

  published(message: string): void {
    this.messages.push(messageText(message))
  }

  /** What the rule that was executed last has published. */
  private readonly heard = (): ReadonlyArray<string> => {
    const { messages } = this
    this.messages = []
    return messages
  }

  /** Called after a rule was executed; `done` when everything was checked. */
  carriedOut(gate: Gate, rule: string, ask: AnyAsk, answer: unknown, done: () => void): void {
    const campaign = this.of(rule, ask.keys)
    // a campaign without callers is not checked: a reported end changes only what it remembers
    if (rule.startsWith("gates.") || (rule.startsWith(QUEUE) && campaign === undefined)) {
      done()
      return
    }
    this.world.steps++
    if (rule.startsWith("events.")) this.campaigns.find((each) => each.loggedEvents(rule, ask, answer))
    if (rule === "limits.take" && (answer as Taken).taken)
      this.ledger.took(gate, (ask.call as Take).token, ask.ownKeys ?? [])
    if (rule.startsWith("budgets.") && this.budgets !== undefined) {
      const logged = (): void => {
        const log = this.campaigns.find((each) => each.logsTo(ask.keys))
        if (log === undefined) done()
        else log.budgetStepped(ask.keys, done)
      }
      this.budgets.carriedOut(rule, ask, answer, logged)
      return
    }
    if (campaign === undefined) done()
    else campaign.carriedOut(gate, rule, ask, answer, this.heard, done)
  }

  /** What the store has of a ticket, and of which campaign it is. */
  recordOf(ticket: string): (TicketRecord & { readonly campaign: CampaignName }) | undefined {
    for (const { name, state } of this.campaigns) {
      const found = state.tickets.get(ticket)
      if (found !== undefined) return { ...found, campaign: name }
    }
    return undefined
  }

  /** The state of a ticket. */
  stateOf(ticket: string): string | undefined {
    return this.recordOf(ticket)?.state
  }

  /** Whether a session holds a slot. */
  holds(session: string): boolean {
    return this.campaigns.some(({ state }) => state.sessions.has(session))
  }

  /** A gate asks the platform to end a session. */
  ends(gate: Gate, ids: ReadonlyArray<string>): void {
    for (const campaign of this.campaigns) campaign.ends(gate, ids)
  }

  /** A page was told when its call ends. */
  warned(ticket: string, endsAt: number): void {
    for (const campaign of this.campaigns) campaign.warned(ticket, endsAt)
  }

  /** Whether a gate may refuse a newcomer of a campaign because of the hours. */
  mayRefuse(gate: Gate, name: CampaignName): boolean {
    return this.campaigns.some((campaign) => campaign.name === name && campaign.mayRefuse(gate))
  }

  /** Whether a campaign is closed to newcomers at a gate; undefined where the gate may think either. */
  isClosed(gate: Gate, name: string): boolean | undefined {
    const campaign = this.campaigns.find((each) => each.name === name)
    return campaign === undefined ? undefined : campaign.isClosed(gate)
  }

  /** The host has taken an event. */
  received(event: HostEvent): void {
    for (const campaign of this.campaigns) if (campaign.name === event.campaign) campaign.received(event)
  }

  /** The host has every event. */
  get told(): boolean {
    return this.campaigns.every(({ told }) => told)
  }

  /** A gate has stopped gracefully. */
  stopped(gate: Gate): void {
    for (const campaign of this.campaigns) campaign.stopped(gate)
  }

  /** Checks what is due. */
  timePassed(): void {
    for (const campaign of this.campaigns) campaign.timePassed()
    this.offers?.timePassed()
  }

  /** Nobody waits, and nothing is held or owed. */
  get drained(): boolean {
    return this.campaigns.every(({ drained }) => drained) && this.budgets?.drained !== false
  }

  /** Everything has ended, all slots are free, and every budget is as it must be. */
  finish(): void {
    for (const campaign of this.campaigns) campaign.finish()
    this.budgets?.finish()
    if (this.drained) this.ledger.finish(this.campaigns.map(({ state }) => state))
  }
}
