/**
 * The times in which a gate could not reach the store or was stalled, as the gate itself could notice them; and the
 * promise for them: nobody misses a turn or loses a place because of one.
 */
import { DEAD_MILLIS, MAX_WINDOWS } from "../../src/fifo-queue/rules/shared/outage.ts"
import type { QueueState } from "../model/queue-state.ts"
import type { Gate } from "./gate.ts"
import type { CampaignName } from "./settings.ts"
import type { World } from "./world.ts"

/** How long a step may be in flight when an outage begins or ends (ms). */
const SLACK_MILLIS = 50

export interface Hindrance {
  readonly from: number
  readonly to: number
  /** the campaign whose step did not reach the store; absent for a gate that was stalled, which concerns all */
  readonly campaign?: CampaignName
}

/** Those of a gate that concern a campaign. */
const hindrancesOf = ({ hindrances }: Gate, name: CampaignName): ReadonlyArray<Hindrance> =>
  hindrances.filter(({ campaign }) => campaign === undefined || campaign === name)

/** Whether a gate was ever silent for so long that it counted as dead. */
const wasDead = (hindrances: ReadonlyArray<Hindrance>): boolean => {
  let from = 0
  let to = Number.NEGATIVE_INFINITY
  for (const each of hindrances) {
    // between two of them it may have reached nothing either
    if (each.from > to + 2_000) from = each.from
    to = Math.max(to, each.to)
    if (to - from > DEAD_MILLIS - 5_000) return true
  }
  return false
}

export class Hindrances {
  private readonly world: World
  private readonly name: CampaignName
  /** gates by their names in the store */
  private readonly named = new Map<string, Gate>()

  constructor(world: World, name: CampaignName) {
    this.world = world
    this.name = name
  }

  acts(gate: Gate, name: string): void {
    this.named.set(name, gate)
  }

  gateOf(name: string): Gate | undefined {
    return this.named.get(name)
  }

  /**
   * A turn is missed, judged by the state before: no gate was cut off from the store while its window was open, or
   * since.
   */
  missed(id: string, { leases, tickets }: QueueState, calledAt: number): void {
    const { gates, plan } = this.world
    const window = plan.windowSeconds * 1000
    const slack = SLACK_MILLIS + 2 * plan.skewMillis
    const ends = leases.get(id) ?? 0
    // it has used all its windows
    if (ends + slack >= (tickets.get(id)?.since ?? 0) + MAX_WINDOWS * window) return
    // the store does not know of one that has reached nothing since it started
    const known = new Set(this.named.values())
    for (const gate of gates) {
      if (gate?.up !== true || !known.has(gate)) continue
      const hindrances = hindrancesOf(gate, this.name)
      if (wasDead(hindrances)) continue
      for (const { from, to } of hindrances) {
        if (from + slack < ends && to > calledAt + slack && ends + slack < to + window) {
          this.world.fail(`I3: ${id} missed its turn, and ${gate.name} was cut off for ${to - from} ms of it`)
        }
      }
    }
  }

  /** A place was given up, judged by the state before: its holder was not connected to its gate. */
  abandoned(id: string, { tickets }: QueueState): void {
    const { callers, plan } = this.world
    if (2 * plan.skewMillis >= plan.graceSeconds * 1000) return
    const gate = this.named.get(tickets.get(id)?.instance ?? "")
    if (gate?.process.alive !== true || wasDead(hindrancesOf(gate, this.name))) return
    for (const { links } of callers) {
      for (const link of links) {
        if (link.ticket !== id || link.gate !== gate || !link.open || !link.heard || link.attached === undefined)
          continue
        this.world.fail(`I3: ${id} was abandoned while its holder was connected to ${gate.name}`)
      }
    }
  }
}
