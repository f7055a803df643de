/**
 * Checks that a step was allowed to do what it did: for each rule, which tickets it may move, from which state to
 * which, and what must have been true. It judges by the rule's input and the store's state before, never by the rule's
 * code.
 */

import type { StepAnswer } from "../../src/fifo-queue/answers.ts"
import { DOUBT_MILLIS, LIMITED_LONGEST_MILLIS, START_LEASE_MILLIS, shareOf } from "../../src/fifo-queue/bounds.ts"
import { MAX_DISRUPTED_MILLIS, UNPAID_MILLIS } from "../../src/fifo-queue/rules/fail.ts"
import { earlyMillis } from "../../src/fifo-queue/rules/shared/ending.ts"
import { DEAD_MILLIS, MAX_EXCUSED_TURNS } from "../../src/fifo-queue/rules/shared/outage.ts"
import { MAX_UNPAID } from "../../src/fifo-queue/rules/shared/own-budgets.ts"
import { isPaid } from "../model/awaited.ts"
import { wrongEnd } from "../model/ends.ts"
import { isAbsent } from "../model/invariants.ts"
import { settlementText, signalText } from "../model/obligations.ts"
import type { QueueState, Record } from "../model/queue-state.ts"
import { isMissed, turnAfter } from "./anew.ts"
import type { Carried } from "./carried.ts"
import { type Move, type Name, said, ticketOf } from "./did.ts"
import { presence } from "./presence.ts"

/** The maximum backoff of a platform at capacity (ms), and the maximum while no call runs. */
const MOST_REST = 60_000
const MOST_REST_IDLE = 5_000

/** What calling the next ticket may do to any ticket. */
const called = (step: Carried, id: string, move: Move): boolean =>
  move === (!step.unattended && isAbsent(step.before, id, step) ? "waiting→abandoned" : "waiting→called")

const deadline = ({ before }: Carried, id: string): number => before.leases.get(id) ?? 0

/** A call that ends at its own time limit, or a little before by the clock of who reports it. */
const EARLY_MILLIS = 2_000

/** How a call ends whose end is reported. */
const ends = ({ before, now }: Carried, id: string): Move => {
  const { endsAt = 0, spent = false } = before.tickets.get(id) ?? {}
  if (endsAt === 0 || endsAt - EARLY_MILLIS > now) return "live→ended"
  return spent ? "live→budget" : "live→too_long"
}

/** The ticket of the session that an end names. */
const endedTicket = ({ before, call: { sessions } }: Carried<"end">): string | undefined =>
  sessions.map((session) => before.sessions.get(session)).find((ticket) => ticket !== undefined)

/** Whether an alias names a new id whose end was already reported. */
const heardEarly = ({ before, call: { further }, ended }: Carried<"alias">): boolean =>
  further.some((session) => !before.sessions.has(session) && ended.has(session))

const isDisrupted = ({ before }: Carried): boolean => before.meta.get("disrupted") === 1

/** While the platform cannot be reached, the ticket waits again when its turn passes, so many times in a row. */
const isExcused = (step: Carried, id: string): boolean =>
  isDisrupted(step) && (step.before.tickets.get(id)?.excusedTurns ?? 0) < MAX_EXCUSED_TURNS

/** The turn of a called ticket passes. */
const turnPasses = (step: Carried, id: string, move: Move): boolean =>
  isMissed(step, id) && move === (isExcused(step, id) ? "called→waiting" : "called→missed")

/** An ended ticket is forgotten after its retention. */
const forgotten = (step: Carried, id: string): boolean => (step.before.forget.get(id) ?? 0) < step.now

const oneOf = (move: Move, ...moves: ReadonlyArray<Move>): boolean => moves.includes(move)

/** Whether a report names the start that this ticket carried out last. */
const namesStart = ({ call: { starts = [] } }: Carried<"reportOutage">, id: string, was: Record): boolean =>
  starts.some((start) => start.id === id && start.attempt === was.attempt)

