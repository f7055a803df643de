/** The operator's side of a campaign's queue: the scripts of `console.ts` with typed arguments and answers. */
import type { Effect } from "effect"
import type { At, Stepped } from "../FifoQueue.ts"
import type { StoreUnavailable } from "../Session.ts"
import type { Reply, Script } from "../Store.ts"
import { integer, list, text } from "../store/reply.ts"
import { callOne, endLease, look, remove, trail, turn } from "./console.ts"

/** The most rows of one page. */
export const PAGE_MAX = 100

/** A held slot. Times in ms since 1970; `acceptedAt` is 0 where the record does not say. */
export interface HeldSlot {
  /** a short hash of the ticket, never its id */
  readonly ticket: string
  /** `in_doubt`: its start may have happened */
  readonly state: "called" | "starting" | "live" | "in_doubt"
  readonly lease: string
  readonly since: number
  readonly deadline: number
  readonly acceptedAt: number
  /** whether a push channel of it was ever open */
  readonly attached: boolean
}

/** A waiting ticket; `seq` is its place for good, `presentUntil` when it is given up unless it shows up. */
export interface WaitingTicket {
  readonly ticket: string
  readonly seq: number
  readonly acceptedAt: number
  readonly presentUntil: number
}

export interface Look {
  readonly waiting: number
  /** those of them whose grace has not passed */
  readonly present: number
  readonly held: number
  readonly live: number
  readonly averageMillis: number
  /** 0, or when the back-off of a full or unreachable platform ends (ms) */
  readonly restUntil: number
  /** the platform cannot be reached: one ticket at a time is called to find out */
  readonly disrupted: boolean
  /** 0, or until when nobody else is called to find out (ms) */
  readonly probeUntil: number
  /** slots held for starts that may have happened */
  readonly doubts: number
  readonly paused: boolean
  readonly draining: boolean
  /** tickets accepted since the store began */
  readonly accepted: number
  /** when the first in line came (ms); 0 when nobody waits */
  readonly firstAcceptedAt: number
  readonly slotPage: ReadonlyArray<HeldSlot>
  readonly linePage: ReadonlyArray<WaitingTicket>
}

export interface Pages {
  readonly firstSlot: number
  readonly slots: number
  readonly firstPlace: number
  readonly places: number
}

export type Switch = "pause" | "resume" | "drain" | "reopen"

/** What came of an action, and the short hash of the ticket concerned, or `-`. */
export interface Done<Result extends string> {
  readonly result: Result
  readonly ticket: string
}

/** One line of the trail. `target` is a ticket's short hash, `#` and the number of what was gone already, or `-`. */
export interface TrailLine {
  readonly n: number
  readonly at: number
  readonly who: string
  readonly action: string
  readonly target: string
  readonly result: string
}

type Step<A> = Effect.Effect<Stepped<A>, StoreUnavailable>

export interface OperatorQueue {
  /** Figures and pages of one moment; pages have at most `PAGE_MAX` rows. */
  readonly look: (at: At, pages: Pages) => Step<Look>
  readonly turn: (at: At, who: string, action: Switch) => Step<Done<"done" | "already">>
  /** Calls the oldest waiting ticket to a free slot, whatever back-off or pause says. */
  readonly callOne: (at: At, who: string) => Step<Done<"called" | "no_slot" | "nobody" | "more">>
  readonly remove: (at: At, who: string, seq: number) => Step<Done<"removed" | "gone">>
  /** `deadline` as it was seen: a lease that has moved on since is left alone. */
  readonly endLease: (at: At, who: string, lease: string, deadline: number) => Step<Done<"ended" | "gone">>
  /** A page of the trail, the newest first, and how many lines there are. */
  readonly trail: (
    at: At,
    first: number,
    most: number,
  ) => Step<{ readonly total: number; readonly lines: ReadonlyArray<TrailLine> }>
}

/** Runs a script on the campaign's operator keys. */
export type RunStep = <A>(
  script: Script,
  at: At,
  args: () => ReadonlyArray<string | number>,
  read: (result: ReadonlyArray<Reply>) => A,
) => Step<A>

const states: Readonly<Record<string, HeldSlot["state"]>> = {
  c: "called",
  s: "starting",
  l: "live",
  u: "in_doubt",
}

const heldOf = (row: Reply): HeldSlot => {
  const [ticket, state, lease, since, deadline, acceptedAt, attached] = list(row)
  const name = states[text(state)]
  if (name === undefined) throw new TypeError(`a lease is in the state ${JSON.stringify(state)}`)
  return {
    ticket: text(ticket),
    state: name,
    lease: text(lease),
    since: integer(since),
    deadline: integer(deadline),
    acceptedAt: integer(acceptedAt),
    attached: attached === 1,
  }
}

const waitingOf = (row: Reply): WaitingTicket => {
  const [ticket, seq, acceptedAt, presentUntil] = list(row)
  return {
    ticket: text(ticket),
    seq: integer(seq),
    acceptedAt: integer(acceptedAt),
    presentUntil: integer(presentUntil),
  }
}

const lookOf = ([figures, slots, line]: ReadonlyArray<Reply>): Look => {
  const [waiting, present, held, live, averageMillis, restUntil, paused, draining, ...rest] = list(figures)
  const [accepted, first, disrupted, probeUntil, doubts] = rest
  return {
    waiting: integer(waiting),
    present: integer(present),
    held: integer(held),
    live: integer(live),
    averageMillis: integer(averageMillis),
    restUntil: integer(restUntil),
    disrupted: disrupted === 1,
    probeUntil: integer(probeUntil),
    doubts: integer(doubts),
    paused: paused === 1,
    draining: draining === 1,
    accepted: integer(accepted),
    firstAcceptedAt: integer(first),
    slotPage: list(slots).map(heldOf),
    linePage: list(line).map(waitingOf),
  }
}

const lineOf = (line: Reply): TrailLine => {
  const [n = "", at = "", who = "", action = "", target = "", result = ""] = text(line).split(" ")
  return { n: integer(n), at: integer(at), who, action, target, result }
}

/** One word, since the trail's lines are words. */
const word = (who: string): string => who.replace(/\s+/g, "_").slice(0, 64) || "-"

const doneOf =
  <const R extends string>(results: ReadonlyArray<R>) =>
  ([result, ticket]: ReadonlyArray<Reply>): Done<R> => {
    const found = results.find((each) => each === result)
    if (found === undefined) throw new TypeError(`a script answered the unknown result ${JSON.stringify(result)}`)
    return { result: found, ticket: ticket === undefined ? "-" : text(ticket) }
  }

const page = (count: number): number => Math.max(0, Math.min(PAGE_MAX, count))

export const makeOperatorQueue = (step: RunStep): OperatorQueue => ({
  look: (at, { firstPlace, firstSlot, places, slots }) =>
    step(look, at, () => [firstSlot, page(slots), firstPlace, page(places)], lookOf),
  turn: (at, who, action) => step(turn, at, () => [word(who), action], doneOf(["done", "already"])),
  callOne: (at, who) => step(callOne, at, () => [word(who)], doneOf(["called", "no_slot", "nobody", "more"])),
  remove: (at, who, seq) => step(remove, at, () => [word(who), seq], doneOf(["removed", "gone"])),
  endLease: (at, who, lease, deadline) =>
    step(endLease, at, () => [word(who), lease, deadline], doneOf(["ended", "gone"])),
  trail: (at, first, most) =>
    step(
      trail,
      at,
      () => [first, page(most)],
      ([total, lines]) => ({ total: integer(total), lines: list(lines).map(lineOf) }),
    ),
})
