/**
 * The end of every scenario: the queue drains, every slot is free, and what callers, platform and store saw is checked
 * together against the invariants I1 to I8 of the design.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { CIRCUIT_OPEN_MILLIS } from "../../../src/platform-api/requests/circuit.ts"
import { ask, field } from "../../harness/http.ts"
import { eventually } from "../../harness/process.ts"
import { type GrantedSlot, orderViolations } from "../../model/order.ts"
import { isDrained, notOver } from "../../model/over.ts"
import { isDoubt, type QueueState } from "../../model/queue-state.ts"
import { type Caller, sessionOf } from "./caller.ts"
import type { Rig } from "./rig.ts"

/** What the store itself lost, so that the checks cannot require it. */
export interface Allowed {
  /** its last writes: tickets called, bound or ended then may be called, bound or missed again */
  readonly rollback?: boolean
  /** everything */
  readonly emptied?: boolean
  /**
   * starts fail without ending their tickets: these are called again, and those behind them move back by at most as
   * many
   */
  readonly putBack?: boolean
  /** callers whose start was under way when the store was killed: its answer may be lost, and these are called again as above */
  readonly unanswered?: ReadonlySet<Caller>
  /** callers who wait for budgets of their own: others are called before them, and they return to their places before others */
  readonly passedOver?: ReadonlySet<Caller>
  /** outcomes besides `talked` that the fault may cause */
  readonly outcomes: ReadonlyArray<string>
}

export interface Verdict {
  readonly wrongs: ReadonlyArray<string>
  readonly outcomes: ReadonlyMap<string, number>
  readonly troubles: ReadonlyMap<string, number>
  /** the most sessions at once on the platform, those with a talking caller, and leases in the store */
  readonly platformPeak: number
  readonly talkPeak: number
  readonly leasePeak: number
  /** ms until everything had ended and all slots were free */
  readonly drained: number
}

/** Callers need not have been present when the test's own process was stalled for this long. */
const STALLED_MILLIS = 2_000

const count = <A>(all: Iterable<A>, key: (one: A) => string): ReadonlyMap<string, number> => {
  const found = new Map<string, number>()
  for (const one of all) found.set(key(one), (found.get(key(one)) ?? 0) + 1)
  return found
}

export const inWords = (counts: ReadonlyMap<string, number>): string =>
  [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, n]) => `${n} ${name}`)
    .join(", ")

/** Everything has ended in the store and on the platform. */
const drain = async (rig: Rig): Promise<QueueState> => {
  let state: QueueState | undefined
  const summary = (): string =>
    state === undefined
      ? "the store does not answer"
      : `${state.waiting.size} wait, ${state.leases.size} leases, ${state.settlements.size} owed, ${state.sessions.size} session ids, ` +
        `live ${state.meta.get("live")}, platform ${rig.platform.running()} running, ${rig.platform.untold()} untold`
  await eventually(
    "the queue drains",
    async () => {
      state = await rig.view.look()
      const { platform } = rig
      const empty =
        state !== undefined &&
        isDrained(state) &&
        state.sessions.size + state.presence.size === 0 &&
        platform.running() === 0 &&
        platform.untold() === 0
      if (!empty) throw new Error(summary())
      return true
    },
    120_000,
  )
  if (state === undefined) throw new Error("unreachable")
  return state
}

/** The slots that the store's own record says were given, but for those of tickets that were requeued and called again. */
const slotsGiven = ({ tickets }: QueueState, again: (ticket: string) => boolean): ReadonlyArray<GrantedSlot> =>
  [...tickets]
    .filter(([id, { lease }]) => lease !== "" && !isDoubt(id) && !again(id))
    // without shares of networks, when they were held is of no importance
    .map(([, { lease, seq }]) => ({ lease: Number(lease), seq, network: "", from: 0, until: 0 }))

/**
 * I2 and I5 as callers saw them: nobody moves back except behind `back` tickets requeued after a failed start, and
 * nobody is called twice except after a failed start or to report a renewed window.
 */
