/**
 * A random history of one campaign: callers arrive, wait, start, leave and vanish, the platform answers late or twice,
 * slots and instances change, and time jumps to deadlines and past them. The invariants are checked after every step.
 */

import type { StepAnswer } from "../../../src/fifo-queue/answers.ts"
import { UNKNOWN_SLOTS } from "../../../src/fifo-queue/bounds.ts"
import type { EndAttempt, Heard, HoursNow, Newcomer } from "../../../src/fifo-queue/inputs.ts"
import { keysOf } from "../../../src/fifo-queue/keys.ts"
import type { ReportedEnd } from "../../../src/fifo-queue/rules/end.ts"
import type { FailedStart, FailReason } from "../../../src/fifo-queue/rules/fail.ts"
import { RETENTION_MILLIS } from "../../../src/fifo-queue/rules/shared/line.ts"
import { UNATTENDED_MILLIS } from "../../../src/fifo-queue/rules/shared/outage.ts"
import { HELD } from "../../../src/fifo-queue/rules/shared/presence.ts"
import type { QueueContext } from "../../../src/fifo-queue/rules/shared/step.ts"
import type { State } from "../../../src/fifo-queue/rules/shared/ticket.ts"
import { ENDED_SESSION_MILLIS } from "../../../src/fifo-queue/rules/sweep.ts"
import { rules } from "../../../src/fifo-queue/rules.ts"
import type { Settlement } from "../../../src/protocol/settlements.ts"
import { NO_CONTEXT } from "../../../src/store/rule.ts"
import type { Rule } from "../../../src/store/Store.ts"
import { Chance } from "../../harness/chance.ts"
import type { Change } from "../../model/change.ts"
import { wrongEnd } from "../../model/ends.ts"
import { violations } from "../../model/invariants.ts"
import {
  expectedNews,
  expectedSettlements,
  expectedSignals,
  settlementText,
  signalText,
} from "../../model/obligations.ts"
import { doubtIds, EMPTY, probe, type QueueState, readState } from "../../model/queue-state.ts"
import { type History, type Message, recorder } from "./history.ts"

export type Rules = typeof rules

const STEPS = 36
/** What ends tell of the platform's reports, in turn. */
const REPORTERS = ["audit", "audit", "audit", "audit", undefined, "webhook", "audit", "audit_alone"] as const
const CALL_MILLIS = 7_200_000
const WHO = "192.0.2.9"

/** The input, the result, and what the invariants need to know of the step. */
interface Done {
  readonly answer: StepAnswer<unknown>
  readonly published: ReadonlyArray<Message>
  readonly about: Partial<Change>
  /** what else is wrong between the states before and after it */
  readonly wrong?: (before: QueueState, after: QueueState) => ReadonlyArray<string>
}

/** A pending step. */
interface Choice {
  readonly take: (context: QueueContext) => Done
  /** the gate that runs it; any gate if absent */
  readonly self?: string
}

const strings = (values: ReadonlyArray<unknown>): string => values.map(String).toSorted().join("\n")

/** Checks that a step's signals and settlements are exactly what it changed. */
const unsaid = (change: Change, { answer, published }: Done, channel: string): ReadonlyArray<string> => {
  const { elsewhere = [], settlements = [], signals = [] } = answer
  const said = [...signals.map(signalText), ...published.map(({ text }) => signalText(JSON.parse(text)))]
  const owed = settlements.map(settlementText)
  const wrong: Array<string> = []
  const expected = expectedSignals(change)
  if (strings(said) !== strings(expected)) wrong.push(`I5: said [${said.join(", ")}] for [${expected.join(", ")}]`)
  const told = [...signals, ...elsewhere].map(signalText)
  const news = expectedNews(change)
  if (strings(told) !== strings(news)) wrong.push(`told the asking gate [${told.join(", ")}] for [${news.join(", ")}]`)
  const due = expectedSettlements(change)
  if (strings(owed) !== strings(due)) wrong.push(`settled [${owed.join(", ")}] for [${due.join(", ")}]`)
  for (const each of due)
    if (change.after.settlements.get(each) !== change.now) wrong.push(`${each} is not kept as owed`)
  for (const each of published)
    if (!each.channel.startsWith(channel)) wrong.push(`published elsewhere: ${each.channel}`)
  return wrong
}

