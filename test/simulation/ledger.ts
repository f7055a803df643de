/**
 * A record of a history that is independent of the store: who was accepted in which order, how each ended, what callers
 * were told, and what was taken from whose budgets.
 */

import { DOUBT_MILLIS } from "../../src/fifo-queue/bounds.ts"
import type { Newcomer } from "../../src/fifo-queue/inputs.ts"
import type { Change } from "../model/change.ts"
import { leftLate, leftToDoubt } from "../model/obligations.ts"
import { notOver } from "../model/over.ts"
import { isDoubt, type QueueState, TERMINAL } from "../model/queue-state.ts"
import type { Gate } from "./gate.ts"
import { limitsProbe, type Units } from "./limits.ts"
import type { Arrive } from "./plan.ts"
import type { Session } from "./platform.ts"
import type { World } from "./world.ts"

export interface Life {
  readonly gate: Gate
  readonly request: string
  /** of the caller; empty for none */
  readonly network: string
  /** the order of acceptance */
  readonly place: number
  /** when it was last seen */
  signed: number
  terminal: string | undefined
  terminalAt: number
  /** what it costs of its caller's budgets, once it has ended */
  costs: number
  /** when it was last called, or its window last renewed */
  calledAt: number
  /** when it was last called */
  turnAt: number
}

/** The request of an admission, from the configuration that it stores. */
const requestOf = (data: string): string => {
  const config: { readonly metadata?: { readonly request?: string } } = JSON.parse(data)
  return config.metadata?.request ?? ""
}

export class Ledger {
  private readonly world: World
  private readonly lives = new Map<string, Life>()
  /** tokens whose quota may be lost, because the call that took it arrived after it was given up */
  private readonly loose = new Set<string>()
  /** tickets that a gate has withdrawn */
  private readonly takenBack = new Set<string>()
  /** requests answered that the store is unavailable: when, and by which gate */
  private readonly unavailable = new Map<string, { readonly at: number; readonly gate: Gate }>()
  /** starts in doubt whose session runs: which session, and since when in doubt */
  private readonly doubted = new Map<string, { readonly session: Session; readonly at: number }>()
  /** requests with a start that was in doubt */
  private readonly inDoubt = new Set<string>()
  private readonly taken = new Map<string, { readonly keys: ReadonlyArray<string>; readonly gate: Gate }>()

  /** tickets whose pages have left */
  private readonly gonePages = new Set<string>()
  /** by the callers that the tokens are of */
  private readonly ticketsOfTokens = new Map<number, string>()

  constructor(world: World) {
    this.world = world
  }

  get ids(): Iterable<string> {
    return this.lives.keys()
  }

  get size(): number {
    return this.lives.size
  }

  lifeOf(ticket: string): Life | undefined {
    return this.lives.get(ticket)
  }

  /** An admission was executed; it may have found the queue full. */
  admitted(gate: Gate, { data, id, network = "" }: Newcomer): void {
    this.lives.set(id, {
      gate,
      request: requestOf(data),
      network,
      place: this.lives.size,
      signed: this.world.kernel.now,
      terminal: undefined,
      terminalAt: 0,
      costs: 1,
      calledAt: 0,
      turnAt: 0,
    })
  }

  /** Quota was taken. */
  took(gate: Gate, token: string, keys: ReadonlyArray<string>): void {
    this.taken.set(token, { keys, gate })
  }

  /** Whether the network of a ticket holds its share of the slots, according to the ledger. */
  private atShare(ticket: string, { leases, tickets }: QueueState, slots: number): boolean {
    const network = this.lives.get(ticket)?.network ?? ""
    const networkOf = (id: string) => (this.lives.get(id) ?? tickets.get(id))?.network
    const held = [...leases.keys()].filter((id) => networkOf(id) === network).length
    const share = this.world.plan.networkShare
    return network !== "" && share < 1 && held >= Math.max(1, Math.floor(share * slots))
  }

