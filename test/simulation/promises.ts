/**
 * What must happen in time, whatever was lost: deadlines are enforced, free slots call waiting tickets, and connected
 * callers are notified. Judged by gates that nothing has stalled for long enough.
 */

import { DateTime } from "effect"
import { DOUBT_MILLIS } from "../../src/fifo-queue/bounds.ts"
import { TICK_MILLIS } from "../../src/fifo-queue/FifoQueue.ts"
import { FIRST_PLACES } from "../../src/fifo-queue/position.ts"
import { WANT_MILLIS } from "../../src/fifo-queue/rules/shared/account.ts"
import { MAX_PARK_MILLIS } from "../../src/fifo-queue/rules/shared/call-next.ts"
import { DEAD_MILLIS, MAX_WINDOWS } from "../../src/fifo-queue/rules/shared/outage.ts"
import { HELD, RELEASE_MILLIS, SILENT_HOLDER_MILLIS } from "../../src/fifo-queue/rules/shared/presence.ts"
import type { QueueContext } from "../../src/fifo-queue/rules/shared/step.ts"
import { RETURN_MILLIS } from "../../src/gatekeeper/background/StoreOutage.ts"
import { SWEEP_MILLIS } from "../../src/gatekeeper/background/sweep.ts"
import { RETRY_MILLIS } from "../../src/gatekeeper/calls/GiveBack.ts"
import { UNSERVED_MILLIS } from "../../src/gatekeeper/peers/drain-removed.ts"
import { MEMBERSHIP_MILLIS } from "../../src/gatekeeper/peers/Membership.ts"
import { isPaid } from "../model/awaited.ts"
import { learnedSlots } from "../model/invariants.ts"
import type { QueueState } from "../model/queue-state.ts"
import { type AccountWatch, isHeldBriefly } from "./account-watch.ts"
import type { BudgetWatch } from "./budget-watch.ts"
import type { Gate } from "./gate.ts"
import type { Hindrances } from "./hindrances.ts"
import type { HoursWatch } from "./hours-watch.ts"
import type { Ledger } from "./ledger.ts"
import type { LengthWatch } from "./length-watch.ts"
import type { CampaignName } from "./settings.ts"
import type { World } from "./world.ts"

/** Behind the first places, a caller is shown at most so many times his place, and never less than he has had. */
const STEP = 1.02
/** The steps may be a tick old, and a caller is sent another place with every second tick at most. */
const STEPPED_MILLIS = 2 * TICK_MILLIS
/** How late a loop may be: its calls to the store take time, and it makes several. */
const SLACK_MILLIS = 700
const SWEPT_MILLIS = SWEEP_MILLIS + SLACK_MILLIS
const TICKED_MILLIS = TICK_MILLIS + SLACK_MILLIS
const WITHDRAWN_MILLIS = RETRY_MILLIS + SLACK_MILLIS
/** How long a slot may be left to another campaign of the account that waits for it. */
const LEFT_MILLIS = WANT_MILLIS + SWEPT_MILLIS
/** Noticed by two heartbeats: one that reports it, and one that comes after the time. */
const REMOVED_MILLIS = UNSERVED_MILLIS + 2 * MEMBERSHIP_MILLIS + SLACK_MILLIS
const DRAINED_MILLIS = 2 * MEMBERSHIP_MILLIS + SLACK_MILLIS
/** How long a caller's last step may still be in flight (ms). */
const UNDER_WAY_MILLIS = 1_000

interface View {
  context: QueueContext
  /** since when it has seen a free slot and a waiting ticket */
  freeSince: number | undefined
  /** the same, where the slot may be left to another campaign of the account */
  leftSince: number | undefined
}

/** Those who judge what is controlled of calls. */
interface Controls {
  readonly hours: HoursWatch | undefined
  readonly lengths: LengthWatch
  readonly budgets: BudgetWatch | undefined
}

