/**
 * Judges what the campaigns of a history share of their account (`test/model/accounts.ts`), by the plan: its cap, and what it reserves
 * for each campaign that the acting gate serves.
 */
import { MAX_HOLD_MILLIS } from "../../src/fifo-queue/rules/shared/hold.ts"
import type { QueueContext } from "../../src/fifo-queue/rules/shared/step.ts"
import { type AccountState, accountViolations, type Bounds, type Member, slotsWithin } from "../model/accounts.ts"
import { isPaid } from "../model/awaited.ts"
import type { Change } from "../model/change.ts"
import { learnedSlots } from "../model/invariants.ts"
import type { QueueState } from "../model/queue-state.ts"
import type { Gate } from "./gate.ts"
import type { AccountPlan, Plan } from "./plan.ts"
import { CAMPAIGNS, type CampaignName, idOf } from "./settings.ts"

export class AccountWatch {
  private readonly plan: Plan
  private readonly shared: AccountPlan
  /** by their ids in the account */
  private readonly members = new Map<string, Member>()

  constructor(plan: Plan, shared: AccountPlan) {
    this.plan = plan
    this.shared = shared
  }

  /** The account as a gate must see it that knows this cap: with less than is reserved, the last campaigns get fewer. */
  private accountOf(gate: Gate, cap: number): AccountState {
    const reserved: Record<string, number> = {}
    let left = cap
    for (const name of CAMPAIGNS) {
      if (!gate.servesCampaign(name)) continue
      const slots = Math.min(left, this.shared.reserved[name])
      left -= slots
      if (slots > 0) reserved[idOf(name)] = slots
    }
    return { cap, reserved, members: this.members }
  }

  /** The cap of a step: what the gate has learnt, and never more than the settings say. */
  private capOf({ account }: QueueContext): number {
    return Math.min(account?.cap ?? 0, this.plan.slotsFromPlatform ? Number.POSITIVE_INFINITY : this.shared.cap)
  }

  /** The slots that the campaign may hold in a step of a gate. */
  boundsOf(gate: Gate, name: CampaignName, context: QueueContext): Bounds {
    return slotsWithin(this.accountOf(gate, this.capOf(context)), idOf(name))
  }

  /** Violations of a step, which is the campaign's last one from now on. */
  judge(gate: Gate, name: CampaignName, context: QueueContext, change: Change): ReadonlyArray<string> {
    const id = idOf(name)
    const wrong = accountViolations(this.accountOf(gate, this.capOf(context)), id, change)
    const { after, now } = change
    const slots = learnedSlots(after, change.slots, now)
    const isFull = after.leases.size >= this.boundsOf(gate, name, context).most
    const limited = isFull && after.leases.size < slots && isPaid(change.paid, after)
    this.members.set(id, { state: after, slots, steppedAt: now, limited })
    return wrong
  }

  /** Whether calls of another campaign are held after an outage: a slot may be left to its callers meanwhile. */
  isHeldElsewhere(name: CampaignName, now: number): boolean {
    return [...this.members].some(([id, { state }]) => id !== idOf(name) && isHeldBriefly(state, now, this.plan))
  }
}

/** Whether calls may be held at a moment after an outage, by whichever gate's clock. */
export const isHeldBriefly = ({ meta }: QueueState, now: number, { skewMillis }: Plan): boolean =>
  now - (meta.get("heldFrom") ?? 0) < MAX_HOLD_MILLIS + 2 * skewMillis