  /** Records who was called before whom, and how each ended. */
  record(change: Change): void {
    const { after, before, refused = false, slots } = change
    const { world } = this
    this.doubts(change)
    for (const [id, ticket] of after.tickets) {
      const { state } = ticket
      const life = this.lives.get(id)
      const was = before.tickets.get(id)?.state
      if (
        was === "called" &&
        state === "called" &&
        life !== undefined &&
        after.leases.get(id) !== before.leases.get(id)
      ) {
        life.calledAt = world.kernel.now
      }
      if (life === undefined || was === state) continue
      if ((was === "waiting" && state === "called") || (was === undefined && state === "starting")) {
        const passed = [...after.waiting.keys()].filter(
          (other) =>
            (this.lives.get(other)?.place ?? 0) < life.place &&
            // it had its turn, and its start failed
            !(was === "waiting" && after.parked.has(other)) &&
            // it waits for a budget of its caller
            !after.unpaid.has(other) &&
            (was === undefined || !this.atShare(other, after, slots)),
        )
        if (passed.length > 0) world.fail(`I2: ${id} was called before ${passed.join()}, who were accepted earlier`)
        life.calledAt = world.kernel.now
        life.turnAt = world.kernel.now
      }
      if (TERMINAL.has(state)) {
        if (life.terminal !== undefined) world.fail(`I3: ${id} ended as ${life.terminal} and as ${state}`)
        life.terminal = state
        life.terminalAt = world.kernel.now
        const missed = state === "missed" || (state === "left" && leftLate(change, id))
        const refunded =
          !leftToDoubt(change, ticket) &&
          (state === "closed" ||
            (state === "budget" && was !== "live") ||
            (state === "failed" && !refused) ||
            (state === "left" && change.withdraws === true) ||
            (state === "removed" && change.clears === true))
        // a caller answered that the store is unavailable gets everything back even if the call ran: nobody joined it
        life.costs = refunded || this.unavailable.has(life.request) ? 0 : missed ? 3 : 1
      }
      if (was === "live" && state === "ended") {
        const [known = ""] = [...before.sessions].find(([, ticket]) => ticket === id) ?? []
        const session = world.platform.find(known)
        if (session !== undefined && !session.over) world.fail(`I6: the slot of ${id} was freed while its session runs`)
      }
    }
  }

  /**
   * A slot must not be given to others while the session of a start that may have happened runs, as far as the platform
   * reports.
   */
  private doubts({ after, before }: Change): void {
    const { world } = this
    for (const [id, { lease, state }] of after.tickets) {
      if (state !== "doubt" || before.tickets.has(id)) continue
      const [ticket] = [...before.tickets].find(([, was]) => was.state === "starting" && was.lease === lease) ?? []
      const request = this.lives.get(ticket ?? "")?.request ?? ""
      this.inDoubt.add(request)
      const session = world.platform.sessions.findLast((each) => each.request === request)
      if (session !== undefined) this.doubted.set(id, { session, at: world.kernel.now })
    }
    for (const [id, { state }] of before.tickets) {
      if (state !== "doubt" || after.tickets.has(id)) continue
      const { at, session } = this.doubted.get(id) ?? {}
      if (session === undefined || session.over || at === undefined || world.plan.status !== "truth") continue
      if (world.kernel.now - at < DOUBT_MILLIS) world.fail(`I1: the slot of ${id} was freed while its session runs`)
    }
  }

  /** Whether a start of a request was in doubt. */
  wasInDoubt(request: string): boolean {
    return this.inDoubt.has(request)
  }

  /** The holder of a ticket was seen. */
  sign(ticket: string): void {
    const life = this.lives.get(ticket)
    if (life !== undefined) life.signed = this.world.kernel.now
  }

  /** A gate has died, and its connections with it. */
  gone(gate: Gate): void {
    for (const { links } of this.world.callers) for (const link of links) if (link.gate === gate) this.sign(link.ticket)
  }

  /** A gate withdraws a ticket. */
  withdrawn(id: string): void {
    this.takenBack.add(id)
  }

  wasWithdrawn(id: string): boolean {
    return this.takenBack.has(id)
  }

  /** A caller was told that the store is unavailable. */
  heardUnavailable(request: string, gate: Gate): void {
    this.unavailable.set(request, { at: this.world.kernel.now, gate })
  }

  /** The answer to a caller who never learnt of this ticket; undefined for any other. */
  unknownSince(id: string): { readonly at: number; readonly gate: Gate } | undefined {
    return this.unavailable.get(this.lives.get(id)?.request ?? "")
  }

  /** Quota that may be lost. */
  mayLose(token: string): void {
    this.loose.add(token)
  }

  /** when the holder of a ticket was last seen */
  signedAt(ticket: string): number {
    return this.lives.get(ticket)?.signed ?? 0
  }

  /** Whether a ticket has not ended. */
  isAlive(ticket: string): boolean {
    return this.lives.get(ticket)?.terminal === undefined
  }

  /** The plan of the caller who has made a request. */
  private callerOf(request: string | undefined): Arrive | undefined {
    if (request === undefined) return undefined
    const id = Number(request.split(".")[0])
    return this.world.callers.find(({ plan }) => plan.id === id)?.plan
  }

  /** How long the call of a ticket may last (s); undefined where it has no limit of its own. */
  callSecondsOf(ticket: string): number | undefined {
    const { callMinutes, control } = this.world.plan
    const ends = control.budgets?.budgets.some(({ OnLimit }) => OnLimit === "end") === true
    const own = this.callerOf(this.lives.get(ticket)?.request)?.token?.callSeconds
    // a call that a budget may end has the limit of all calls at least
    const limits = [control.lengths?.callSeconds, own, ends ? callMinutes * 60 : undefined].flatMap(
      (limit) => limit ?? [],
    )
    return limits.length === 0 ? undefined : Math.min(...limits, callMinutes * 60)
  }

  /** The page of a ticket has left. */
  leaves(ticket: string): void {
    this.gonePages.add(ticket)
  }

