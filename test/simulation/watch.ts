/**
 * What watches a history. After every script it looks into the store: the invariants of the queue's tests
 * (`queue-invariants.ts`), what the script was allowed to do (`causes.ts`), and what time has owed since (`promises`). It
 * keeps a record of its own of who was accepted when and how each ended.
 */
import { DateTime } from "effect"
import { TICK_MILLIS } from "../../src/FifoQueue.ts"
import { SWEEP_MILLIS } from "../../src/gatekeeper/background.ts"
import { keysOf } from "../../src/queue/step.ts"
import type { Reply } from "../../src/Store.ts"
import { list } from "../../src/store/reply.ts"
import { EMPTY, expectedSettlements, expectedSignals, violations } from "../support/queue-invariants.ts"
import { probe, type QueueState, readState } from "../support/queue-probe.ts"
import type { Link } from "./callers.ts"
import { left, trespasses } from "./causes.ts"
import type { Gate } from "./gate.ts"
import { limitsOf, limitsProbe } from "./limits.ts"
import type { World } from "./world.ts"

const TERMINAL = new Set(["E", "L", "A", "M", "F", "R"])
export const KEYS = keysOf("business/campaign")
/** What a loop may be late by: its calls to the store take time, and it makes several. */
const SLACK_MILLIS = 700
const SWEPT_MILLIS = SWEEP_MILLIS + SLACK_MILLIS
const TICKED_MILLIS = TICK_MILLIS + SLACK_MILLIS

interface Life {
  readonly gate: Gate
  readonly request: string
  /** when it was last seen */
  signed: number
  terminal: string | undefined
  terminalAt: number
  /** since when it is called, 0 when not */
  calledAt: number
}

/** The request of an admission, from the configuration that it stores. */
const requestOf = (data: string): string => {
  const config: { readonly metadata?: { readonly request?: string } } = JSON.parse(data)
  return config.metadata?.request ?? ""
}

export class Watch {
  state: QueueState = EMPTY
  /** how often what was seen: moves of tickets as `script from to`, answers as `script answer` */
  readonly seen = new Map<string, number>()
  /** how many steps changed something */
  changes = 0
  private readonly world: World
  private readonly tickets = new Map<string, Life>()
  private readonly sessions = new Set<string>()
  /** sessions whose end the store was told */
  private readonly ended = new Set<string>()
  /** accepted tickets that wait, in the order of their acceptance */
  private line: ReadonlyArray<string> = []
  private raw = ""
  private messages: Array<string> = []
  /** tokens whose quota may be lost, because the call that took it came after it was given up */
  private readonly loose = new Set<string>()
  private readonly taken = new Map<string, { readonly keys: ReadonlyArray<string>; readonly gate: Gate }>()

  constructor(world: World) {
    this.world = world
  }