/** A start that its gate has given up: the ticket is called again, in the same slot. */
const isTakenBack = (step: Carried<"reportOutage">, id: string, was: Record): boolean =>
  namesStart(step, id, was) && step.after.tickets.get(id)?.lease === was.lease

type Permission<N extends Name> = (step: Carried<N>, id: string, move: Move, was: Record | undefined) => boolean

/** Which moves of a ticket each rule may make; no others are allowed. */
const permissions: { readonly [N in Name]?: Permission<N> } = {
  admit: (step, id, move) =>
    called(step, id, move) || (id === step.call.id && oneOf(move, "none→waiting", "none→starting")),
  start: (step, id, move) => {
    const { result } = step
    if (id !== step.call.id) return result._tag === "ended" && result.state === "missed" && called(step, id, move)
    return move === (isMissed(step, id) && !isDisrupted(step) ? "called→missed" : "called→starting")
  },
  heartbeat: (step, id, move) =>
    step.call.ids.includes(id) && move !== "waiting→called" ? turnPasses(step, id, move) : called(step, id, move),
  attach: (step, id, move) => (id === step.call.id ? turnPasses(step, id, move) : called(step, id, move)),
  bind: (step, id, move, was) => {
    const { lease, sessions } = step.call
    const heard = sessions.some((session) => step.ended.has(session))
    const doubt = step.before.tickets.get(`?${lease}`)?.state === "doubt"
    const reached = step.before.meta.has("disrupted") || step.before.meta.has("probeUntil")
    if (id !== step.call.id) return (heard || doubt || reached) && called(step, id, move)
    return was?.lease === lease && move === `${doubt ? "waiting" : "starting"}→${heard ? "failed" : "live"}`
  },
  fail: (step, id, move, was) => {
    const { id: ticket, lease, reason } = step.call
    // refused: its caller's fault, or everybody is refused
    const alone = reason === "answered" || reason === "rejected" || reason === "doubt" || reason === "refused"
    const fails = reason === "failed"
    // reported only after its deadline: the doubt is resolved
    const decides = reason !== "doubt" && step.before.tickets.get(`?${lease}`)?.state === "doubt"
    if (decides) return called(step, id, move)
    // of the caller's own budget: others are called
    const isOwn = reason === "unpaid" && step.call.until !== undefined
    if (id !== ticket) return (fails || alone || isOwn) && called(step, id, move)
    if (isOwn && move === "starting→budget") return was?.lease === lease && step.before.unpaid.size >= MAX_UNPAID
    return (
      was?.lease === lease &&
      (move === (fails ? (step.call.spent === true ? "starting→budget" : "starting→failed") : "starting→waiting") ||
        (alone && move === "starting→failed"))
    )
  },
  awaitBudget: (step, id, move) =>
    id === step.call.id && move === "waiting→budget" && step.before.unpaid.size >= MAX_UNPAID,
  pay: called,
  resolve: (step, id, move) => step.result !== "open" && called(step, id, move),
  alias: (step, id, move) => {
    if (id !== step.before.sessions.get(step.call.known)) return step.result === "ended" && called(step, id, move)
    return move === ends(step, id) && heardEarly(step)
  },
  end: (step, id, move) =>
    id === endedTicket(step) ? move === ends(step, id) : endedTicket(step) !== undefined && called(step, id, move),
  leave: (step, id, move) =>
    id === step.call.id ? oneOf(move, "waiting→left", "called→left") : step.result === "left" && called(step, id, move),
  withdraw: (step, id, move) =>
    step.call.ids.includes(id) ? oneOf(move, "waiting→left", "called→left", "starting→left") : called(step, id, move),
  reportOutage: (step, id, move, was) =>
    move === "starting→called"
      ? was !== undefined && isTakenBack(step, id, was)
      : step.call.ids?.includes(id) === true && oneOf(move, "waiting→left", "called→left", "starting→left"),
  clear: (step, id, move) => {
    if (oneOf(move, "starting→waiting", "live→reclaimed")) return deadline(step, id) < step.now
    if (move.endsWith("→none")) return forgotten(step, id)
    return step.unserved && oneOf(move, "waiting→removed", "called→removed")
  },
  sweep: (step, id, move) => {
    const isClosed = step.call.hours?._tag === "closed"
    if (move === "waiting→closed") return isClosed
    // it waits again, and its wait ends in the same step
    if (move === "called→closed") return isClosed && turnPasses(step, id, "called→waiting")
    if (move === "starting→closed") return isClosed && deadline(step, id) < step.now
    if (oneOf(move, "called→missed", "called→waiting")) return turnPasses(step, id, move)
    if (oneOf(move, "starting→waiting", "live→reclaimed")) return deadline(step, id) < step.now
    if (move.endsWith("→none")) return forgotten(step, id)
    return called(step, id, move)
  },
}

