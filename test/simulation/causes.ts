/**
 * Whether a step was allowed to do what it did: for each script, the tickets it may move, from where to where, and what must
 * have been true. It judges by what the script was asked and by what was in the store before, never by the script's code.
 */
import {
  DISRUPTED_LONGEST_MILLIS,
  LIMITED_LONGEST_MILLIS,
  START_LEASE_MILLIS,
  TICK_MILLIS,
} from "../../src/FifoQueue.ts"
import { DEAD_MILLIS } from "../../src/queue/outage.ts"
import { DOUBT_MILLIS } from "../../src/queue/step.ts"
import type { Reply } from "../../src/Store.ts"
import { list, text } from "../../src/store/reply.ts"
import { crowded, isAbsent } from "../support/queue-invariants.ts"
import type { QueueState, Record } from "../support/queue-probe.ts"
import { isMissed, turnAfter } from "./anew.ts"

/** One script as it was carried out. */
export interface Carried {
  readonly name: string
  /** its arguments after those that all scripts share */
  readonly args: ReadonlyArray<string>
  readonly now: number
  /** the gate that took it, and until when that has shown who is connected, known of a sweep */
  readonly self: string
  readonly shown?: number
  readonly slots: number
  readonly result: ReadonlyArray<Reply>
  readonly before: QueueState
  readonly after: QueueState
  /** the ticket of an admission was withdrawn before */
  readonly late: boolean
  /** nobody has swept for long, so absence is held against nobody */
  readonly unattended: boolean
  /** nobody has swept for long, so nobody could start either */
  readonly away: boolean
  readonly lastSwept: number
  /** the ids of sessions whose end was told before this step */
  readonly ended: ReadonlySet<string>
  /** no gate has swept the campaign for as long as it takes to be removed */
  readonly unserved: boolean
  readonly maxLength: number
  readonly share: number
  readonly graceMillis: number
  readonly windowMillis: number
  readonly callMillis: number
}

/** Back-offs of a platform at capacity never last longer (ms), and while no call runs no longer than the second. */
const MOST_REST = 60_000
const MOST_REST_IDLE = 5_000

/** What calling the next ticket may do to any ticket. */
const called = (step: Carried, id: string, move: string): boolean =>
  move === (!step.unattended && isAbsent(step.before, id, step) ? "wA" : "wc")

const deadline = ({ before }: Carried, id: string): number => before.leases.get(id) ?? 0

/** The ticket of the session that an end names. */
const endedTicket = ({ args, before }: Carried): string | undefined =>
  args.map((session) => before.sessions.get(session)).find((ticket) => ticket !== undefined)

/** The further ids that an alias names. */
const furtherIds = ({ args }: Carried): ReadonlyArray<string> => args.filter((_, i) => i % 2 === 1)

/** Whether an alias names an id that is new and whose end was told already. */
const heardEarly = (step: Carried): boolean =>
  furtherIds(step).some((session) => !step.before.sessions.has(session) && step.ended.has(session))

const isDisrupted = ({ before }: Carried): boolean => before.meta.get("disrupted") === 1

/** The turn of a called ticket passes: it is missed, or the ticket waits again while the platform cannot be reached. */
const turnPasses = (step: Carried, id: string, move: string): boolean =>
  isMissed(step, id) && move === (isDisrupted(step) ? "cw" : "cM")

type Rule = (step: Carried, id: string, move: string, was: Record | undefined) => boolean