export class Promises {
  private readonly world: World
  private readonly ledger: Ledger
  /** when a gate that serves the campaign was last up */
  private servedAt = 0
  /** the place of each waiting ticket, and since when it has it */
  private readonly placed = new Map<
    string,
    { readonly place: number; readonly since: number; readonly least: number }
  >()
  /** until when a ticket is kept that a silent gate holds: its caller came to another gate, and left before that one held it */
  private readonly heldUntil = new Map<string, number>()
  /** since when each ticket waits without interruption */
  private readonly waitsSince = new Map<string, number>()
  private readonly hindrances: Hindrances
  /** since when nothing prevents what is due by a moment */
  private readonly heard = new Map<string, number>()
  private readonly name: CampaignName
  private readonly account: AccountWatch | undefined
  private readonly controls: Controls
  /** what each gate knew of the campaign in its last step */
  private readonly views = new Map<Gate, View>()

  constructor(
    world: World,
    name: CampaignName,
    ledger: Ledger,
    hindrances: Hindrances,
    account: AccountWatch | undefined,
    controls: Controls,
  ) {
    this.controls = controls
    this.world = world
    this.name = name
    this.account = account
    this.ledger = ledger
    this.hindrances = hindrances
  }

  /** A gate takes a step of the campaign. */
  acts(gate: Gate, context: QueueContext): void {
    const view = this.views.get(gate)
    if (view === undefined) this.views.set(gate, { context, freeSince: undefined, leftSince: undefined })
    else view.context = context
  }

  /** Checks what is due, judged by the gate that was stalled least. */
  check(state: QueueState, mercy: number): void {
    const { kernel, plan } = this.world
    const { now } = kernel
    const { leases, presence, waiting } = state
    this.noteFree(state)
    this.noteHeld(state)
    for (const id of this.waitsSince.keys()) if (!waiting.has(id)) this.waitsSince.delete(id)
    for (const id of waiting.keys()) if (!this.waitsSince.has(id)) this.waitsSince.set(id, now)
    if (this.world.gates.some((gate) => gate?.servesCampaign(this.name) === true && gate.process.alive))
      this.servedAt = now
    // pages sent away while the store was down are kept present until they had time to return
    const returned = Math.max(...this.world.gates.map((gate) => (gate?.cleanSince ?? 0) + RETURN_MILLIS))
    const connected = this.connected()
    const isClean = (gate: Gate | undefined): boolean =>
      gate !== undefined && gate.cleanSince <= now && gate.servesCampaign(this.name)
    const isServed = this.world.gates.some(isClean)
    this.controls.lengths.check(state, isServed)
    this.controls.budgets?.check(state, isServed)
    for (const gate of this.world.gates) {
      if (gate === undefined || gate.cleanSince > now) continue
      if (!gate.servesCampaign(this.name)) {
        this.removal(state, gate)
        continue
      }
      // if clocks disagree, a deadline set by one gate is a little later for another
      const idle = (since: number): number => now - Math.max(since, gate.cleanSince) - 2 * plan.skewMillis
      const fail = (what: string): void => this.world.fail(`${what}, though ${gate.name} sweeps`)
      this.controls.hours?.check(
        state,
        (id) => this.waitsSince.get(id) ?? now,
        (moment) => idle(moment) > SWEPT_MILLIS,
      )
      const { freeSince, leftSince } = this.views.get(gate) ?? {}
      if (freeSince !== undefined && idle(freeSince) > SWEPT_MILLIS) {
        fail(`I7: a slot is free and ${[...waiting.keys()].join()} wait`)
      }
      if (leftSince !== undefined && idle(leftSince) > LEFT_MILLIS) {
        fail(`I7: a slot of the account is idle and ${[...waiting.keys()].join()} wait`)
      }
      for (const [id, until] of leases) {
        const due = state.tickets.get(id)?.state === "called" ? this.heardSince(state, `turn of ${id}`, until) : until
        if (due !== undefined && idle(due) > SWEPT_MILLIS) fail(`I4: the lease of ${id} is overdue`)
      }
      for (const [id, until] of presence) {
        const due = this.absentSince(state, gate, id, until)
        if (due !== undefined && idle(Math.max(due, mercy)) > SWEPT_MILLIS) fail(`${id} is absent and waits`)
      }
      for (const id of waiting.keys()) {
        // a caller who returns to a place is present again
        const since = Math.max(this.ledger.signedAt(id), this.waitsSince.get(id) ?? 0)
        const seen = connected.has(id) ? now : Math.max(since, returned)
        const held = this.heldUntil.get(id) ?? 0
        // a poll keeps its ticket present for up to half a grace longer
        const grace = plan.graceSeconds * 1500 + TICK_MILLIS
        const due = this.absentSince(state, gate, id, Math.max(seen + grace + UNDER_WAY_MILLIS, held))
        if (due !== undefined && idle(Math.max(due, mercy)) > SWEPT_MILLIS) fail(`${id} waits, and its holder is gone`)
      }
    }
    for (const [id, until] of state.parked) {
      // W7 is judged by the next sweep
      if (state.unpaid.has(id)) continue
      if (until - now > DOUBT_MILLIS + MAX_PARK_MILLIS + 2 * plan.skewMillis + 2)
        this.world.fail(`${id} is not called for too long`)
    }
    for (const [id, { state: is }] of state.tickets) {
      const answered = is === "waiting" || is === "called" ? this.ledger.unknownSince(id) : undefined
      if (answered === undefined || !answered.gate.process.alive) continue
      if (now - Math.max(answered.at, answered.gate.cleanSince) > WITHDRAWN_MILLIS)
        this.world.fail(`I3: the request of ${id} was answered with 503, and it is ${is}`)
    }
    this.notePlaces(state)
    this.tellings(state)
  }

