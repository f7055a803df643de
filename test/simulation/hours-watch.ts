/**
 * Watches one campaign with hours: who is let in, until when those who wait are served, and that they do not wait for longer. Judged by the plan's
 * times, and by which gate has said what.
 */
import { OPEN_MILLIS } from "../../src/fifo-queue/rules/shared/closing.ts"
import type { QueueState } from "../model/queue-state.ts"
import type { Gate } from "./gate.ts"
import { BEGIN } from "./kernel.ts"
import type { HoursPlan } from "./plan.ts"
import type { World } from "./world.ts"

/** How long a request may be under way after the gate has found that it is open (ms). */
const UNDER_WAY_MILLIS = 5_000
/** After so long without a word of a gate with hours, the next one is the first (ms). */
const FORGOTTEN_MILLIS = 5 * 60_000

export class HoursWatch {
  private readonly world: World
  private readonly plan: HoursPlan
  /** when a gate last said that the campaign is open, or first told its hours */
  private openAt = 0
  /** when a gate with hours last swept */
  private toldAt = 0

  constructor(world: World, plan: HoursPlan) {
    this.world = world
    this.plan = plan
  }

  private isOpen(now: number): boolean {
    const { closesAt, opensAt = Number.POSITIVE_INFINITY } = this.plan
    return now < BEGIN + closesAt || now >= BEGIN + opensAt
  }

  /** A gate sweeps. */
  swept({ hasHours }: Gate, now: number): void {
    const isFirst = hasHours && now - this.toldAt >= FORGOTTEN_MILLIS
    if (!hasHours || isFirst || this.isOpen(now)) this.openAt = Math.max(this.openAt, now)
    if (hasHours) this.toldAt = Math.max(this.toldAt, now)
  }

  /** Until when those who wait are served at least. */
  private get servedUntil(): number {
    return Math.max(BEGIN + this.plan.closesAt, this.openAt) + this.plan.afterCloseMinutes * 60_000
  }

  /** The wait of a ticket has ended because of the hours. */
  closed(id: string, now: number): void {
    const early = this.servedUntil - now
    if (this.isOpen(now)) this.world.fail(`H1: ${id} ends as closed, and the campaign is open`)
    else if (early > 0)
      this.world.fail(`H1: ${id} ends as closed ${early} ms before those who wait are no longer served`)
  }

  /** A gate has let somebody in. */
  admitted(id: string, gate: Gate, now: number): void {
    const wasStalled = gate.cleanSince > now - UNDER_WAY_MILLIS
    if (gate.hasHours && !wasStalled && !this.isOpen(now) && !this.isOpen(now - UNDER_WAY_MILLIS))
      this.world.fail(`H3: ${gate.name} has let ${id} in while the campaign is closed`)
  }

  /** Whether a gate may refuse a newcomer: it is closed, or may close before the turn comes. */
  mayRefuse({ hasHours }: Gate): boolean {
    const { closesAt, opensAt = Number.POSITIVE_INFINITY } = this.plan
    const millis = this.world.millis() - 2 * this.world.plan.skewMillis
    return hasHours && (millis < opensAt + UNDER_WAY_MILLIS || closesAt > millis)
  }

  /** Whether a gate must know that the campaign is closed to newcomers, or that it is open; undefined where it may think either. */
  isClosed(gate: Gate): boolean | undefined {
    const { now } = this.world.kernel
    if (!gate.hasHours) return false
    // its clock may be behind, or what it said is under way
    if (gate.process.behind.wall > 0 || gate.cleanSince > now - UNDER_WAY_MILLIS) return undefined
    if (!this.mayRefuse(gate)) return false
    return this.isOpen(now) || this.isOpen(now - UNDER_WAY_MILLIS) ? undefined : true
  }

  /** @param waitsSince since when a ticket waits; @param isLate whether a gate that nothing has stalled should have acted on a moment */
  check({ waiting }: QueueState, waitsSince: (id: string) => number, isLate: (moment: number) => boolean): void {
    if (this.isOpen(this.world.kernel.now) || this.world.gates.some((gate) => gate?.up === true && !gate.hasHours))
      return
    for (const id of waiting.keys()) {
      if (isLate(Math.max(this.servedUntil + OPEN_MILLIS, waitsSince(id))))
        this.world.fail(`H2: ${id} waits, and those who wait are no longer served`)
    }
  }
}