/** Which moves of a ticket each script may make; none that is not named. */
const rules: { readonly [script: string]: Rule } = {
  admit: (step, id, move) => called(step, id, move) || (id === step.args[0] && (move === "-w" || move === "-s")),
  start: (step, id, move) => {
    if (id !== step.args[0]) return step.result[1] === "M" && called(step, id, move)
    return move === (isMissed(step, id) && !isDisrupted(step) ? "cM" : "cs")
  },
  touch: (step, id, move) =>
    step.args.slice(1).includes(id) && move !== "wc" ? turnPasses(step, id, move) : called(step, id, move),
  attach: (step, id, move) => (id === step.args[0] ? turnPasses(step, id, move) : called(step, id, move)),
  bind: (step, id, move, was) => {
    const heard = step.args.slice(4).some((session) => step.ended.has(session))
    const doubt = step.before.tickets.get(`?${step.args[1]}`)?.state === "u"
    const reached = step.before.meta.has("disrupted") || step.before.meta.has("probe")
    if (id !== step.args[0]) return (heard || doubt || reached) && called(step, id, move)
    return was?.lease === step.args[1] && move === (doubt ? "w" : "s") + (heard ? "F" : "l")
  },
  fail: (step, id, move, was) => {
    const [ticket, lease, why = ""] = step.args
    const alone = why === "answered" || why === "doubt"
    const fails = why === "failed" || why === "refused"
    // told only when its time was over: what was in doubt is decided
    const decides = why !== "doubt" && step.before.tickets.get(`?${lease}`)?.state === "u"
    if (decides) return called(step, id, move)
    if (id !== ticket) return (fails || alone) && called(step, id, move)
    return was?.lease === lease && (move === (fails ? "sF" : "sw") || (alone && move === "sF"))
  },
  resolve: (step, id, move) => step.result[0] !== "open" && called(step, id, move),
  alias: (step, id, move) => {
    if (id !== step.before.sessions.get(step.args[0] ?? "")) return step.result[0] === "ended" && called(step, id, move)
    return move === "lE" && heardEarly(step)
  },
  end: (step, id, move) =>
    id === endedTicket(step) ? move === "lE" : endedTicket(step) !== undefined && called(step, id, move),
  leave: (step, id, move) =>
    id === step.args[0] ? move === "wL" || move === "cL" : step.result[0] === "left" && called(step, id, move),
  withdraw: (step, id, move) => (step.args.includes(id) ? ["wL", "cL", "sL"].includes(move) : called(step, id, move)),
  clear: (step, id, move) => {
    if (["sw", "lR"].includes(move)) return deadline(step, id) < step.now
    if (move.endsWith("-")) return (step.before.forget.get(id) ?? 0) < step.now
    return step.unserved && (move === "wX" || move === "cX")
  },
  sweep: (step, id, move) => {
    if (move === "cM" || move === "cw") return turnPasses(step, id, move)
    if (move === "sw" || move === "lR") return deadline(step, id) < step.now
    if (move.endsWith("-")) return (step.before.forget.get(id) ?? 0) < step.now
    return called(step, id, move)
  },
}

/** What may become of a start in doubt, and by which scripts. */
const DOUBTS: { readonly [move: string]: ReadonlyArray<string> } = {
  "-u": ["fail", "sweep", "clear"],
  ul: ["resolve", "bind"],
  uF: ["bind"],
  "u-": ["resolve", "sweep", "clear", "bind", "fail"],
  lE: ["end", "alias"],
  lR: ["sweep", "clear"],
  "E-": ["sweep", "clear"],
  "F-": ["sweep", "clear"],
  "R-": ["sweep", "clear"],
}

/** Presence is given to the ticket that was seen, until the grace has passed. */
const presence = (step: Carried, wrong: Array<string>): void => {
  const seen = new Set(step.name === "touch" ? step.args.slice(1) : step.args.slice(0, 1))
  // whose start nobody can tell of waits again, and whose turn passed while the platform could not be reached
  if (step.name === "sweep" || step.name === "clear") {
    seen.clear()
    for (const id of step.after.waiting.keys())
      if ("sc".includes(step.before.tickets.get(id)?.state ?? "-")) seen.add(id)
  }
  const gives = ["touch", "attach", "admit", "fail", "sweep", "clear"].includes(step.name)
  for (const [id, until] of step.after.presence) {
    const was = step.before.presence.get(id) ?? 0
    if (until === was) continue
    if (until < was) wrong.push(`the presence of ${id} was shortened`)
    if (!gives || !seen.has(id)) wrong.push(`${step.name} made ${id} present`)
    if (until > step.now + step.graceMillis + TICK_MILLIS) wrong.push(`${id} is present for too long`)
  }
}