const asCallersSaw = (
  callers: ReadonlyArray<Caller>,
  windowsAnew: boolean,
  again: (ticket: string) => boolean,
  back: number,
): ReadonlyArray<string> => {
  const wrongs: Array<string> = []
  for (const { calls, name, positions, putBack, ticket = "" } of callers) {
    if (putBack && !again(ticket)) wrongs.push(`I5: caller ${name} was put back after its call`)
    if (calls.size > 1 && !windowsAnew && !again(ticket)) {
      wrongs.push(`I5: caller ${name} was called ${calls.size} times`)
    }
    for (const [i, { position }] of positions.entries()) {
      const before = positions[i - 1]
      if (before !== undefined && position > before.position + back) {
        wrongs.push(`I2: caller ${name} went from position ${before.position} back to ${position}`)
      }
    }
  }
  return wrongs
}

/**
 * Exactly as many slots are free as there are: as many concurrent requests start, and one more waits. A gate that was
 * stalled blames the platform for what it missed and backs off: that is waited for.
 */
const allFree = async (rig: Rig): Promise<ReadonlyArray<string>> => {
  for (let left = 3; ; left--) {
    const wrongs = await takeAll(rig)
    if (wrongs.length === 0 || left === 0) return wrongs
    await drain(rig)
    await sleep(CIRCUIT_OPEN_MILLIS)
  }
}

const takeAll = async (rig: Rig): Promise<ReadonlyArray<string>> => {
  const { platform, seats } = rig
  const { campaign: campaignId, ends, slots } = rig.options
  const request = (n: number) =>
    ask("POST", `${seats[n % seats.length]?.url}/api/session/request`, {
      headers: { "x-forwarded-for": `198.19.1.${n + 1}` },
      body: { campaignId, clientIdentifier: `last-${n}` },
    })
  const answers = await Promise.all(Array.from({ length: slots + 1 }, (_, n) => request(n)))
  const statuses = count(answers, (answer) => [answer.status, field(answer, "code")].join(" ").trim())
  for (const answer of answers) {
    const session = answer.status === 200 ? sessionOf(answer) : undefined
    const { url = "" } = seats[0] ?? {}
    const leave = () => ask("DELETE", `${url}/api/session/${field(answer, "uniqueRequestId")}`)
    if (session !== undefined) void platform.talk(session, 50).then(() => (ends === "page" ? leave() : undefined))
    if (answer.status === 202) await leave()
  }
  return statuses.get("200") === slots && statuses.get("202") === 1
    ? []
    : [`I4: of ${slots + 1} requests at the end: ${inWords(statuses)}, with ${slots} slots`]
}

/** What no gate may ever write: a stack, a request or loop that failed for an unknown reason, keys of several hash slots, or that its Cluster is none. */
const SUSPICIOUS =
  /^\s+at .+:\d+|CROSSSLOT|is a node of a Cluster|A request failed|The (sweep|tick|audit) failed|nhandled|answered something else/m

/** Output of gates that is not allowed: see above, and ticket ids. */
const logs = ({ crowds, seats }: Rig): ReadonlyArray<string> => {
  const tickets = new Set(crowds.flatMap(({ callers }) => callers.flatMap(({ ticket }) => ticket ?? [])))
  return seats
    .flatMap((seat) => seat.outputs())
    .flatMap((output) => {
      const leaked = (output.match(/[A-Za-z0-9_-]{26}/g) ?? []).find((word) => tickets.has(word))
      const found = SUSPICIOUS.exec(output)
      return [
        ...(leaked === undefined ? [] : [`a gate wrote the ticket ${leaked}`]),
        ...(found === null ? [] : [`a gate wrote: ${output.slice(Math.max(0, found.index - 600), found.index + 900)}`]),
      ]
    })
}

/** The peak values, in words. */
export const peaksInWords = ({ leasePeak, platformPeak, talkPeak }: Verdict, { options, stalled }: Rig): string => {
  const still = stalled() > 500 ? `; this machine itself stood still for up to ${Math.round(stalled())} ms` : ""
  return `of ${options.slots} slots at most ${leasePeak} were held, ${talkPeak} talked, ${platformPeak} sessions ran${still}`
}

