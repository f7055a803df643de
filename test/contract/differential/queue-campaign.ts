/**
 * The campaign of a random history: its settings, its tickets and sessions, its time, and what a next step may be about. The draws of a
 * seed come in the order of the calls.
 */

import { UNKNOWN_SLOTS } from "../../../src/fifo-queue/bounds.ts"
import type { EndAttempt, Heard, HoursNow, Newcomer } from "../../../src/fifo-queue/inputs.ts"
import type { FailedStart, FailReason } from "../../../src/fifo-queue/rules/fail.ts"
import { RETENTION_MILLIS } from "../../../src/fifo-queue/rules/shared/line.ts"
import { HELD } from "../../../src/fifo-queue/rules/shared/presence.ts"
import type { QueueContext } from "../../../src/fifo-queue/rules/shared/step.ts"
import type { State } from "../../../src/fifo-queue/rules/shared/ticket.ts"
import { ENDED_SESSION_MILLIS } from "../../../src/fifo-queue/rules/sweep.ts"
import type { Settlement } from "../../../src/protocol/settlements.ts"
import type { Chance } from "../../harness/chance.ts"
import { EMPTY, type QueueState } from "../../model/queue-state.ts"

const CALL_MILLIS = 7_200_000
/** What ends tell of the platform's reports, in turn. */
const REPORTERS = ["audit", "audit", "audit", "audit", undefined, "webhook", "audit", "audit_alone"] as const

export class RandomCampaign {
  readonly random: Chance
  readonly windowMillis: number
  readonly graceMillis: number
  readonly maxLength: number
  readonly share: number
  readonly attended: boolean
  /** in some histories the platform's refusals are the only limit */
  slots: number
  /** in the other histories the queue is left alone, and gets further */
  readonly operated: boolean
  /** calls have limits, the campaign has hours, its host is told of events, and callers wait for budgets of their own */
  readonly controlled: boolean
  /** far ahead of the clock of a real server, for which no step seems late then */
  now: number
  state: QueueState = EMPTY

  readonly tickets: Array<string> = []
  readonly sessions: Array<string> = []
  readonly settlements: Array<Settlement> = []
  /** tickets withdrawn before their admission */
  private readonly withdrawn: Array<string> = []
  /** sessions that have ended, perhaps before they were known */
  private readonly early: Array<string> = []
  private ends = 0
  private attempts = 0

  constructor(random: Chance) {
    this.random = random
    this.windowMillis = random.pick(1_000, 30_000)
    this.graceMillis = random.pick(500, 5_000, 30_000)
    this.maxLength = random.pick(0, 2, 5, 100, 100)
    this.share = random.pick(0.25, 0.25, 0.25, 0.5, 1)
    this.attended = random.percent(75)
    this.slots = random.pick(0, 1, 1, 2, 2, 3, 5, UNKNOWN_SLOTS)
    this.operated = random.percent(40)
    this.controlled = random.percent(40)
    this.now = 4_000_000_000_000 + random.below(1_000_000)
  }

  /** What a gate tells every rule. */
  contextOf(instance: string, channel: string): QueueContext {
    const { graceMillis, maxLength, share, slots, windowMillis } = this
    return {
      slots,
      share,
      maxLength,
      instance,
      holder: ["", "a", "b", "c"].indexOf(instance),
      channel,
      windowMillis,
      graceMillis,
      seenMillis: graceMillis + 2_000,
      callMillis: CALL_MILLIS,
      ...(this.controlled ? { events: true as const, awaitsOwn: true as const } : {}),
    }
  }

  /** When the next step comes. */
  later(): number {
    const { now, random, state } = this
    const presentUntil = [...state.presence.values()].filter((until) => until < HELD)
    const deadlines = [...state.leases.values(), ...presentUntil, ...state.parked.values(), ...state.limits.values()]
    deadlines.push(state.meta.get("backoffUntil") ?? 0, state.meta.get("probeUntil") ?? 0)
    const next = random.maybe(deadlines.filter((deadline) => deadline >= now))
    switch (random.weighted({ same: 35, little: 25, deadline: 12, past: 15, far: 5 })) {
      case "same":
        return now
      case "little":
        return now + 1 + random.below(1_500)
      case "deadline":
        return next ?? now
      case "past":
        return (next ?? now) + 1
      case "far":
        return (
          now + random.pick(5_000, 31_000, 60_000, 310_000, RETENTION_MILLIS + 1, CALL_MILLIS + 1, ENDED_SESSION_MILLIS)
        )
    }
  }

  isOn(field: "paused" | "draining"): boolean {
    return this.state.meta.get(field) === 1
  }

