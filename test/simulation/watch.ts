/**
 * What watches a history. After every script it looks into the store: the invariants of the queue's tests
 * (`queue-invariants.ts`), what the script was allowed to do (`causes.ts`), what was recorded beside the store (`ledger.ts`),
 * and what time has owed since (`promises.ts`).
 */
import { TICK_MILLIS } from "../../src/FifoQueue.ts"
import { AUDIT_AGE_MILLIS } from "../../src/gatekeeper/background.ts"
import { UNSERVED_MILLIS } from "../../src/gatekeeper/removed.ts"
import { START_TIMEOUT_MILLIS } from "../../src/PlatformApi.ts"
import { keysOf, UNATTENDED_MILLIS } from "../../src/queue/step.ts"
import type { Reply } from "../../src/Store.ts"
import { list } from "../../src/store/reply.ts"
import { EMPTY, expectedSettlements, expectedSignals, violations } from "../support/queue-invariants.ts"
import { doubtIds, gatesOf, probe, type QueueState, readState } from "../support/queue-probe.ts"
import { left, trespasses } from "./causes.ts"
import type { Gate } from "./gate.ts"
import { Hindrances } from "./hindrances.ts"
import { Ledger, TERMINAL } from "./ledger.ts"
import type { Outcome } from "./plan.ts"
import { Promises } from "./promises.ts"
import { CAMPAIGN } from "./settings.ts"
import type { World } from "./world.ts"

/** where a probe's reply has the gates */
const GATES = 13
const SWEPT = /\["swept",[^\]]*\],?/
/** What the store is told of a start, by what the platform said to it. */
const REASONS: { readonly [outcome in Outcome]: string | undefined } = {
  started: undefined,
  capacity: "capacity",
  limited: "limited",
  unacceptable: "refused",
  refused: "failed",
  failed: "answered",
  ghost: "doubt",
  lost: "doubt",
  unreachable: "disrupted",
}
/** More leases are not given in one step. */
const MOST_LEASES = 20
/** A ticket fails alone after so many failures at least. */
const STRIKES = 3
const KEYS = keysOf(`business/${CAMPAIGN}`)

export class Watch {
  state: QueueState = EMPTY
  /** how often what was seen: moves of tickets as `script from to`, answers as `script answer` */
  readonly seen = new Map<string, number>()
  /** how many steps changed something */
  changes = 0
  private readonly world: World
  readonly ledger: Ledger
  private readonly promises: Promises
  private readonly hindrances: Hindrances
  private readonly sessions = new Set<string>()
  /** sessions whose end the store was told */
  private readonly ended = new Set<string>()
  private raw = ""
  private messages: Array<string> = []
  private lastSwept = 0
  /** until then nobody counts as absent */
  private mercy = 0

  constructor(world: World) {
    this.world = world
    this.ledger = new Ledger(world)
    this.hindrances = new Hindrances(world)
    this.promises = new Promises(world, this.ledger, this.hindrances)
  }