  private noteHeld({ holders, presence, waiting }: QueueState): void {
    const { kernel, plan } = this.world
    for (const id of this.heldUntil.keys()) if (!waiting.has(id)) this.heldUntil.delete(id)
    for (const [id, score] of presence) {
      const heardAt = holders.get(String(score - HELD))
      if (heardAt === undefined || kernel.now - heardAt <= SILENT_HOLDER_MILLIS) continue
      // released before the gate is dead, with time for the heartbeat of another one
      const kept = Math.max(DEAD_MILLIS, plan.graceSeconds * 1000 + 2 * SILENT_HOLDER_MILLIS)
      this.heldUntil.set(id, heardAt + kept + DEAD_MILLIS - RELEASE_MILLIS)
    }
  }

  private notePlaces({ unpaid, waiting }: QueueState): void {
    const line = [...waiting].toSorted(([, a], [, b]) => a - b)
    for (const id of this.placed.keys()) if (!waiting.has(id)) this.placed.delete(id)
    let place = 1
    for (const [id] of line) {
      const { least = place, place: before } = this.placed.get(id) ?? {}
      if (before !== place) this.placed.set(id, { place, since: this.world.kernel.now, least: Math.min(least, place) })
      // who waits for a budget of his own counts in nobody's place
      if (!unpaid.has(id)) place++
    }
  }

  /** A gate that does not serve the campaign clears it when no other gate serves it. */
  private removal({ leases, tickets, waiting }: QueueState, { cleanSince, name }: Gate): void {
    const { kernel, plan } = this.world
    const since = Math.max(this.servedAt, cleanSince)
    if (kernel.now - since - 2 * plan.skewMillis <= REMOVED_MILLIS) return
    const late = (until: number): boolean => kernel.now - until - 2 * plan.skewMillis > DRAINED_MILLIS
    for (const id of waiting.keys()) {
      // a ticket whose start was refused meanwhile is removed by the next step
      if (late(this.waitsSince.get(id) ?? 0))
        this.world.fail(`${id} waits in a campaign that nobody serves, though ${name} sees it`)
    }
    for (const [id, { state }] of tickets) {
      // outages of the gates that served it renew the window of a turn a few times
      if (state === "called" && late(since + REMOVED_MILLIS + MAX_WINDOWS * plan.windowSeconds * 1000))
        this.world.fail(`${id} is called in a campaign that nobody serves, though ${name} sees it`)
    }
    for (const [id, until] of leases) {
      if (late(until))
        this.world.fail(`I4: the lease of ${id} is overdue in a removed campaign, though ${name} sees it`)
    }
  }