/** Whether a doubt may go: a report of an outage drops only those of starts that it takes back. */
const isPermittedDoubt = (step: Carried, move: Move, was: Record | undefined): boolean => {
  if (DOUBTS[move]?.includes(step.name) !== true) return false
  if (step.name !== "reportOutage") return true
  const ticket = step.before.tickets.get(was?.ticket ?? "")
  return ticket !== undefined && ticket.lease === was?.lease && namesStart(step, was.ticket, ticket)
}

const isPermitted = <N extends Name>(step: Carried<N>, id: string, move: Move, was: Record | undefined): boolean => {
  const permission: Permission<N> | undefined = permissions[step.name]
  return permission?.(step, id, move, was) === true
}

/** What may become of a start in doubt, and by which rules. */
const DOUBTS: { readonly [M in Move]?: ReadonlyArray<Name> } = {
  "none→doubt": ["fail", "sweep", "clear"],
  "doubt→live": ["resolve", "bind"],
  "doubt→failed": ["bind"],
  "doubt→none": ["resolve", "sweep", "clear", "bind", "fail", "reportOutage"],
  "live→ended": ["end", "alias"],
  "live→budget": ["end", "alias"],
  "budget→none": ["sweep", "clear"],
  "live→reclaimed": ["sweep", "clear"],
  "ended→none": ["sweep", "clear"],
  "failed→none": ["sweep", "clear"],
  "reclaimed→none": ["sweep", "clear"],
}

const leases = (step: Carried, wrong: Array<string>): void => {
  const longest: { readonly [state: string]: number } = {
    called: step.windowMillis,
    starting: START_LEASE_MILLIS,
    live: step.callMillis,
    doubt: DOUBT_MILLIS,
  }
  for (const [id, until] of step.after.leases) {
    const is = step.after.tickets.get(id)
    const was = step.before.tickets.get(id)
    const began = was?.state === "called" || (was?.state === "starting" && step.name === "reportOutage")
    const remains = is?.state === "called" && began && is.lease === was.lease
    if (!remains && until === step.before.leases.get(id)) continue
    const turn = turnAfter(step, id)
    if (remains && is.since !== turn.since)
      wrong.push(`the turn of ${id} lasts since ${is.since}, not since ${turn.since}`)
    // if its gate's clock lags, a start gets its full time counted from the latest sweep
    const by = is?.state === "starting" ? step.lastSwept - step.now : 0
    const from = step.now + (by > 0 && by <= DEAD_MILLIS ? by : 0)
    // the gate has time to end a call at its own limit
    const limited =
      is?.state === "live" && is.endsAt > 0 ? (is.spent ? is.limitedAt : is.endsAt) + earlyMillis(step.callMillis) : 0
    // a platform that ends calls by itself has ended it by then
    const ended =
      step.name === "bind" && is?.state === "live"
        ? (step.call.heldUntil ?? Number.POSITIVE_INFINITY)
        : Number.POSITIVE_INFINITY
    const most = remains ? turn.ends : Math.max(limited, Math.min(ended, from + (longest[is?.state ?? ""] ?? 0)))
    if (until !== most) wrong.push(`I4: the lease of ${id} ends at ${until}, not at ${most}`)
  }
}