const leases = (step: Carried, wrong: Array<string>): void => {
  const longest: { readonly [state: string]: number } = {
    c: step.windowMillis,
    s: START_LEASE_MILLIS,
    l: step.callMillis,
    u: DOUBT_MILLIS,
  }
  for (const [id, until] of step.after.leases) {
    const is = step.after.tickets.get(id)
    const was = step.before.tickets.get(id)
    const remains = is?.state === "c" && was?.state === "c" && is.lease === was.lease
    if (!remains && until === step.before.leases.get(id)) continue
    const turn = turnAfter(step, id)
    if (remains && is.since !== turn.since)
      wrong.push(`the turn of ${id} lasts since ${is.since}, not since ${turn.since}`)
    // a start has its time from the latest sweep on, where its gate is behind
    const by = is?.state === "s" ? step.lastSwept - step.now : 0
    const from = step.now + (by > 0 && by <= DEAD_MILLIS ? by : 0)
    const most = remains ? turn.ends : from + (longest[is?.state ?? ""] ?? 0)
    if (until !== most) wrong.push(`I4: the lease of ${id} ends at ${until}, not at ${most}`)
  }
}

const rest = ({ after, args, before, name, now, result }: Carried, wrong: Array<string>): void => {
  const until = after.meta.get("rest") ?? 0
  const was = before.meta.get("rest") ?? 0
  const waits = name === "fail" && result[0] === "waiting"
  const limited = waits && (args[2] === "limited" || args[2] === "elsewhere")
  if (until > was) {
    const runs = [...after.tickets.values()].some(({ state }) => state === "l")
    const full = waits && args[2] === "capacity" && until <= now + (runs ? MOST_REST : MOST_REST_IDLE)
    const disrupted = waits && args[2] === "disrupted" && until <= now + DISRUPTED_LONGEST_MILLIS
    if (!full && !limited && !disrupted) wrong.push(`I7: ${name} lets the campaign rest until ${until}`)
  }
  if (limited) {
    // as long as the platform asks, up to a limit; a rest that there is already lasts as it is
    const due = was > now ? was : now + Math.min(Number(args[4]), LIMITED_LONGEST_MILLIS)
    if (until !== due) wrong.push(`I7: a limit of the key lets the campaign rest until ${until}, not until ${due}`)
    if (after.meta.get("restn") !== before.meta.get("restn")) wrong.push("a limit of the key counts as a full platform")
  }
  const ended = (name === "end" && result[0] === "released") || (name === "alias" && result[0] === "ended")
  if (ended && until !== 0) wrong.push("I7: a session ended and the rest did not")
}