  private saw(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1)
  }

  /** Whether a script is the queue's, of the campaign that has callers. */
  isWatched(script: string, [key]: ReadonlyArray<string>): boolean {
    return script.startsWith("queue.") && key === KEYS[0]
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
    const name = script.replace("queue.", "")
    if (script.startsWith("gates.")) {
      done()
      return
    }
    // the campaign without callers is not looked at: an end that it is told changes nothing but what it remembers
    if (name !== script && keys[0] !== KEYS[0]) {
      done()
      return
    }
    this.world.steps++
    if (script === "limit.take" && Array.isArray(reply) && reply[0] === 1) this.ledger.took(gate, args[1] ?? "", keys)
    if (name === script) {
      done()
      return
    }
    gate.slots = slotsOf(args)
    this.hindrances.acts(gate, args[2] ?? "")
    const own = args.slice(5)
    if (name === "admit") this.ledger.admitted(gate, own[0] ?? "", own[5] ?? "", own[6] ?? "")
    if (name === "bind") for (const session of own.slice(4)) this.sessions.add(session)
    if (name === "alias") for (const [n, id] of own.entries()) if (n === 0 || n % 2 === 1) this.sessions.add(id)
    if (name === "resolve") for (const ids of own.slice(2)) for (const id of JSON.parse(ids)) this.sessions.add(id)
    if (name === "attach" || name === "fail") this.ledger.sign(own[0] ?? "")
    this.look((after, raw) => {
      this.judge(gate, name, args, own, reply, after, raw)
      if (name === "end") for (const session of own) this.ended.add(session)
      done()
    })
  }

  private look(then: (state: QueueState, raw: string) => void): void {
    const { world } = this
    const ids = [...this.ledger.ids, ...doubtIds((this.state.meta.get("lease") ?? 0) + MOST_LEASES)]
    world.base.run(probe, KEYS, [ids.length, ...ids, ...this.sessions], (reply) => {
      // that a gate was heard of is no change
      const raw = JSON.stringify(list(reply).slice(0, GATES)).replace(SWEPT, "")
      then(raw === this.raw ? { ...this.state, gates: gatesOf(reply) } : readState(reply), raw)
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
    const slots = slotsOf(args)
    if (name === "sweep" && result.length > 5 && list(result[5]).length > 0) this.saw("sweep owed")
    if (name === "audit" && result.length > 0) this.saw("audit asks")
    if (["start", "bind", "alias", "fail", "resolve", "end", "leave", "admit", "attach"].includes(name))
      this.saw(`${name} ${result[0]}`)
    if (name === "alias" && now - since(before, own[0] ?? "") >= AUDIT_AGE_MILLIS)
      this.saw(`alias ${result[0]} by audit`)
    if (name === "fail") this.failed(gate, own, String(result[0]))
    if (name === "end" && result[0] === "released" && !gate.serves) this.saw("end released elsewhere")
    if (name === "end" && result[0] === "released") world.platform.freed(own, gate)
    const heard = this.messages.toSorted()
    this.messages = []
    const changed = raw !== this.raw
    this.raw = raw
    this.state = after
    const swept = name === "sweep" && result[0] === 0
    for (const startBefore of told(name, result)) {
      if (startBefore < now) world.fail(`${name} says that a start window ended ${now - startBefore} ms ago`)
    }
    const window = plan.windowSeconds * 1000
    const refused = name === "fail" && own[2] === "refused"
    const withdraws = name === "withdraw"
    const clears = name === "clear"
    const admits = name === "admit" ? { admits: [own[0] ?? "", own[4] ?? ""] as const } : {}
    const share = plan.networkShare
    const late = name === "admit" && this.ledger.wasWithdrawn(own[0] ?? "")
    if (late) this.saw("admit withdrawn")
    if (withdraws) for (const id of own) this.ledger.withdrawn(id)
    const away = this.away(now)
    const self = args[2] ?? ""
    const shown = name === "sweep" ? { shown: Number(own[1]) } : {}
    const by = { self, ...shown }
    const kind = { swept, away, refused, withdraws, clears }
    const change = { before, after, now, ...by, slots, share, window, ...kind, ...admits }
    if (changed || swept) for (const wrong of violations(change)) world.fail(wrong)
    const carried = {
      name,
      args: own,
      now,
      ...by,
      slots,
      result,
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
    const said = [...signals, ...heard].toSorted()
    const due = changed ? expectedSignals(change) : []
    if (said.join() !== due.join()) world.fail(`signals [${said.join()}] where [${due.join()}] are due`)
    const owed = changed ? expectedSettlements(change) : []
    if (settlements.toSorted().join() !== owed.join()) {
      world.fail(`settlements [${settlements.join()}] where [${owed.join()}] are due`)
    }
    if (changed) {
      this.changes++
      this.ledger.record(change)
      if (after.passed.size > before.passed.size) this.saw(`${name} passes over`)
      for (const [id, { state }] of after.tickets) {
        const was = before.tickets.get(id)?.state
        // whose start was not told in time waits again
        if ((name === "sweep" || name === "clear") && state === "w" && was === "s") this.ledger.sign(id)
        if (state === "A" && was === "w") this.hindrances.abandoned(id, before)
        if (state === "M" && was === "c") this.hindrances.missed(id, before, this.ledger.lifeOf(id)?.turnAt ?? 0)
      }
      world.trace?.push(`        ${gate.name} ${name} ${own[0] ?? ""} → ${JSON.stringify(result)} ${summary(after)}`)
    }
    if (name === "sweep") this.sweptAt(now)
    if (name === "back" && this.mercy <= now) this.mercy = Number(own[1])
    this.timePassed()
  }

  /** A start did not come about: the store must have been told what the platform said. */
  private failed(gate: Gate, [ticket = "", , kind = "", , millis]: ReadonlyArray<string>, answer: string): void {
    this.saw(`fail ${kind} ${answer}`)
    if (answer === "stale") return
    if (!gate.serves) {
      // it cannot start what was called, and asks the platform nothing
      this.saw("fail elsewhere")
      if (kind !== "elsewhere" || millis !== "1")
        this.world.fail(`${ticket} came to another gate, and failed as ${kind}`)
      return
    }
    const { world } = this
    const starts = world.platform.startsOf(this.ledger.lifeOf(ticket)?.request ?? "")
    const start = starts.at(-1)
    if (start === undefined) {
      world.fail(`the start of ${ticket} failed as ${kind}, and it was not asked for`)
      return
    }
    const { at, script } = start
    // a gate does not wait for ever
    const late = kind === "doubt" && world.kernel.now - at >= START_TIMEOUT_MILLIS
    if ((kind === "doubt" || kind === "answered") && world.kernel.now >= gate.givesUpAt) {
      this.saw("fail given up")
      return
    }
    if (!late && kind !== REASONS[script.outcome]) {
      world.fail(`the start of ${ticket} failed as ${kind}, and the platform said ${script.outcome}`)
    }
    if (answer === "failed" && (kind === "answered" || kind === "doubt") && starts.length < STRIKES)
      world.fail(`I3: ${ticket} lost its place after ${starts.length} starts that failed`)
    if (kind === "limited" && Number(millis) !== Math.max(1, script.retryAfter)) {
      world.fail(`the campaign rests ${millis} ms, and the platform asked for ${script.retryAfter} ms`)
    }
  }

  /** A gate has stopped in order: it leaves no start behind that nobody waits for. */
  stopped(gate: Gate): void {
    this.saw("stop")
    for (const [id, { state }] of this.state.tickets) {
      const start =
        state === "s" ? this.world.platform.startsOf(this.ledger.lifeOf(id)?.request ?? "").at(-1) : undefined
      // what the store did not hear of it is left to the deadline
      if (start?.by === gate && gate.cleanSince <= start.at)
        this.world.fail(`I4: ${gate.name} has stopped and left ${id} starting`)
    }
  }

  private away(now: number): boolean {
    return this.lastSwept > 0 && now - this.lastSwept > UNATTENDED_MILLIS
  }

  private unattended(now: number): boolean {
    return this.away(now) || this.mercy > now
  }

  /** After a time in which nobody swept, those who wait have their grace anew. */
  private sweptAt(now: number): void {
    const { graceSeconds } = this.world.plan
    if (this.unattended(now) && this.mercy <= now) this.mercy = now + graceSeconds * 1000 + TICK_MILLIS
    if (now > this.lastSwept) this.lastSwept = now
  }

  /** Looks at what time owes. */
  timePassed(): void {
    this.promises.check(this.state, this.mercy)
  }

  /** Nobody waits, and nothing is held or owed. */
  get drained(): boolean {
    return this.state.waiting.size === 0 && this.state.leases.size === 0 && this.state.settle.size === 0
  }

  /** Everything is over, and all slots are free. */
  finish(): void {
    const { state, world } = this
    if (this.drained) this.ledger.finish(state)
    else world.fail(`I4: ${summary(state)} are left when everything is over, ${state.settle.size} settlements`)
  }
}

/** The ends of start windows that a step tells. */
const told = (name: string, result: ReadonlyArray<Reply>): ReadonlyArray<number> => {
  if (name === "attach" && result[0] === "called") return [Number(result[1])]
  if (name !== "touch") return []
  return list(result[2]).flatMap((ticket) => (list(ticket)[0] === "c" ? [Number(list(ticket)[1])] : []))
}

/** Since when a session has held its slot (ms). */
const since = ({ sessions, tickets }: QueueState, session: string): number =>
  tickets.get(sessions.get(session) ?? "")?.since ?? Number.POSITIVE_INFINITY

/** A script's slots; a network's share stands behind them. */
const slotsOf = (args: ReadonlyArray<string>): number => Number((args[1] ?? "").split(" ")[0])

/** A state in a few words. */
const summary = (state: QueueState): string => {
  const letters = [...state.tickets].filter(([, { state }]) => !TERMINAL.has(state))
  return `[${letters.map(([id, ticket]) => `${id}:${ticket.state}${ticket.lease === "0" ? "" : ticket.lease}`).join(" ")}]`
}