const rest = (step: Carried, wrong: Array<string>): void => {
  const { after, before, name, now } = step
  const until = after.meta.get("backoffUntil") ?? 0
  const was = before.meta.get("backoffUntil") ?? 0
  const failed = step.name === "fail" && step.result._tag === "waiting" ? step.call : undefined
  const limited = failed?.reason === "limited" || failed?.reason === "elsewhere"
  if (until > was) {
    const runs = [...after.tickets.values()].some(({ state }) => state === "live")
    const full = failed?.reason === "capacity" && until <= now + (runs ? MOST_REST : MOST_REST_IDLE)
    const disrupted = failed?.reason === "disrupted" && until <= now + MAX_DISRUPTED_MILLIS
    // also when the ticket has failed, because it alone is refused
    const isRejection = step.name === "fail" && (step.call.reason === "rejected" || step.call.reason === "refused")
    const rejected = isRejection && until <= now + MAX_DISRUPTED_MILLIS
    // budgets may have time again at once; a gate with other settings does not know what they lack
    const unpaid = failed?.reason === "unpaid" && until <= now + UNPAID_MILLIS
    if (!full && !limited && !disrupted && !rejected && !unpaid)
      wrong.push(`I7: ${name} lets the campaign back off until ${until}`)
  }
  if (limited) {
    // as long as the platform asks, up to a bound; a running backoff is not changed
    const asked = Math.max(1, failed?.millis ?? Number.NaN)
    const due = was > now ? was : now + Math.min(asked, LIMITED_LONGEST_MILLIS)
    if (until !== due) wrong.push(`I7: a limit of the key lets the campaign back off until ${until}, not until ${due}`)
    if (after.meta.get("backoffs") !== before.meta.get("backoffs"))
      wrong.push("a limit of the key counts as a platform at capacity")
  }
  const ended =
    (step.name === "end" && step.result === "released") || (step.name === "alias" && step.result === "ended")
  if (ended && until !== 0) wrong.push("I7: a session ended and the backoff did not")
}

/** Whether a network has as many places as it may have of a queue that is half full. */
const crowded = (state: QueueState, network: string, longest: number, share: number): boolean => {
  const free = longest - state.waiting.size
  const has = [...state.tickets.values()].filter((t) => t.state === "waiting" && t.network === network).length
  return network !== "" && share < 1 && state.waiting.size >= free && has >= shareOf(share, free)
}

