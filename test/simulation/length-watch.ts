/**
 * Watches the calls of one campaign that have a time limit of their own: when each limit is, which gate is to end a call, and that it ends, whatever
 * has died. What must hold of the data alone is judged by `test/model/lengths.ts`.
 */
import { earlyMillis } from "../../src/fifo-queue/rules/shared/ending.ts"
import { CLAIM_MILLIS, DUE_CHECK_MILLIS } from "../../src/gatekeeper/calls/end-due.ts"
import { LENGTH_TICK_MILLIS } from "../../src/gatekeeper/calls/lengths.ts"
import { isDoubt, type QueueState } from "../model/queue-state.ts"
import type { Did } from "./did.ts"
import type { Gate } from "./gate.ts"
import type { Ledger } from "./ledger.ts"
import { MOST_LATENCY } from "./network.ts"
import { END_MILLIS } from "./platform.ts"
import type { World } from "./world.ts"

/** How late a loop may be (ms). */
const SLACK_MILLIS = 700
/** How long one gate has for the end of a call, and until the next one asks (ms). */
const ONE_TRY_MILLIS = CLAIM_MILLIS + DUE_CHECK_MILLIS + LENGTH_TICK_MILLIS + END_MILLIS + SLACK_MILLIS
/** How long the start of a call may be under way before its limit begins (ms). */
const BOUND_MILLIS = 90_000

const sessionsIn = (data: string): ReadonlyArray<string> => {
  const { s = [] }: { readonly s?: ReadonlyArray<string> } = JSON.parse(data)
  return s
}

export class LengthWatch {
  private readonly world: World
  private readonly ledger: Ledger
  private readonly saw: (what: string) => void
  /** sessions that a gate was given to end, by when (ms) */
  private readonly given = new Map<string, number>()
  /** the ends that each call has had */
  private readonly endings = new Map<string, Set<number>>()

  constructor(world: World, ledger: Ledger, saw: (what: string) => void) {
    this.world = world
    this.ledger = ledger
    this.saw = saw
  }

  stepped(step: Did, now: number, before: QueueState, after: QueueState): void {
    if (step.name === "bind" && step.result === "live") {
      this.begins(step.call.id, now, after)
      this.holds(step.call)
    }
    for (const [id, { endsAt }] of after.tickets) {
      const was = before.tickets.get(id)?.endsAt ?? 0
      if (endsAt === was || endsAt === 0) continue
      this.endings.set(id, (this.endings.get(id) ?? new Set()).add(endsAt))
      // a budget has moved its end: it is given to a gate again
      for (const session of after.tickets.get(id)?.sessions ?? []) this.given.delete(session)
    }
    if (step.name !== "dueLengths") return
    for (const data of step.result.sessions ?? []) {
      if (data === "") continue
      const [session = ""] = sessionsIn(data)
      if (this.world.plan.control.vendor?.control !== "endable")
        this.world.fail(`L3: a gate is to end ${session}, and its platform does not end calls`)
      const ticket = before.sessions.get(session)
      const endsAt = before.tickets.get(ticket ?? "")?.endsAt ?? 0
      if (ticket === undefined || endsAt === 0) {
        this.world.fail(`L3: a gate is to end ${session}, which is no call with a limit`)
      } else if (endsAt > now) {
        this.world.fail(`L3: a gate is to end the call of ${ticket} ${endsAt - now} ms before its limit`)
      }
      const givenAt = this.given.get(session) ?? Number.NEGATIVE_INFINITY
      if (now < givenAt + CLAIM_MILLIS)
        this.world.fail(`L3: two gates are to end the call of ${ticket} within ${now - givenAt} ms`)
      this.given.set(session, now)
      this.saw("a call is to be ended at its limit")
    }
  }

  /** Its limit is counted from its start. */
  private begins(ticket: string, now: number, { tickets }: QueueState): void {
    const { endsAt: ends = 0, limitedAt = 0, spent = false, state } = tickets.get(ticket) ?? {}
    // a budget may end it earlier
    const endsAt = spent ? limitedAt : ends
    const seconds = this.ledger.callSecondsOf(ticket)
    // a repeated bind may find that the call is over
    if (state !== "live") return
    const left = endsAt - now
    if (
      seconds === undefined
        ? endsAt !== 0
        : left > seconds * 1000 + MOST_LATENCY || left < seconds * 1000 - BOUND_MILLIS
    )
      this.world.fail(`L3: the call of ${ticket} may last ${seconds} s, and its limit is in ${left} ms`)
  }

  /** The slot of a call that its platform ends by itself is held until it has. */
  private holds({ endsAt, heldUntil, id }: Extract<Did, { readonly name: "bind" }>["call"]): void {
    const isBounded = this.world.plan.control.vendor?.control === "bounded"
    if (endsAt === undefined || isBounded !== (heldUntil === undefined)) return
    this.world.fail(
      `L3: the slot of ${id} is held until ${heldUntil}, and its platform ${isBounded ? "ends" : "does not end"} calls`,
    )
  }

  /** A gate asks the platform to end a session. */
  ends(gate: Gate, ids: ReadonlyArray<string>, { leases, sessions, tickets }: QueueState): void {
    const { kernel, plan } = this.world
    const holder = ids.map((id) => sessions.get(id)).find((id) => id !== undefined)
    if (holder === undefined || isDoubt(holder) || this.ledger.hasLeft(holder)) return
    const soon = kernel.now + 2 * plan.skewMillis + 2 * MOST_LATENCY
    const { endsAt = 0, unopened = false } = tickets.get(holder) ?? {}
    const lease = (leases.get(holder) ?? 0) - earlyMillis(plan.callMinutes * 60_000)
    if (unopened || lease <= soon || (endsAt > 0 && endsAt <= soon)) return
    this.world.fail(
      `L3: ${gate.name} ends the call of ${holder}, which may last until ${Math.min(endsAt || lease, lease)}`,
    )
  }

  /** A page was told that its call ends. */
  warned(ticket: string, endsAt: number, { tickets }: QueueState): void {
    const is = tickets.get(ticket)
    this.saw("a page is warned")
    // the warning may be older than the end that a budget has moved
    if (is?.state === "live" && this.endings.get(ticket)?.has(endsAt) !== true)
      this.world.fail(`L2: the page of ${ticket} is warned of an end at ${endsAt}, and its limit is ${is.endsAt}`)
  }

  /** Calls end, judged since when nothing has disturbed any gate. */
  check({ tickets }: QueueState, isServed: boolean): void {
    const { kernel, plan } = this.world
    const { vendor } = plan.control
    if (vendor?.control !== "endable" || !isServed) return
    const tries = vendor.ends === "confirmed" ? 1 : 2
    const calm = Math.max(this.world.calmSince, this.world.platform.reachableAt)
    for (const [id, { endsAt, state }] of tickets) {
      if (state !== "live" || endsAt === 0) continue
      if (kernel.now - Math.max(endsAt, calm) - 2 * plan.skewMillis > tries * ONE_TRY_MILLIS)
        this.world.fail(`L1: the call of ${id} should have ended ${kernel.now - endsAt} ms ago`)
    }
  }
}