  hasLeft(ticket: string): boolean {
    return this.gonePages.has(ticket)
  }

  /** Whoever sends a token is told its ticket. */
  private toldTicket(ticket: string): void {
    const plan = this.callerOf(this.lives.get(ticket)?.request)
    if (plan?.token === undefined || this.world.plan.control.identity?.singleUse !== true) return
    const before = this.ticketsOfTokens.get(plan.id) ?? ticket
    if (before !== ticket) this.world.fail(`T1: the token of caller ${plan.id} has led to ${before} and to ${ticket}`)
    this.ticketsOfTokens.set(plan.id, ticket)
  }

  /** A token was refused because it was used. */
  replayed(id: number): void {
    const wasUsed = [...this.lives.values()].some(({ request }) => this.callerOf(request)?.id === id)
    if (!wasUsed && !this.world.isDisturbed)
      this.world.fail(`T1: the token of caller ${id} is refused as used, and has led to nothing`)
  }

  /** Those of one subject share a budget, and nobody else has it. */
  private subjects(): void {
    const owners = new Map<string, string>()
    const budgets = new Map<string, string>()
    for (const [
      token,
      {
        keys: [budget = ""],
      },
    ] of this.taken) {
      const plan = this.callerOf(this.lives.get(token)?.request)
      if (plan === undefined) continue
      const owner = plan.token?.subject ?? `address ${plan.address}`
      if ((owners.get(budget) ?? owner) !== owner || (budgets.get(owner) ?? budget) !== budget)
        this.world.fail(`T2: the limits of ${owner} are those of ${owners.get(budget) ?? "two callers"}`)
      owners.set(budget, owner)
      budgets.set(owner, budget)
    }
  }

  /** A caller was told that its session runs. */
  started(ticket: string, session: string, request: string | undefined): void {
    this.toldTicket(ticket)
    const state = this.world.watch.stateOf(ticket)
    if (state === undefined || !["live", "ended", "reclaimed", "too_long", "budget"].includes(state)) {
      this.world.fail(`${request ?? ticket} was told that its session runs, and its ticket is ${state}`)
    }
    const of = this.world.platform.find(session)?.request
    if (of !== this.lives.get(ticket)?.request) this.world.fail(`I5: ${ticket} was given the session of ${of}`)
  }

  /** A caller received its ticket. */
  queued(ticket: string, request: string): void {
    if (!this.lives.has(ticket)) this.world.fail(`I3: ${request} was told a ticket that was never accepted`)
    this.toldTicket(ticket)
  }

  /** A caller (its request, or its ticket) was told that the call failed. */
  refused(who: string): void {
    for (const [id, { request }] of this.lives) {
      if ((id === who || request === who) && this.world.watch.stateOf(id) === "live") {
        this.world.fail(`${who} was told that the call failed, and it runs`)
      }
    }
  }

  /** The history is over: every ticket has one end, and every budget is as it must be. */
  finish(states: ReadonlyArray<QueueState>): void {
    const { world } = this
    this.subjects()
    for (const wrong of states.flatMap(notOver)) world.fail(wrong)
    for (const id of states.flatMap(({ tickets }) => [...tickets.keys()])) {
      if (!isDoubt(id) && this.lives.get(id)?.terminal === undefined) world.fail(`I3: ${id} never ended`)
    }
    const callers = new Map([...this.taken.values()].map(({ keys }) => [keys[0], keys]))
    for (const keys of callers.values()) {
      world.base.run(limitsProbe, { keys: keys.slice(0, 1), now: 0, context: {}, call: {} }, (units) =>
        this.budgets(keys, units),
      )
    }
  }

  /** A gate answered that the store is unavailable, and died before the store learnt of it. */
  private diedUntold(token: string, { request }: Life): boolean {
    return this.unavailable.get(request)?.gate.process.alive === false && !this.takenBack.has(token)
  }

  private budgets(keys: ReadonlyArray<string>, units: Units): void {
    const log = new Set(units.log)
    const open = new Set(units.open)
    const { plan } = this.world
    for (const [token, taken] of this.taken) {
      if (taken.keys[0] !== keys[0] || this.loose.has(token)) continue
      const life = this.lives.get(token)
      if (life?.terminal === undefined) {
        // it led to nothing; only a gate that died meanwhile could not give it back
        if (taken.gate.process.alive && log.has(token)) {
          this.world.fail(`the quota of ${token}, which led to nothing, was not given back`)
        }
        continue
      }
      if (open.has(token)) this.world.fail(`${token} ended as ${life.terminal} and still counts as open`)
      if (plan.hourly === 0) continue
      const units = [token, `${token}+1`, `${token}+2`].filter((unit) => log.has(unit)).length
      if (units !== life.costs && !(units === 1 && this.diedUntold(token, life)))
        this.world.fail(`${token} ended as ${life.terminal} and costs ${units} of ${life.costs}`)
    }
  }
}