  /** A ticket in one of these states; occasionally any ticket, or one that never existed. */
  ticket(...states: ReadonlyArray<State>): string {
    const { random } = this
    if (random.percent(3)) return "nobody"
    const wanted = [...this.state.tickets].filter(([, t]) => states.includes(t.state)).map(([id]) => id)
    return (random.percent(85) ? random.maybe(wanted) : undefined) ?? random.maybe(this.tickets) ?? "nobody"
  }

  /** The ticket's lease; occasionally an old one or another ticket's. */
  lease(id: string): string {
    return this.random.percent(85)
      ? (this.state.tickets.get(id)?.lease ?? "0")
      : String(this.random.below(1 + (this.state.meta.get("lease") ?? 0)))
  }

  newSession(): string {
    const session = `x${this.sessions.length}`
    this.sessions.push(session)
    return session
  }

  /** A new session that has ended before it is known. */
  endEarly(): string {
    const session = this.newSession()
    this.early.push(session)
    return session
  }

  /** A session that ended before it was known; the platform gives each session an id of its own. */
  endedEarly(): string | undefined {
    return this.early.splice(0, 1).find((session) => !this.state.sessions.has(session))
  }

  newcomer(): Newcomer {
    const { random, tickets } = this
    const id = this.withdrawn.shift() ?? `t${tickets.length}`
    if (!tickets.includes(id)) tickets.push(id)
    const caller = random.pick("", "1.2.3.4", "1.2.3.4", "2001:db8::/64")
    const holds = random.percent(60)
    const network = random.pick("", "9.8.7", "9.8.7", "9.8.7", "9.8.70", "2001:db8")
    return { id, data: `{"of":"${id} ü/"}`, caller, holds, network }
  }

  /** An attempt to start; few, so that a start is sometimes one that was carried out or given up before. */
  attempt(): string {
    return `a${this.random.below(4)}`
  }

  failed(id: string, reason: FailReason): FailedStart {
    const { random } = this
    const told = { id, lease: this.lease(id), reason }
    if (reason === "limited" || reason === "elsewhere") {
      return { ...told, millis: random.pick(0, 1, 1_000, 2_000, 4_000, 60_000) }
    }
    if (reason === "unpaid") return { ...told, until: this.budgetBegins() }
    if (reason === "rejected") {
      const ends = random.percent(20) ? { ends: true as const } : {}
      return { ...told, code: "HTTP_401", setting: "A.Setting", ...ends }
    }
    return reason === "disrupted" && random.percent(40)
      ? { ...told, millis: random.pick(0, 700, 2_500, 60_000), code: "unreachable" }
      : told
  }

  /** When a caller's budget begins anew. */
  budgetBegins(): number {
    return this.now + this.random.pick(0, 500, 20_000, 60_000, 3_600_000)
  }

  /** Some tickets, and possibly one whose admission is still pending. */
  toWithdraw(): ReadonlyArray<string> {
    const { random, tickets } = this
    const ids = Array.from({ length: 1 + random.below(3) }, () => this.ticket("waiting", "called", "starting")).filter(
      (id) => id !== "nobody",
    )
    if (random.percent(30)) {
      const id = `t${tickets.length}`
      tickets.push(id)
      this.withdrawn.push(id)
      ids.push(id)
    }
    return [...new Set(ids)]
  }

  /** Who reports an end, in turn. */
  reporter(): (typeof REPORTERS)[number] {
    return REPORTERS[this.ends++ % REPORTERS.length]
  }

  /** Whether an end only takes the place of a lost attempt. */
  get endsNothing(): boolean {
    return this.attempts % 12 === 3
  }

  /** In turn: none, one, and one that names others as lost; few, so that some of these have freed a slot. */
  endAttempt(): Partial<EndAttempt> {
    const turn = this.attempts++ % 4
    if (turn === 0) return {}
    return { attempt: `e${turn}`, lost: turn === 1 ? [] : [`e${turn - 1}`, `e${5 - turn}`] }
  }

  /** What a gate has read of the platform, perhaps a while ago. */
  heard(): Heard {
    const { random } = this
    const at = this.now - random.pick(0, 500, 10_000, 40_000)
    const state = random.pick("ok", "answers", "unavailable", "rejected")
    return state === "ok" || state === "answers"
      ? { state, at }
      : { state, at, code: "CODE", setting: random.pick("", "A.Setting") }
  }

  /** The hours of gates of which some have not reloaded; the close may be long ago. */
  hours(): HoursNow {
    const { random } = this
    const _tag = random.pick("none", "open", "open", "closed")
    if (_tag !== "closed") return { _tag }
    return { _tag, since: this.now - random.pick(0, 20_000, 3_600_000), servedMillis: random.pick(0, 60_000) }
  }
}