/** The answer agrees with what was done. */
const answer = (step: Carried, moves: ReadonlyMap<string, string>, wrong: Array<string>): void => {
  const { after, args, maxLength, name, result, share, slots } = step
  const said = String(result[0])
  const own = moves.get(args[0] ?? "")
  const expect = (when: boolean, what: string): void => {
    if (!when) wrong.push(`${name} answered ${said}: ${what}`)
  }
  const probing = after.meta.has("disrupted") && (after.meta.get("probe") ?? 0) > step.now
  const resting = probing || (after.meta.get("rest") ?? 0) > step.now
  switch (name) {
    case "admit": {
      if (step.late) {
        expect(own === undefined && said === "draining", `the ticket was withdrawn, and went ${own}`)
        break
      }
      expect(said === (own === "-s" ? "starting" : own === "-w" ? "waiting" : "full"), `the ticket went ${own}`)
      const others = after.waiting.size - (own === "-w" ? 1 : 0)
      if (own === "-w") expect(others < maxLength, `${others} waited already`)
      if (own !== "-s") {
        expect(others > 0 || resting || after.leases.size >= slots, "I7: a slot was free and nobody waited")
      }
      const network = args[6] ?? ""
      if (own === undefined) {
        expect(others >= maxLength || crowded(after, network, maxLength, share), `only ${others} wait`)
      } else if (own === "-w") {
        // as it was without the newcomer
        const tickets = new Map(after.tickets)
        const waiting = new Map(after.waiting)
        tickets.delete(args[0] ?? "")
        waiting.delete(args[0] ?? "")
        expect(
          !crowded({ ...after, tickets, waiting }, network, maxLength, share),
          `${network} had its share of places`,
        )
      }
      break
    }
    case "start":
      if (said === "starting") {
        expect(own === "cs" && text(result[1]) === after.tickets.get(args[0] ?? "")?.lease, `the ticket went ${own}`)
      }
      break
    case "bind":
      if (said === "live") {
        const ticket = after.tickets.get(args[0] ?? "")
        expect(ticket?.state === "l" && ticket.lease === args[1], "I8: the ticket is not live under this lease")
      }
      expect((said === "ended") === (own === "sF" || own === "wF"), `the ticket went ${own}`)
      break
    case "end":
      expect((said === "released") === [...moves.values()].includes("lE"), "I6: that is not what happened")
      break
    case "alias": {
      const ticket = step.before.sessions.get(args[0] ?? "")
      if (ticket === undefined) {
        expect(said === "stale", "the known session does not run")
        break
      }
      expect(said === (heardEarly(step) ? "ended" : "kept"), `the end was ${heardEarly(step) ? "" : "not "}told before`)
      if (said === "kept") {
        const { s }: { s: ReadonlyArray<string> } = JSON.parse(after.data.get(ticket) ?? '{"s":[]}')
        const kept = (id: string): boolean => after.sessions.get(id) === ticket && s.includes(id)
        expect(furtherIds(step).every(kept), "an id was not kept")
      }
      break
    }
    case "clear":
      if (said === "1") expect(moves.size === 0, "it was served")
      else expect(Number(result[2]) === [...moves.values()].filter((move) => move.endsWith("X")).length, "not so many")
      break
    case "leave":
      expect((said === "left") === (own === "wL" || own === "cL"), `the ticket went ${own}`)
  }
}

/** What a step did that it may not do; `seen` is told each move of a ticket, as `script from to`. */
export const trespasses = (step: Carried, seen: (move: string) => void): ReadonlyArray<string> => {
  const wrong: Array<string> = []
  const moves = new Map<string, string>()
  for (const id of new Set([...step.before.tickets.keys(), ...step.after.tickets.keys()])) {
    const was = step.before.tickets.get(id)
    const is = step.after.tickets.get(id)
    if (was?.state === is?.state && was?.lease === is?.lease) continue
    const move = (was?.state ?? "-") + (is?.state ?? "-")
    moves.set(id, move)
    seen(`${step.name} ${move}`)
    const allowed = id.startsWith("?") ? DOUBTS[move]?.includes(step.name) : rules[step.name]?.(step, id, move, was)
    if (allowed !== true) wrong.push(`${step.name} moved ${id} from ${move[0]} to ${move[1]}`)
  }
  if ((step.after.meta.get("avg") ?? 0) < 0) wrong.push("calls last less than no time")
  presence(step, wrong)
  leases(step, wrong)
  rest(step, wrong)
  answer(step, moves, wrong)
  return wrong
}

/** The settlements and signals of a reply, written as the checker expects them. */
export const left = (reply: Reply) => {
  const [result, signals, settlements] = list(reply)
  const written = (all: Reply | undefined, order: (parts: ReadonlyArray<string>) => string): ReadonlyArray<string> =>
    list(all).map((each) => order(list(each).map(text)))
  return {
    result: list(result),
    signals: written(signals, (parts) => parts.join(" ")),
    settlements: written(settlements, (parts) => parts.join(" ")),
  }
}