  private saw(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1)
  }

  published(message: string): void {
    this.messages.push(message)
  }

  /** Called when a script was carried out; `done` when all was looked at. */
  carriedOut(
    gate: Gate,
    script: string,
    keys: ReadonlyArray<string>,
    args: ReadonlyArray<string>,
    reply: Reply,
    done: () => void,
  ): void {
    const { world } = this
    const name = script.replace("queue.", "")
    if (script === "limit.take" && Array.isArray(reply) && reply[0] === 1) {
      this.taken.set(args[1] ?? "", { keys, gate })
    }
    if (name === script) {
      done()
      return
    }
    gate.slots = Number(args[1])
    const own = args.slice(5)
    if (name === "admit") {
      const [id = "", , , , , data = ""] = own
      this.tickets.set(id, {
        gate,
        request: requestOf(data),
        signed: world.kernel.now,
        terminal: undefined,
        terminalAt: 0,
        calledAt: 0,
      })
    }
    if (name === "bind") for (const session of own.slice(4)) this.sessions.add(session)
    if (name === "attach" || name === "release") this.sign(own[0] ?? "")
    this.look((after, raw) => {
      this.judge(gate, name, args, own, reply, after, raw)
      if (name === "end") for (const session of own) this.ended.add(session)
      done()
    })
  }

  private look(then: (state: QueueState, raw: string) => void): void {
    const { world } = this
    world.base.run(probe, KEYS, [this.tickets.size, ...this.tickets.keys(), ...this.sessions], (reply) => {
      const raw = JSON.stringify(reply)
      then(raw === this.raw ? this.state : readState(reply), raw)
    })
  }

  private judge(
    gate: Gate,
    name: string,
    args: ReadonlyArray<string>,
    own: ReadonlyArray<string>,
    reply: Reply,
    after: QueueState,
    raw: string,
  ): void {
    const { world } = this
    const { plan } = world
    const before = this.state
    const { result, settlements, signals } = left(reply)
    const now = Number(args[0])
    const slots = Number(args[1])
    if (name === "sweep" && result.length > 5 && list(result[5]).length > 0) this.saw("sweep owed")
    if (name === "audit" && result.length > 0) this.saw("audit asks")
    if (["start", "bind", "release", "end", "leave", "admit", "attach"].includes(name)) this.saw(`${name} ${result[0]}`)
    const heard = this.messages.toSorted()
    this.messages = []
    const changed = raw !== this.raw
    this.raw = raw
    this.state = after
    const swept = name === "sweep" && result[0] === 0
    const change = { before, after, now, slots, swept }
    if (changed || swept) for (const wrong of violations(change)) world.fail(wrong)
    const carried = {
      name,
      args: own,
      now,
      slots,
      result,
      before,
      after,
      ended: this.ended,
      maxLength: plan.maxLength,
      graceMillis: plan.graceSeconds * 1000,
      windowMillis: plan.windowSeconds * 1000,
      callMillis: plan.callMinutes * 60_000,
    }
    if (changed || name === "admit" || name === "end" || name === "bind") {
      for (const wrong of trespasses(carried, (move) => this.saw(move))) world.fail(wrong)
    }
    const said = [...signals, ...heard].toSorted()
    const due = changed ? expectedSignals(change) : []
    if (said.join() !== due.join()) world.fail(`signals [${said.join()}] where [${due.join()}] are due`)
    const owed = changed ? expectedSettlements(change) : []
    if (settlements.toSorted().join() !== owed.join()) {
      world.fail(`settlements [${settlements.join()}] where [${owed.join()}] are due`)
    }
    if (changed) {
      this.changes++
      this.record(before, after)
      world.trace?.push(`        ${gate.name} ${name} ${own[0] ?? ""} → ${JSON.stringify(result)} ${summary(after)}`)
    }
    this.promises()
  }

  /** Keeps the record: who waits in which order, who was called, and how each ended. */
  private record(before: QueueState, after: QueueState): void {
    const { world } = this
    for (const [id, { state }] of after.tickets) {
      const life = this.tickets.get(id)
      const was = before.tickets.get(id)?.state
      if (life === undefined || was === state) continue
      if (was === undefined && state === "w") this.line = [...this.line, id]
      // a ticket that the platform had no room for is back at its own place
      if (was === "s" && state === "w") this.line = [id, ...this.line]
      if (was === "w" && state === "c") {
        const passed = this.line
          .slice(0, this.line.indexOf(id))
          .filter((other) => after.tickets.get(other)?.state === "w")
        if (passed.length > 0) world.fail(`I2: ${id} was called before ${passed.join()}, who were accepted earlier`)
        life.calledAt = world.kernel.now
      }
      if (was === "w" && state === "A") this.abandoned(id)
      if (TERMINAL.has(state)) {
        if (life.terminal !== undefined) world.fail(`I3: ${id} ended as ${life.terminal} and as ${state}`)
        life.terminal = state
        life.terminalAt = world.kernel.now
      }
      if (was === "l" && state === "E") {
        const session = world.platform.sessions.find(({ request }) => request === life.request)
        if (session !== undefined && !session.over) world.fail(`I6: the slot of ${id} was freed while its session runs`)
      }
    }
    const position = new Map([...after.waiting].map(([id, seq]) => [id, seq]))
    this.line = this.line
      .filter((id) => position.has(id))
      .toSorted((a, b) => (position.get(a) ?? 0) - (position.get(b) ?? 0))
  }

  /** Notes since when each gate sees a free slot beside a waiting ticket: they need not know of the same slots. */
  private noteFree(): void {
    const { leases, meta, waiting } = this.state
    const resting = (meta.get("rest") ?? 0) > this.world.kernel.now
    for (const gate of this.world.gates) {
      if (gate?.slots === undefined) continue
      if (resting || waiting.size === 0 || leases.size >= gate.slots) gate.freeSince = undefined
      else gate.freeSince ??= this.world.kernel.now
    }
  }

  /** A ticket whose holder was connected all the time does not lose its place. */
  private abandoned(id: string): void {
    const { now } = this.world.kernel
    for (const link of this.links(id)) {
      const since = Math.max(link.attached ?? Number.POSITIVE_INFINITY, link.gate.cleanSince)
      if (now - since > TICKED_MILLIS + this.world.plan.graceSeconds * 1000) {
        this.world.fail(`I3: ${id} was abandoned while its holder was connected to ${link.gate.name}`)
      }
    }
  }

  private links(ticket: string): ReadonlyArray<Link> {
    return this.world.callers.flatMap((caller) =>
      [...caller.links].filter((link) => link.ticket === ticket && link.open && link.gate.process.alive),
    )
  }

  /** What time owes, judged by the gate that was hindered least. */
  promises(): void {
    const { kernel, plan } = this.world
    const { now } = kernel
    const { leases, presence, waiting } = this.state
    this.noteFree()
    for (const gate of this.world.gates) {
      if (gate === undefined || gate.cleanSince > now) continue
      // a deadline that one gate has set is another's a little later, when their clocks disagree
      const idle = (since: number): number => now - Math.max(since, gate.cleanSince) - 2 * plan.skewMillis
      const fail = (what: string): void => this.world.fail(`${what}, though ${gate.name} sweeps`)
      if (gate.freeSince !== undefined && idle(gate.freeSince) > SWEPT_MILLIS) {
        fail(`I7: a slot is free and ${[...waiting.keys()].join()} wait`)
      }
      for (const [id, until] of leases) if (idle(until) > SWEPT_MILLIS) fail(`I4: the lease of ${id} is overdue`)
      for (const [id, until] of presence) if (idle(until) > SWEPT_MILLIS) fail(`${id} is absent and waits`)
      for (const id of waiting.keys()) {
        const seen = this.links(id).length > 0 ? now : (this.tickets.get(id)?.signed ?? 0)
        const grace = plan.graceSeconds * 1000 + TICK_MILLIS
        if (idle(seen) > grace + SWEPT_MILLIS + 1_000) fail(`${id} waits, and its holder is gone`)
      }
    }
    this.tellings()
  }

  /** Whoever is connected is told of a call and of an end within a tick, though every message was lost. */
  private tellings(): void {
    const { callers, kernel } = this.world
    for (const { links } of callers) {
      for (const link of links) {
        const { attached, gate, ticket } = link
        const life = this.tickets.get(ticket)
        if (life === undefined || attached === undefined || !link.open || !gate.process.alive) continue
        const overdue = (since: number): boolean =>
          kernel.now - Math.max(since, attached, gate.cleanSince) > TICKED_MILLIS
        if (life.terminal !== undefined) {
          // an end closes the connection
          if (overdue(life.terminalAt))
            this.world.fail(`${ticket} is over, and its holder at ${gate.name} was not told`)
        } else if (this.state.tickets.get(ticket)?.state === "c" && overdue(life.calledAt)) {
          const startBefore = DateTime.formatIso(DateTime.makeUnsafe(this.state.leases.get(ticket) ?? 0))
          if (!link.told.has(startBefore)) {
            this.world.fail(`I7: ${ticket} is called and its holder at ${gate.name} was not told`)
          }
        }
      }
    }
  }

  /** The holder of a ticket was seen. */
  sign(ticket: string): void {
    const life = this.tickets.get(ticket)
    if (life !== undefined) life.signed = this.world.kernel.now
  }

  /** A gate is gone, and with it the connections that it held. */
  gone(gate: Gate): void {
    for (const { links } of this.world.callers) for (const link of links) if (link.gate === gate) this.sign(link.ticket)
  }

  /** Quota that may be lost. */
  mayLose(token: string): void {
    this.loose.add(token)
  }

  lives(ticket: string): boolean {
    return this.tickets.get(ticket)?.terminal === undefined
  }

  /** A caller was told that its session runs. */
  started(ticket: string, session: string, request: string | undefined): void {
    const state = this.state.tickets.get(ticket)?.state
    if (state === undefined || !["l", "E", "R"].includes(state)) {
      this.world.fail(`${request ?? ticket} was told that it talks, and its ticket is ${state}`)
    }
    const of = this.world.platform.find(session)?.request
    if (of !== this.tickets.get(ticket)?.request) this.world.fail(`I5: ${ticket} was given the session of ${of}`)
  }

  /** A caller was told its ticket. */
  queued(ticket: string, request: string): void {
    if (!this.tickets.has(ticket)) this.world.fail(`I3: ${request} was told a ticket that was never accepted`)
  }

  /** A caller (its request, or its ticket) was told that the call did not come about. */
  refused(who: string): void {
    for (const [id, { request }] of this.tickets) {
      if ((id === who || request === who) && this.state.tickets.get(id)?.state === "l") {
        this.world.fail(`${who} was told that the call failed, and it runs`)
      }
    }
  }

  get drained(): boolean {
    return this.state.waiting.size === 0 && this.state.leases.size === 0 && this.state.settle.size === 0
  }

  /** Everything is over: every slot is free, every ticket has one end, and every budget is what it must be. */
  finish(done: () => void): void {
    const { state, world } = this
    if (!this.drained) {
      world.fail(`I4: ${summary(state)} are left when everything is over, ${state.settle.size} settlements`)
      done()
      return
    }
    for (const [id, { state: letter }] of state.tickets) {
      if (!TERMINAL.has(letter)) world.fail(`I3: ${id} is in state ${letter} when everything is over`)
    }
    for (const id of this.tickets.keys()) {
      const life = this.tickets.get(id)
      // an admission that found the queue full is no ticket
      if (life?.terminal === undefined && state.tickets.has(id)) world.fail(`I3: ${id} never ended`)
    }
    const callers = [...new Map([...this.taken.values()].map(({ keys }) => [keys[0], keys])).values()]
    const next = (): void => {
      const keys = callers.pop()
      if (keys === undefined) {
        done()
        return
      }
      world.base.run(limitsProbe, keys, [], (reply) => {
        this.budgets(keys, limitsOf(reply))
        next()
      })
    }
    next()
  }

  private budgets(
    keys: ReadonlyArray<string>,
    { held, log }: { held: ReadonlySet<string>; log: ReadonlySet<string> },
  ): void {
    const { plan } = this.world
    for (const [token, taken] of this.taken) {
      if (taken.keys[0] !== keys[0] || this.loose.has(token)) continue
      const life = this.tickets.get(token)
      if (life?.terminal === undefined) {
        // nothing came of it; only a gate that died meanwhile could not give it back
        if (taken.gate.process.alive && (held.has(token) || log.has(token))) {
          this.world.fail(`the quota of ${token}, of which nothing came, was not given back`)
        }
        continue
      }
      if (held.has(token)) this.world.fail(`${token} ended as ${life.terminal} and still holds a concurrent unit`)
      if (plan.hourly > 0 && log.has(token) !== (life.terminal !== "F")) {
        this.world.fail(`${token} ended as ${life.terminal} and ${log.has(token) ? "counts" : "does not count"}`)
      }
    }
  }
}

/** A state in a few words. */
export const summary = (state: QueueState): string => {
  const letters = [...state.tickets].filter(([, { state }]) => !TERMINAL.has(state))
  return `[${letters.map(([id, ticket]) => `${id}:${ticket.state}${ticket.lease === "0" ? "" : ticket.lease}`).join(" ")}]`
}