/** The answer agrees with what was done. */
const answer = (step: Carried, moves: ReadonlyMap<string, Move>, wrong: Array<string>): void => {
  const { after, maxLength, name, share, slots } = step
  const ticket = ticketOf(step)
  const answered = said(step.result)
  const own = moves.get(ticket)
  const expect = (when: boolean, what: string): void => {
    if (!when) wrong.push(`${name} answered ${answered}: ${what}`)
  }
  const probing = after.meta.has("disrupted") && (after.meta.get("probeUntil") ?? 0) > step.now
  const resting = probing || (after.meta.get("backoffUntil") ?? 0) > step.now || !isPaid(step.paid, after)
  switch (step.name) {
    case "admit": {
      if (step.late) {
        expect(own === undefined && answered === "draining", `the ticket was withdrawn, and went ${own}`)
        break
      }
      expect(
        answered === (own === "none→starting" ? "starting" : own === "none→waiting" ? "waiting" : "full"),
        `the ticket went ${own}`,
      )
      const others = after.waiting.size - (own === "none→waiting" ? 1 : 0)
      // W5: newcomers do not wait for those who wait for budgets of their own
      const before = others - after.unpaid.size
      if (own === "none→waiting") expect(others < maxLength, `${others} waited already`)
      if (own !== "none→starting") {
        // after a refusal at capacity, few more are tried than the platform has let start
        const [limit = 0, tries = 0] = [after.meta.get("platformLimit"), after.meta.get("platformTries")]
        const most = tries > 0 ? Math.min(slots, limit + tries) : slots
        expect(before > 0 || resting || after.leases.size >= most, "I7: a slot was free and nobody waited")
      }
      const network = step.call.network ?? ""
      if (own === undefined) {
        expect(others >= maxLength || crowded(after, network, maxLength, share), `only ${others} wait`)
      } else if (own === "none→waiting") {
        // the state without the newcomer
        const tickets = new Map(after.tickets)
        const waiting = new Map(after.waiting)
        tickets.delete(ticket)
        waiting.delete(ticket)
        expect(
          !crowded({ ...after, tickets, waiting }, network, maxLength, share),
          `${network} had its share of places`,
        )
      }
      break
    }
    case "start":
      if (step.result._tag === "starting") {
        const { lease } = step.result
        expect(own === "called→starting" && lease === after.tickets.get(ticket)?.lease, `the ticket went ${own}`)
      }
      break
    case "bind":
      if (answered === "live") {
        const is = after.tickets.get(ticket)
        expect(is?.state === "live" && is.lease === step.call.lease, "I8: the ticket is not live under this lease")
      }
      expect(
        (answered === "ended") === (own === "starting→failed" || own === "waiting→failed"),
        `the ticket went ${own}`,
      )
      break
    case "end":
      expect(
        (answered === "released") ===
          [...moves.values()].some((move) => oneOf(move, "live→ended", "live→too_long", "live→budget")),
        "I6: that is not what happened",
      )
      wrong.push(...wrongEnd(step))
      break
    case "alias": {
      const known = step.before.sessions.get(step.call.known)
      if (known === undefined) {
        expect(answered === "stale", "the known session does not run")
        break
      }
      const early = heardEarly(step)
      expect(answered === (early ? "ended" : "kept"), `the end was ${early ? "" : "not "}told before`)
      if (answered === "kept") {
        const sessions = after.tickets.get(known)?.sessions ?? []
        const kept = (id: string): boolean => after.sessions.get(id) === known && sessions.includes(id)
        expect(step.call.further.every(kept), "an id was not kept")
      }
      break
    }
    case "clear": {
      const sent = [...moves.values()].filter((move) => move.endsWith("→removed")).length
      if (step.result._tag === "served") expect(moves.size === 0, "it was served")
      else expect(step.result.sent === sent, "not so many")
      break
    }
    case "leave":
      expect((answered === "left") === (own === "waiting→left" || own === "called→left"), `the ticket went ${own}`)
  }
}

/** What a step did without being allowed to; `seen` is called with each move of a ticket, after the rule's name. */
export const trespasses = (step: Carried, seen: (move: string) => void): ReadonlyArray<string> => {
  const wrong: Array<string> = []
  const moves = new Map<string, Move>()
  for (const id of new Set([...step.before.tickets.keys(), ...step.after.tickets.keys()])) {
    const was = step.before.tickets.get(id)
    const is = step.after.tickets.get(id)
    if (was?.state === is?.state && was?.lease === is?.lease) continue
    const move: Move = `${was?.state ?? "none"}→${is?.state ?? "none"}`
    moves.set(id, move)
    seen(`${step.name} ${move}`)
    const allowed = id.startsWith("?") ? isPermittedDoubt(step, move, was) : isPermitted(step, id, move, was)
    if (!allowed) wrong.push(`${step.name} moved ${id} from ${was?.state ?? "nowhere"} to ${is?.state ?? "nowhere"}`)
  }
  if ((step.after.meta.get("averageMillis") ?? 0) < 0) wrong.push("calls last less than no time")
  presence(step, wrong)
  leases(step, wrong)
  rest(step, wrong)
  answer(step, moves, wrong)
  return wrong
}

/** The settlements and signals of an answer, in the checker's format. */
export const left = ({ settlements = [], signals = [] }: StepAnswer<unknown>) => ({
  signals: signals.map(signalText),
  settlements: settlements.map(settlementText),
})