/** Waits until everything has ended and checks it. Callers must have their outcomes. */
export const judge = async (rig: Rig, allowed: Allowed): Promise<Verdict> => {
  const asked = performance.now()
  const { platform, watch } = rig
  const callers = rig.crowds.flatMap((crowd) => crowd.callers)
  const wrongs = new Set<string>([...rig.wrongs, ...watch.wrongs()])
  const state = await drain(rig)
  const drained = performance.now() - asked
  const { passedOver = new Set(), unanswered = new Set() } = allowed
  const startedAgain = new Set([...unanswered].map(({ ticket }) => ticket))
  for (const [ticket, wrong] of watch.secondLeases()) if (!startedAgain.has(ticket)) wrongs.add(wrong)
  const { running: platformPeak, talking: talkPeak } = platform.peak()
  const leasePeak = watch.peak()

  // I3: one outcome each, and the store agrees
  const outcomes = count(callers, ({ outcome }) => outcome ?? "none")
  // a machine that stalls for seconds costs turns and places like any absence
  const excused = rig.stalled() > STALLED_MILLIS ? ["missed", "abandoned", "dead session"] : []
  for (const [outcome, n] of outcomes) {
    if (excused.includes(outcome)) continue
    if (outcome !== "talked" && !allowed.outcomes.includes(outcome))
      wrongs.add(`I3: ${n} callers ended as "${outcome}"`)
  }
  for (const wrong of notOver(state)) wrongs.add(wrong)
  if (!allowed.rollback && !allowed.emptied) {
    // a call that nobody has reported is over when the longest one has passed
    const over = rig.options.ends === "none" ? "reclaimed" : "ended"
    for (const caller of callers) {
      const end = caller.ticket === undefined ? undefined : state.tickets.get(caller.ticket)?.state
      if (caller.outcome === "talked" && end !== over)
        wrongs.add(`I3: caller ${caller.name} talked, its ticket is ${end}`)
    }
    const holders = new Map(callers.flatMap((caller) => (caller.ticket === undefined ? [] : [[caller.ticket, caller]])))
    const seen = watch.putBack()
    /** Whether a ticket was requeued and called again. Unknown if its holder never learnt of it. */
    const again = (ticket: string): boolean => {
      const holder = holders.get(ticket)
      if (startedAgain.has(ticket) || (holder !== undefined && passedOver.has(holder))) return true
      if (allowed.putBack !== true) return false
      return holder === undefined || holder.putBack || seen.has(ticket) || platform.failed.has(holder.attempt)
    }
    for (const wrong of orderViolations(slotsGiven(state, again), [], 0)) wrongs.add(wrong)
    const putBack = allowed.putBack === true ? rig.options.slots : Math.min(rig.options.slots, unanswered.size)
    const back = putBack + passedOver.size
    for (const wrong of asCallersSaw(callers, watch.windowsAnew(), again, back)) wrongs.add(wrong)
    // I5: one session per attempt, except sessions that the gates did not learn of and nobody has joined
    const attempts = new Set([...unanswered].map(({ attempt }) => attempt))
    const told = platform.sessions.filter(
      ({ attempt, joinedAt }) => joinedAt !== undefined || (allowed.putBack !== true && !attempts.has(attempt)),
    )
    for (const [attempt, n] of count(told, (session) => session.attempt)) {
      if (n > 1) wrongs.add(`I5: attempt ${attempt} was started ${n} times`)
    }
    if (platformPeak > rig.options.slots) wrongs.add(`I1: ${platformPeak} sessions ran, ${rig.options.slots} slots`)
    if (talkPeak > rig.options.slots) wrongs.add(`I1: ${talkPeak} talked at once, ${rig.options.slots} slots`)
  }
  for (const wrong of await allFree(rig)) wrongs.add(wrong)
  await drain(rig)
  for (const wrong of [...logs(rig), ...watch.wrongs()]) wrongs.add(wrong)
  const troubles = new Map<string, number>()
  for (const caller of callers)
    for (const [what, n] of caller.troubles) troubles.set(what, (troubles.get(what) ?? 0) + n)
  return { wrongs: [...wrongs], outcomes, troubles, platformPeak, talkPeak, leasePeak, drained }
}
