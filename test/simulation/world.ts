/** The scope of a history: its time, its parts, and what was seen of it. */

import type { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import type { PushEvent } from "../../src/protocol/events.ts"
import { keyed } from "../harness/chance.ts"
import type { Base } from "./base.ts"
import type { Caller } from "./callers.ts"
import type { CampaignWatch } from "./campaign-watch.ts"
import type { AnyAsk, AnyRule } from "./did.ts"
import { Gate } from "./gate.ts"
import { BEGIN, type Kernel } from "./kernel.ts"
import type { Link } from "./link.ts"
import type { Plan } from "./plan.ts"
import { Platform } from "./platform.ts"
import { Watch } from "./watch.ts"

/** A planted fault, to prove that it is detected. */
export interface Planted {
  readonly name: string
  /** replaces a rule of the store */
  readonly rule?: (rule: AnyRule) => AnyRule
  /** changes a rule's answer to a gate */
  readonly heard?: (rule: string, answer: unknown) => unknown
  /** changes what a gate does for its callers, and answers them */
  readonly gatekeeper?: (real: Gatekeeper["Service"]) => Gatekeeper["Service"]
  /** what a gate pushes in place of an event */
  readonly pushed?: (event: PushEvent, link: Link) => ReadonlyArray<PushEvent>
  /** a stopping gate does not wait for its starts */
  readonly hasty?: true
  /** a gate keeps the clock difference to the store that it measured first */
  readonly keepsTime?: boolean
  /** executes a rule only this long (ms) after its decision, by replacing it with that decision */
  readonly actsLate?: {
    readonly millis: number
    readonly decide: (rule: AnyRule, campaign: CampaignWatch, ask: AnyAsk) => AnyRule | undefined
  }
}

export class World {
  readonly kernel: Kernel
  readonly plan: Plan
  readonly base: Base
  readonly platform: Platform
  readonly watch: Watch
  readonly gates: Array<Gate | undefined> = []
  readonly callers: Array<Caller> = []
  readonly trace: Array<string> | undefined
  /** the first violation */
  violation: string | undefined
  over = false
  /** whether gates that start now have the campaign in their settings */
  serves = true
  /** whether gates that start now have the campaign's hours */
  hasHours: boolean
  /** when a gate last died (ms) */
  diedAt = 0
  /** top-ups that no gate has answered yet */
  pendingTopUps = 0
  /** rules that the store has executed and that were checked */
  steps = 0
  /** the slots that the platform reports */
  slots: number
  bus: { readonly until: number; readonly mode: "lose" | "repeat" | "reorder" } | undefined
  readonly planted: Planted | undefined
  private readonly lifeOf = new Map<number, number>()

  constructor(kernel: Kernel, plan: Plan, base: Base, planted: Planted | undefined, traced: boolean) {
    this.kernel = kernel
    this.plan = plan
    this.base = base
    this.planted = planted
    this.slots = plan.account?.cap ?? plan.slots
    this.hasHours = plan.control.hours?.added !== true
    this.trace = traced ? [] : undefined
    this.platform = new Platform(this)
    this.watch = new Watch(this)
  }

  get keepsTime(): boolean {
    return this.planted?.keepsTime === true
  }

  /** Milliseconds since the history began. */
  millis(): number {
    return this.kernel.now - BEGIN
  }

  /** Since when nothing has disturbed a gate, and none has died; in the future while something does, or one starts. */
  get calmSince(): number {
    const living = this.gates.flatMap((gate) => (gate?.process.alive === true ? gate : []))
    return Math.max(this.diedAt, ...living.map(({ cleanSince, unawareUntil }) => Math.max(cleanSince, unawareUntil)))
  }

  /** Whether anything has ever disturbed a gate. */
  isDisturbed = false

  /** randomness that belongs to a name, from 0 up to but not including `below` */
  chance(key: string, below: number): number {
    return keyed(this.plan.seed, key) % below
  }

  note(what: string): void {
    this.trace?.push(`${String(this.millis()).padStart(7)} ${what}`)
  }

  fail(what: string): void {
    this.note(`VIOLATION ${what}`)
    this.violation ??= what
  }

  /** Begins a gate's next life, unless it is alive. */
  startGate(index: number): void {
    if (this.gates[index]?.process.alive === true) return
    const life = (this.lifeOf.get(index) ?? 0) + 1
    this.lifeOf.set(index, life)
    this.gates[index] = new Gate(this, index, life)
  }

  /** The store executes a rule for a gate, and everything is checked. */
  carryOut(gate: Gate, asked: AnyRule, ask: AnyAsk, done: (answer: unknown) => void): void {
    const late = this.planted?.actsLate
    const campaign = late && this.watch.of(asked.name, ask.keys)
    const decided = campaign && late?.decide(asked, campaign, ask)
    if (late !== undefined && decided !== undefined) {
      this.kernel.after(late.millis, () => this.run(gate, decided, ask, done))
    } else {
      this.run(gate, this.planted?.rule?.(asked) ?? asked, ask, done)
    }
  }

  private run(gate: Gate, rule: AnyRule, ask: AnyAsk, done: (answer: unknown) => void): void {
    this.base.run(rule, ask, (answer) => {
      const heard = this.planted?.heard?.(rule.name, answer) ?? answer
      this.watch.carriedOut(gate, rule.name, ask, answer, () => done(heard))
    })
  }
}