/** Generates the history of a seed. `rules` may be wrong ones, to test that they are detected. */
export const queueHistory = (seed: number, asked: Rules = rules): History => {
  const random = new Chance(seed)
  const prefix = `q${seed}:`
  const { look, run, steps } = recorder(keysOf(`${prefix}{${random.below(9)}}`))
  const windowMillis = random.pick(1_000, 30_000)
  const graceMillis = random.pick(500, 5_000, 30_000)
  const maxLength = random.pick(0, 2, 5, 100, 100)
  const share = random.pick(0.25, 0.25, 0.25, 0.5, 1)
  const attended = random.percent(75)
  // in some histories the platform's refusals are the only limit
  let slots: number = random.pick(0, 1, 1, 2, 2, 3, 5, UNKNOWN_SLOTS)
  // in the others the queue is left alone, and gets further
  const operated = random.percent(40)
  // calls have limits, the campaign has hours, and its host is told of events
  const controlled = random.percent(40)
  // far ahead of the clock of a real server, for which no step seems late then
  let now = 4_000_000_000_000 + random.below(1_000_000)
  let state = EMPTY
  let ends = 0
  let attempts = 0

  const tickets: Array<string> = []
  /** withdrawn before their admission */
  const withdrawn: Array<string> = []
  const sessions: Array<string> = []
  const early: Array<string> = []
  const settlements: Array<Settlement> = []
  const newSession = (): string => {
    sessions.push(`x${sessions.length}`)
    return `x${sessions.length - 1}`
  }

  /** A session that ended before it was known; the platform gives each session an id of its own. */
  const endedEarly = (): string | undefined => early.splice(0, 1).find((session) => !state.sessions.has(session))

  /** A ticket in one of these states; occasionally any ticket, or one that never existed. */
  const ticket = (...states: ReadonlyArray<State>): string => {
    if (random.percent(3)) return "nobody"
    const wanted = [...state.tickets].filter(([, t]) => states.includes(t.state)).map(([id]) => id)
    return (random.percent(85) ? random.maybe(wanted) : undefined) ?? random.maybe(tickets) ?? "nobody"
  }
  /** The ticket's lease; occasionally an old one or another ticket's. */
  const lease = (id: string): string =>
    random.percent(85)
      ? (state.tickets.get(id)?.lease ?? "0")
      : String(random.below(1 + (state.meta.get("lease") ?? 0)))

  const later = (): number => {
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

  const isOn = (field: "paused" | "draining"): boolean => state.meta.get(field) === 1

  /** Runs a rule; `about` says what the invariants need to know of it. */
  const does = <Call extends object, R>(
    rule: Rule<QueueContext, Call, StepAnswer<R>>,
    call: Call,
    about: (result: R) => Partial<Change> = () => ({}),
  ): Choice => ({
    take: (context) => {
      const { answer, published } = run(rule, { now, context, call })
      return { answer, published, about: about(answer.result) }
    },
  })

  const ending = (call: ReportedEnd): Choice => ({
    take: (context) => {
      const { answer, published } = run(asked.end, { now, context, call })
      const wrong: Done["wrong"] = (before, after) => wrongEnd({ before, after, call, result: answer.result })
      return { answer, published, about: {}, wrong }
    },
  })

  /** In turn: none, one, and one that names others as lost; few, so that some of these have freed a slot. */
  const endAttempt = (): Partial<EndAttempt> => {
    const turn = attempts++ % 4
    if (turn === 0) return {}
    return { attempt: `e${turn}`, lost: turn === 1 ? [] : [`e${turn - 1}`, `e${5 - turn}`] }
  }

  /** what a gate has read of the platform, perhaps a while ago */
  const heard = (): Heard => {
    const at = now - random.pick(0, 500, 10_000, 40_000)
    const state = random.pick("ok", "answers", "unavailable", "rejected")
    return state === "ok" || state === "answers"
      ? { state, at }
      : { state, at, code: "CODE", setting: random.pick("", "A.Setting") }
  }

  /** of gates of which some have not reloaded; the close may be long ago */
  const hours = (): HoursNow => {
    const _tag = random.pick("none", "open", "open", "closed")
    if (_tag !== "closed") return { _tag }
    return { _tag, since: now - random.pick(0, 20_000, 3_600_000), servedMillis: random.pick(0, 60_000) }
  }

  /** by a gate whose last tick may be some time ago */
  const sweeping = (): Choice => {
    const shown = random.percent(10) ? undefined : now - random.pick(0, 0, 1_900, 40_000)
    const learned = {
      ...(random.percent(20) ? { heard: heard() } : {}),
      ...(random.percent(10) ? { suspect: true as const } : {}),
      ...(controlled && random.percent(70) ? { hours: hours() } : {}),
    }
    return does(asked.sweep, shown === undefined ? learned : { heartbeatAt: shown, ...learned }, ({ more }) => ({
      swept: !more,
      shown: shown ?? now,
    }))
  }

  /** few, so that a start is sometimes one that was carried out or given up before */
  const attempt = (): string => `a${random.below(4)}`

  /** some tickets, and possibly one whose admission is still pending */
  const toWithdraw = (): ReadonlyArray<string> => {
    const ids = Array.from({ length: 1 + random.below(3) }, () => ticket("waiting", "called", "starting")).filter(
      (id) => id !== "nobody",
    )
    if (random.percent(30)) {
      const id = `t${tickets.length}`
      tickets.push(id)
      withdrawn.push(id)
      ids.push(id)
    }
    return [...new Set(ids)]
  }

  const newcomer = (): Newcomer => {
    const id = withdrawn.shift() ?? `t${tickets.length}`
    if (!tickets.includes(id)) tickets.push(id)
    const caller = random.pick("", "1.2.3.4", "1.2.3.4", "2001:db8::/64")
    const holds = random.percent(60)
    const network = random.pick("", "9.8.7", "9.8.7", "9.8.7", "9.8.70", "2001:db8")
    return { id, data: `{"of":"${id} ü/"}`, caller, holds, network }
  }

  const failed = (id: string, reason: FailReason): FailedStart => {
    const told = { id, lease: lease(id), reason }
    if (reason === "limited" || reason === "elsewhere") {
      return { ...told, millis: random.pick(0, 1, 1_000, 2_000, 4_000, 60_000) }
    }
    if (reason === "rejected") {
      const ends = random.percent(20) ? { ends: true as const } : {}
      return { ...told, code: "HTTP_401", setting: "A.Setting", ...ends }
    }
    return reason === "disrupted" && random.percent(40)
      ? { ...told, millis: random.pick(0, 700, 2_500, 60_000), code: "unreachable" }
      : told
  }

  const step = (): Choice => {
    // mostly steps that advance a ticket, so that histories get far; occasionally a step that fits no state
    const some = (weight: number, ...states: ReadonlyArray<State>): number =>
      [...state.tickets.values()].some((t) => states.includes(t.state)) ? weight : 2
    const op = random.weighted({
      admit: 20,
      start: some(25, "called"),
      bind: some(25, "starting"),
      offer: some(9, "live"),
      alias: some(7, "live"),
      fail: some(16, "starting"),
      doubts: some(3, "doubt"),
      resolve: some(12, "doubt"),
      end: some(14, "live"),
      sessionState: some(4, "live"),
      leave: some(7, "waiting", "called"),
      // rarely: it ends what the histories are about
      withdraw: 1,
      attach: some(14, "waiting", "called"),
      heartbeat: some(8, "waiting"),
      sweep: 10,
      // as rarely as withdraw
      clear: 1,
      acknowledge: 2,
      audit: 2,
      dueEnds: some(3, "live"),
      dueLengths: controlled ? some(8, "live") : 0,
      reportOutage: some(3, "called"),
      gateGone: 1,
      snapshot: operated ? 3 : 0,
      // switches stay on for a while, not for most of a history
      switch: operated ? 2 + (isOn("paused") ? 5 : 0) + (isOn("draining") ? 5 : 0) : 0,
      call: operated ? 4 : 0,
      remove: operated ? some(4, "waiting") : 0,
      endLease: operated ? some(4, "called", "starting", "live", "doubt") : 0,
      auditLog: operated ? 1 : 0,
    })
    switch (op) {
      case "admit": {
        const call = newcomer()
        return does(asked.admit, call, () => ({ admits: [call.id, call.caller] }))
      }
      case "start":
        return does(asked.start, { id: ticket("called"), attempt: attempt() })
      case "bind": {
        const id = ticket("starting")
        const known = random.percent(25) ? endedEarly() : undefined
        const ids = [...(random.percent(30) ? [newSession()] : []), known ?? newSession()]
        const data = JSON.stringify({ url: `wss://example/${id}`, s: ids })
        const begins =
          controlled && random.percent(60)
            ? { endsAt: now + random.pick(5_000, 30_000, 90_000, 600_000) }
            : random.percent(35)
              ? { offerMillis: random.pick(1, 20_000, 60_000) }
              : {}
        return does(asked.bind, { id, lease: lease(id), data, sessions: ids, ...begins })
      }
      case "offer": {
        const id = ticket("live")
        const own = random.maybe(state.tickets.get(id)?.sessions ?? [])
        const session = (random.percent(90) ? own : random.maybe(sessions)) ?? "x?"
        return does(asked.offer, { id, session, data: `{"of":"${id}"}` })
      }
      case "alias": {
        const known = random.maybe([...state.sessions.keys()]) ?? "x?"
        const told = random.percent(25) ? endedEarly() : undefined
        const further = [told ?? newSession(), ...(random.percent(20) ? [random.maybe(sessions) ?? known] : [])]
        return does(asked.alias, { known, further })
      }
      case "fail": {
        const id = ticket("starting")
        const reason = random.weighted({
          capacity: 25,
          limited: 10,
          elsewhere: 4,
          disrupted: 20,
          rejected: 15,
          answered: 20,
          doubt: 25,
          failed: 12,
          refused: 8,
        })
        return does(asked.fail, failed(id, reason), () => ({ refused: reason === "refused" }))
      }
      case "doubts":
        return does(asked.doubts, { ageMillis: random.pick(0, 20_000), claimMillis: 5_000 })
      case "resolve": {
        const some = (): ReadonlyArray<string> => [newSession(), ...(random.percent(30) ? [newSession()] : [])]
        const known = random.maybe(sessions)
        const candidates = [
          ...(known !== undefined && random.percent(30) ? [[known]] : []),
          ...(random.percent(35) ? [some()] : []),
        ]
        const id = ticket("doubt")
        const ends = random.percent(50) ? { ends: true as const } : {}
        return does(asked.resolve, { id, ...(candidates.length === 0 ? {} : { candidates }), ...ends })
      }
      case "end": {
        if (random.percent(15)) {
          const before = newSession()
          early.push(before)
          return ending({ sessions: [before] })
        }
        const id = (random.percent(75) ? random.maybe([...state.sessions.keys()]) : random.maybe(sessions)) ?? "x?"
        const named = random.percent(20) ? [id, random.maybe(sessions) ?? "x?"] : [id]
        const by = REPORTERS[ends++ % REPORTERS.length]
        // sometimes it only takes the place of a lost attempt
        return ending({
          sessions: attempts % 12 === 3 ? [] : named,
          ...(by === undefined ? {} : { by }),
          ...endAttempt(),
        })
      }
      case "sessionState":
        return does(asked.sessionState, { session: random.maybe(sessions) ?? "x?" })
      case "leave":
        return does(asked.leave, { id: ticket("waiting", "called") })
      case "withdraw": {
        return does(asked.withdraw, { ids: toWithdraw() }, () => ({ withdraws: true }))
      }
      case "attach": {
        const connected = random.percent(75)
        const id = ticket("waiting", "called", "starting", "live")
        const hidden = random.percent(25) ? { hidden: true as const } : {}
        return { ...does(asked.attach, { id, connected, ...hidden }), self: random.pick("", "a", "b", "c", "c") }
      }
      case "heartbeat": {
        const ids = [...tickets.filter(() => random.percent(60)), "nobody"]
        if (random.percent(40)) return does(asked.heartbeat, { ids })
        return does(asked.heartbeat, {
          ids,
          since: Math.max(0, (state.meta.get("changed") ?? 0) - random.pick(-1, 0, 0, 1, 5)),
          ...(random.percent(50) ? { closed: tickets.filter(() => random.percent(30)) } : {}),
          ...(random.percent(30) ? { places: true as const } : {}),
          ...(random.percent(30) ? { heldFrom: random.below(3) } : {}),
        })
      }
      case "sweep":
        return sweeping()
      case "clear":
        return does(asked.clear, { unservedMillis: random.pick(0, 1_000, 60_000) }, () => ({ clears: true }))
      case "reportOutage": {
        const report = { since: now - random.pick(0, 300, 2_000, 17_000, 100_000) }
        if (random.percent(50)) return does(asked.reportOutage, report)
        const more = random.percent(30) ? { more: true as const } : {}
        const starts = random.percent(40)
          ? { starts: [{ id: ticket("starting", "called", "waiting"), attempt: attempt() }] }
          : {}
        return does(asked.reportOutage, { ...report, ids: toWithdraw(), ...starts, ...more }, () => ({
          withdraws: true,
        }))
      }
      case "gateGone":
        return does(asked.gateGone, {})
      case "acknowledge": {
        const nobodys: Settlement = { kind: "refund", ticket: "nobody", caller: "1.2.3.4" }
        return does(asked.acknowledge, { settlements: [...settlements.filter(() => random.percent(50)), nobodys] })
      }
      case "audit":
        return does(asked.audit, { ageMillis: random.pick(0, 60_000), claimMillis: 30_000 })
      case "dueEnds":
        return does(asked.dueEnds, {
          claimMillis: 20_000,
          ...(random.percent(30) ? { atOnceOnly: true as const } : {}),
        })
      case "dueLengths":
        return does(asked.dueLengths, {
          claimMillis: 20_000,
          ...(random.percent(70) ? { ends: true as const } : {}),
        })
      case "snapshot":
        return does(asked.campaignSnapshot, {
          firstSlot: random.below(3),
          slots: random.below(4),
          firstPlace: random.below(4),
          places: random.below(5),
        })
      case "switch": {
        const turn = (type: "pause" | "drain" | "resume" | "reopen") => does(asked.act, { who: WHO, action: { type } })
        if (isOn("paused") && random.percent(70)) return turn("resume")
        if (isOn("draining") && random.percent(70)) return turn("reopen")
        if (random.percent(20)) {
          const until = now + random.pick(1, 2_000, 60_000)
          return does(asked.act, { who: WHO, action: { type: "pause", until, untilText: `until ${until}` } })
        }
        return turn(random.pick("pause", "drain", "resume", "reopen"))
      }
      case "call":
        return does(asked.act, { who: WHO, action: { type: "call" } }, () => ({ anyway: true }))
      case "remove":
        return does(asked.act, {
          who: WHO,
          action: { type: "remove", seq: random.maybe([...state.waiting.values()]) ?? random.below(9) },
        })
      case "endLease": {
        const [id, deadline] = random.maybe([...state.leases]) ?? ["nobody", now]
        return does(asked.act, {
          who: WHO,
          action: {
            type: "end",
            lease: lease(id),
            deadline: random.percent(85) ? deadline : now,
            ...(random.percent(50) ? { claimMillis: 20_000 } : {}),
            ...(random.percent(30) ? { candidates: [[random.maybe(sessions) ?? newSession()], [newSession()]] } : {}),
          },
        })
      }
      case "auditLog":
        return does(asked.auditLog, { first: random.below(3), count: random.below(6) })
    }
  }

  const contextOf = (instance: string): QueueContext => ({
    slots,
    share,
    maxLength,
    instance,
    holder: ["", "a", "b", "c"].indexOf(instance),
    channel: prefix,
    windowMillis,
    graceMillis,
    seenMillis: graceMillis + 2_000,
    callMillis: CALL_MILLIS,
    ...(controlled ? { events: true as const } : {}),
  })

  /** Runs a step and returns what is wrong after it. */
  const taken = (choice: Choice, gate = random.pick("a", "b", "")): ReadonlyArray<string> => {
    const self = choice.self ?? gate
    const done = choice.take(contextOf(self))
    const ids = [...tickets, ...doubtIds((state.meta.get("lease") ?? 0) + Math.min(slots, tickets.length))]
    const after = readState(look(probe, { now, context: NO_CONTEXT, call: { tickets: ids, sessions } }))
    const change = { before: state, after, now, slots, share, window: windowMillis, self, swept: false, ...done.about }
    const wrong = [
      ...violations(change),
      ...unsaid(change, done, prefix),
      ...(done.wrong?.(change.before, change.after) ?? []),
    ]
    settlements.push(...(done.answer.settlements ?? []))
    state = after
    return wrong
  }

  let sweeps = 0
  for (let n = 0; n < STEPS; n++) {
    const then = later()
    // gates sweep all the time, here in turn, unless the store or all of them were down
    while (attended && then - now > UNATTENDED_MILLIS && then - now < 100_000) {
      now += UNATTENDED_MILLIS
      const wrong = taken(sweeping(), sweeps++ % 2 === 0 ? "a" : "b")
      if (wrong.length > 0) return { seed, prefix, steps, wrong }
    }
    now = then
    if (random.percent(6)) slots = random.below(5)
    const wrong = taken(step())
    if (wrong.length > 0) return { seed, prefix, steps, wrong }
  }
  const ids = [...tickets, ...doubtIds(state.meta.get("lease") ?? 0)]
  run(probe, { now, context: NO_CONTEXT, call: { tickets: ids, sessions } })
  run(asked.auditLog, { now, context: contextOf(""), call: { first: 0, count: 100 } })
  return { seed, prefix, steps, wrong: [] }
}