  /**
   * A connected caller is notified of a call, of an end and of another place within a tick, even if every message was lost; behind the first
   * places, of another place in steps.
   */
  private tellings({ leases, tickets }: QueueState): void {
    const { callers, kernel } = this.world
    for (const { links } of callers) {
      for (const link of links) {
        const { attached, gate, ticket } = link
        const life = this.ledger.lifeOf(ticket)
        if (life === undefined || attached === undefined || !link.open || !gate.process.alive) continue
        const overdue = (since: number): boolean =>
          kernel.now - Math.max(since, attached, gate.cleanSince) > TICKED_MILLIS
        if (life.terminal !== undefined) {
          // an end closes the connection
          if (overdue(life.terminalAt))
            this.world.fail(`${ticket} is over, and its holder at ${gate.name} was not told`)
        } else if (tickets.get(ticket)?.state === "called" && overdue(life.calledAt)) {
          const startBefore = DateTime.formatIso(DateTime.makeUnsafe(leases.get(ticket) ?? 0))
          if (!link.told.has(startBefore)) {
            this.world.fail(`I7: ${ticket} is called and its holder at ${gate.name} was not told`)
          }
        } else if (this.world.plan.networkShare === 1) {
          const placed = this.placed.get(ticket)
          if (placed === undefined) continue
          const { least, place, since } = placed
          const shown = link.place ?? 0
          const isFirst = place <= FIRST_PLACES
          const isRight = isFirst ? shown === place : shown >= least && shown <= Math.ceil(place * STEP)
          if (!isRight && overdue(isFirst ? since : since + STEPPED_MILLIS))
            this.world.fail(`${ticket} is at place ${place}, and its holder at ${gate.name} is shown ${link.place}`)
        }
      }
    }
  }

  /** Since when nothing prevents what a moment has made due: every gate that is not dead was seen after it. */
  private heardSince({ gates }: QueueState, what: string, moment: number): number | undefined {
    const { now } = this.world.kernel
    const key = `${what} ${moment}`
    if (moment >= now || [...gates.values()].some((at) => at >= now - DEAD_MILLIS && at < moment)) {
      this.heard.delete(key)
      return undefined
    }
    const since = this.heard.get(key) ?? now
    this.heard.set(key, since)
    return since
  }

  /**
   * Since when a sweep of this gate must find a waiting ticket absent that was present until a moment; undefined if it
   * need not.
   */
  private absentSince(state: QueueState, gate: Gate, id: string, until: number): number | undefined {
    const name = state.tickets.get(id)?.instance ?? ""
    if (name === "") return this.heardSince(state, `absence of ${id}`, until)
    const its = this.hindrances.gateOf(name)
    // its own gate finds it after its next tick
    if (its === gate) return Math.max(until, gate.cleanSince) + TICKED_MILLIS
    if (its?.process.alive === true) return undefined
    return Math.max(until, (state.gates.get(name) ?? 0) + DEAD_MILLIS)
  }

  /** Records since when each gate sees a free slot and a waiting ticket: they need not know of the same slots. */
  private noteFree(state: QueueState): void {
    const { leases, meta, parked, waiting } = state
    const { kernel, plan } = this.world
    const { now } = kernel
    // somebody was called to probe the platform
    const probing = meta.has("disrupted") && (meta.get("probeUntil") ?? 0) > now
    // calls are held briefly after an outage; longer only once
    const resting = probing || isHeldBriefly(state, now, plan) || (meta.get("backoffUntil") ?? 0) > now
    const isCalling = !resting && waiting.size > parked.size
    for (const gate of this.world.gates) {
      const view = gate && this.views.get(gate)
      if (gate === undefined || view === undefined) continue
      const slots = learnedSlots(state, view.context.slots, now)
      const { least = slots, most = slots } = this.account?.boundsOf(gate, this.name, view.context) ?? {}
      const { awaited = [] } = view.context
      // its next step is told of the next window
      const knows = awaited.every(({ until }) => until > now)
      const mayCall = isCalling && knows && isPaid(this.controls.budgets?.paidBy(this.name, view.context), state)
      const isFree = mayCall && leases.size < Math.min(slots, least)
      const isLeft =
        mayCall && leases.size < Math.min(slots, most) && this.account?.isHeldElsewhere(this.name, now) !== true
      view.freeSince = isFree ? (view.freeSince ?? now) : undefined
      view.leftSince = isLeft ? (view.leftSince ?? now) : undefined
    }
  }

  /** The tickets with an open connection to a living gate. */
  private connected(): ReadonlySet<string> {
    const tickets = new Set<string>()
    for (const { links } of this.world.callers)
      for (const { gate, open, ticket } of links) if (open && gate.process.alive) tickets.add(ticket)
    return tickets
  }
}
