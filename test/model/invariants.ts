/**
 * What must hold in a campaign's data after every step (design, invariants I1 to I8), and from one step to the next.
 * Both functions return the violations as messages; empty when there are none.
 */
import { isKnownNumber, shareOf } from "../../src/fifo-queue/bounds.ts"
import { HOLD_INTERVAL_MILLIS, MAX_HOLD_MILLIS } from "../../src/fifo-queue/rules/shared/hold.ts"
import { RETENTION_MILLIS } from "../../src/fifo-queue/rules/shared/line.ts"
import { DEAD_MILLIS, MAX_EXCUSED_TURNS } from "../../src/fifo-queue/rules/shared/outage.ts"
import { LEARNED_MILLIS } from "../../src/fifo-queue/rules/shared/platform-limit.ts"
import { HELD } from "../../src/fifo-queue/rules/shared/presence.ts"
import { STALL_MILLIS } from "../../src/fifo-queue/rules/shared/stall.ts"
import { isOverdrawn, isPaid, wrongUnpaid } from "./awaited.ts"
import { type Change, isCalled, isTakenBack, newlyCalled, newlyOver, withdrawn } from "./change.ts"
import { movedLimits, unlimited } from "./lengths.ts"
import { isDoubt, type QueueState, type Record, TERMINAL } from "./queue-state.ts"

/** The states that hold a slot. */
const HOLDING: ReadonlySet<string> = new Set(["called", "starting", "live", "doubt"])

/** From each state, the states that one step may lead to; terminal ones lead nowhere. */
const NEXT: { readonly [state: string]: ReadonlyArray<string> } = {
  newcomer: ["waiting", "starting"],
  // to live when the answer of its start arrived late
  // to budget when too many wait for budgets of their own
  waiting: ["waiting", "called", "live", "abandoned", "left", "removed", "failed", "closed", "budget"],
  // called: to missed, or to waiting while the platform cannot be reached; a start and its failure are two steps
  called: ["called", "starting", "missed", "left", "removed", "waiting", "closed"],
  // to ended at once when the end was reported before the bind: that is a failed start
  // to left only if its caller never learnt of it; to called when its gate got no answer and takes the start back; to closed when it waits again
  // after the close
  // to budget when nothing is left for its call
  starting: ["starting", "live", "waiting", "failed", "left", "removed", "called", "closed", "budget"],
  // to starting and missed only while the offer of its page is awaited
  live: ["live", "ended", "reclaimed", "stopped", "silent", "too_long", "budget", "starting", "missed"],
  // of a start in doubt: its session runs, or had already ended
  doubt: ["doubt", "live", "failed", "reclaimed", "removed"],
}

const names = (map: ReadonlyMap<string, unknown>): string => [...map.keys()].toSorted().join(" ")
const haveSameNames = (a: ReadonlyMap<string, unknown>, b: ReadonlyMap<string, unknown>): boolean => {
  if (a.size !== b.size) return false
  for (const name of a.keys()) if (!b.has(name)) return false
  return true
}
const inState = (state: QueueState, which: (state: string) => boolean): ReadonlyMap<string, Record> => {
  const found = new Map<string, Record>()
  for (const [id, ticket] of state.tickets) if (which(ticket.state)) found.set(id, ticket)
  return found
}

/** Contradictions within one state. */
const standing = (state: QueueState): ReadonlyArray<string> => {
  const wrong: Array<string> = []
  const same = (what: string, actual: ReadonlyMap<string, unknown>, expected: ReadonlyMap<string, unknown>) => {
    if (!haveSameNames(actual, expected)) wrong.push(`${what}: [${names(actual)}] for [${names(expected)}]`)
  }
  // each ticket is exactly where its state says
  same(
    "waiting",
    state.waiting,
    inState(state, (s) => s === "waiting"),
  )
  same("presence", state.presence, state.waiting)
  same(
    "leases",
    state.leases,
    inState(state, (s) => HOLDING.has(s)),
  )
  same(
    "forget",
    // tickets that were withdrawn before they arrived have no other data
    new Map([...state.forget].filter(([id]) => state.tickets.has(id))),
    inState(state, (s) => TERMINAL.has(s)),
  )
  same(
    "data",
    state.data,
    inState(state, (s) => !TERMINAL.has(s)),
  )

  const live = inState(state, (s) => s === "live")
  if ((state.meta.get("live") ?? 0) !== live.size) wrong.push(`live is ${state.meta.get("live")} for ${live.size}`)
  for (const [session, ticket] of state.sessions) {
    if (!live.has(ticket)) wrong.push(`session ${session} belongs to ${ticket}, which is not live`)
    else if (live.get(ticket)?.sessions.includes(session) !== true) wrong.push(`${ticket} does not list ${session}`)
  }
  for (const [ticket, { sessions }] of live) {
    // the ids that it was bound with, which its holder gets; the session of a start in doubt has no holder
    const { s = [] }: { s?: ReadonlyArray<string> } = JSON.parse(state.data.get(ticket) ?? "{}")
    for (const session of [...s, ...sessions]) {
      if (state.sessions.get(session) !== ticket) wrong.push(`session ${session} of ${ticket} leads elsewhere`)
    }
    if (sessions.length === 0) wrong.push(`${ticket} is live without a session`)
  }

  // the counts of a network match its tickets
  const networks = new Map<string, number>()
  for (const { network, state: s } of state.tickets.values()) {
    const field = (s === "waiting" ? "w" : "h") + network
    if (network !== "" && (s === "waiting" || HOLDING.has(s))) networks.set(field, (networks.get(field) ?? 0) + 1)
  }
  const written = (counts: ReadonlyMap<string, number>): string =>
    [...counts]
      .map(([field, count]) => `${field}=${count}`)
      .toSorted()
      .join(" ")
  if (written(state.networks) !== written(networks)) {
    wrong.push(`networks: [${written(state.networks)}] for [${written(networks)}]`)
  }
  // tickets that wait at an examined place are indexed by their network, and no others
  const passed = [...state.tickets]
    .filter(([, { seq, state: s }]) => s === "waiting" && seq <= (state.meta.get("passedSeq") ?? 0))
    .map(([id, { network, seq }]) => `${network} ${String(seq).padStart(16, "0")} ${id}`)
  if (passed.toSorted().join() !== [...state.passed].toSorted().join()) {
    wrong.push(`passed: [${[...state.passed].join(", ")}] for [${passed.join(", ")}]`)
  }

  // under shares, the tickets for which their networks have room are those whose callers come first
  const cap = state.meta.get("fairCap") ?? 0
  const crowds = [...state.tickets]
    .filter(([, { network, state: s }]) => cap > 0 && s === "waiting" && network !== "")
    .map(([id, { network, seq }]) => `${network} ${String(seq).padStart(16, "0")} ${id}`)
  if (crowds.toSorted().join() !== [...state.crowds].toSorted().join()) {
    wrong.push(`crowds: [${[...state.crowds].join(", ")}] for [${crowds.join(", ")}]`)
  }
  const rooms = new Map<string, number>()
  const near: Array<string> = []
  for (const [id, { network, state: s }] of [...state.tickets].toSorted(([, a], [, b]) => a.seq - b.seq)) {
    const room = rooms.get(network) ?? cap - (networks.get(`h${network}`) ?? 0)
    if (cap === 0 || s !== "waiting") continue
    if (network === "" || room > 0) near.push(id)
    rooms.set(network, room - 1)
  }
  if (near.join() !== [...state.near.keys()].join()) {
    wrong.push(`near: [${[...state.near.keys()].join(", ")}] for [${near.join(", ")}]`)
  }

  const doubts = inState(state, (s) => s === "doubt")
  if ((state.meta.get("doubts") ?? 0) !== doubts.size)
    wrong.push(`doubts is ${state.meta.get("doubts")} for ${doubts.size}`)
  for (const id of doubts.keys()) if (!isDoubt(id)) wrong.push(`${id} is no start in doubt`)
  for (const id of state.parked.keys()) if (!state.waiting.has(id)) wrong.push(`${id} is parked and does not wait`)

  const seqs = new Set<number>()
  const leases = new Set<string>()
  for (const [id, ticket] of state.tickets) {
    if (isDoubt(id)) continue
    if (seqs.has(ticket.seq)) wrong.push(`two tickets have the place ${ticket.seq}`)
    seqs.add(ticket.seq)
    if (ticket.seq > (state.meta.get("seq") ?? 0)) wrong.push(`${id} has a place that was not given yet`)
    if (ticket.lease === "") continue
    if (leases.has(ticket.lease)) wrong.push(`two tickets have the lease ${ticket.lease}`)
    leases.add(ticket.lease)
    if (Number(ticket.lease) > (state.meta.get("lease") ?? 0)) wrong.push(`${id} has a lease that was not given yet`)
  }
  for (const [id, score] of state.waiting) {
    if (state.tickets.get(id)?.seq !== score) wrong.push(`${id} waits at ${score}, not at its own place`)
  }
  return wrong
}

/** Whether a gate that is not dead, other than the acting one, was not seen since a moment. */
const isUnheard = ({ gates }: QueueState, now: number, self: string, since: number): boolean =>
  [...gates].some(([gate, heardAt]) => gate !== self && heardAt >= now - DEAD_MILLIS && heardAt < since)

/**
 * Whether a waiting ticket is absent that was present until a moment in the past.
 *
 * @param seen the gate that counts as seen because it acts; empty when its step took long to arrive
 */
export const isAbsent = (
  state: QueueState,
  id: string,
  { now, self = "", shown }: Pick<Change, "now" | "self" | "shown">,
  seen = self,
): boolean => {
  const until = state.presence.get(id) ?? 0
  const gate = state.tickets.get(id)?.instance ?? ""
  if (until >= now) return false
  if (gate === self && shown !== undefined) return until <= shown
  if (gate === "") return !isUnheard(state, now, seen, until)
  return (state.gates.get(gate) ?? 0) < now - DEAD_MILLIS
}

/** Whether a ticket counts as present because of a gate that has sent no heartbeat for as long as a dead one. */
const isHeldByDead = ({ holders, presence }: QueueState, id: string, now: number): boolean => {
  const holder = (presence.get(id) ?? 0) - HELD
  return holder >= 0 && now - (holders.get(String(holder)) ?? Number.NEGATIVE_INFINITY) >= DEAD_MILLIS
}

/** Whether calls are held at a moment: a gate has reported an outage, and one that lived when it began was not seen since. */
const isHeldAt = ({ gates, meta }: QueueState, moment: number): boolean => {
  const from = meta.get("heldFrom")
  if (from === undefined || moment - from >= MAX_HOLD_MILLIS || from - moment > HOLD_INTERVAL_MILLIS) return false
  const alive = (meta.get("heldSince") ?? 0) - DEAD_MILLIS
  return [...gates.values()].some((heardAt) => heardAt >= alive && heardAt < from)
}

/** How many slots the platform has let the campaign use, after it has refused a start at capacity. */
export const learnedSlots = ({ meta }: QueueState, slots: number, now: number): number => {
  const [limit = 0, tries = 0, tryAt = 0] = ["platformLimit", "platformTries", "platformTryAt"].map((field) =>
    meta.get(field),
  )
  if (tries === 0) return slots
  if (isKnownNumber(slots)) return Math.abs(now - tryAt) > LEARNED_MILLIS ? slots : Math.min(slots, limit + tries)
  return tryAt > now ? limit : limit + tries
}

/** Whether an operator's pause holds. */
const isPausedAt = ({ meta }: QueueState, now: number): boolean =>
  meta.get("paused") === 1 && (meta.get("pausedUntil") ?? Number.POSITIVE_INFINITY) > now

/** Whether nobody is called for a while: after a refusal or an outage, while one caller probes the platform, or by an operator's wish. */
export const isResting = (state: QueueState, now: number, time = now): boolean =>
  (state.meta.get("backoffUntil") ?? 0) > now ||
  isPausedAt(state, now) ||
  (state.meta.get("disrupted") === 1 && (state.meta.get("probeUntil") ?? 0) > now) ||
  isHeldAt(state, now) ||
  isHeldAt(state, time)

/**
 * I2: the called ticket is the oldest whose network holds less than its share of the slots; when all waiting tickets
 * are of networks at their share, the oldest of all. A newcomer that starts at once overtakes nobody. `taken` are the
 * slots that the step gave.
 */
const order = (
  { after, before, now, share, slots }: Change,
  taken: ReadonlyArray<readonly [string, Record]>,
): ReadonlyArray<string> => {
  const wrong: Array<string> = []
  const most = shareOf(share, isKnownNumber(slots) ? slots : learnedSlots(before, slots, now))
  const held = new Map<string, number>()
  const takenIds = new Set(taken.map(([id]) => id))
  for (const [id, { network, state }] of after.tickets) {
    if (HOLDING.has(state) && !takenIds.has(id)) held.set(network, (held.get(network) ?? 0) + 1)
  }
  // a ticket that arrived in this step waits since its end
  const line = new Map(
    [...after.waiting, ...taken.map(([id, { seq }]) => [id, seq] as const)].filter(
      // a ticket whose start failed a moment ago, or may have happened, has had its turn
      ([id]) => before.tickets.has(id) && !after.parked.has(id),
    ),
  )
  const networkOf = (id: string): string => after.tickets.get(id)?.network ?? ""
  const below = (id: string): boolean => networkOf(id) === "" || share >= 1 || (held.get(networkOf(id)) ?? 0) < most
  // in the order of the calls, which is that of their leases
  for (const [id, { network, seq }] of taken.toSorted(([, a], [, b]) => Number(a.lease) - Number(b.lease))) {
    const newcomer = !before.tickets.has(id)
    const among = newcomer || ![...line.keys()].some(below) ? () => true : below
    for (const [other, place] of line) {
      if (other !== id && place < seq && among(other)) wrong.push(`I2: ${id} passed ${other}`)
    }
    if (!newcomer && !among(id)) wrong.push(`I2: ${id} was called above the share of its network`)
    line.delete(id)
    held.set(network, (held.get(network) ?? 0) + 1)
  }
  return wrong
}

/** Violations from one step to the next. */
const moved = (change: Change): ReadonlyArray<string> => {
  const { account, after, before, now, swept } = change
  const slots = Math.min(change.slots, account?.most ?? change.slots)
  const wrong: Array<string> = []
  // I1: a slot is taken only below the number of slots
  if (after.leases.size > slots && after.leases.size > before.leases.size) {
    wrong.push(`I1: ${after.leases.size} leases for ${slots} slots`)
  }
  const taken = [...after.tickets].filter(
    ([id, t]) => !isDoubt(id) && HOLDING.has(t.state) && before.tickets.get(id)?.lease !== t.lease,
  )
  if (taken.length > 0 && after.leases.size > slots) wrong.push(`I1: a slot was taken beyond ${slots}`)

  if (taken.length > 0 && change.anyway !== true && isOverdrawn(change.paid, after))
    wrong.push(`W1: somebody is called or started, and budgets have time for ${change.paid} calls`)

  wrong.push(...order(change, taken))
  const disrupted = before.meta.get("disrupted") === 1 && after.meta.get("disrupted") === 1
  if (disrupted && newlyCalled(change).length > 1) wrong.push("more than one is called to probe the platform")

  // I3: no ticket is lost, and every move is allowed
  for (const [id, { excusedTurns, offerBefore, state, seq, unopened }] of before.tickets) {
    const then = after.tickets.get(id)
    if (then === undefined) {
      if (state === "doubt") continue
      if (!TERMINAL.has(state)) wrong.push(`I3: ${id} was forgotten in state ${state}`)
      else if ((before.forget.get(id) ?? 0) >= now) wrong.push(`I3: ${id} was forgotten before its time`)
    } else if (then.seq !== seq) {
      wrong.push(`I2: the place of ${id} changed from ${seq} to ${then.seq}`)
    } else if (TERMINAL.has(state) ? then.state !== state : NEXT[state]?.includes(then.state) !== true) {
      wrong.push(`I3: ${id} went from ${state} to ${then.state}`)
    } else if (state === "starting" && then.state === "called" && !isTakenBack(before.tickets.get(id), then)) {
      wrong.push(`I5: ${id} is called again, in another slot, while it starts`)
    } else if (
      state === "starting" &&
      then.state === "called" &&
      (after.leases.get(id) ?? 0) > Math.max(now + change.window, before.leases.get(id) ?? 0)
    ) {
      wrong.push(`I4: ${id} has more than a window after its start was taken back`)
    } else if (state === "live" && then.state === "starting" && (offerBefore === 0 || offerBefore < now)) {
      wrong.push(`I3: ${id} starts again, though no offer was awaited`)
    } else if (state === "live" && then.state === "missed" && !unopened && (offerBefore === 0 || offerBefore >= now)) {
      wrong.push(`I3: ${id} missed its offer, though none was due`)
    } else if (state === "called" && then.state === "waiting" && before.meta.get("disrupted") !== 1) {
      wrong.push(`I3: ${id} lost its turn, though the platform can be reached`)
    } else if (
      state === "called" &&
      then.state === "missed" &&
      before.meta.get("disrupted") === 1 &&
      excusedTurns < MAX_EXCUSED_TURNS
    ) {
      wrong.push(`I3: ${id} missed its turn, though the platform cannot be reached`)
    } else if (state === "called" && then.state === "waiting" && then.excusedTurns !== excusedTurns + 1) {
      wrong.push(`I3: ${id} waits again after ${excusedTurns} turns that passed, and ${then.excusedTurns} are counted`)
    } else if (then.excusedTurns > MAX_EXCUSED_TURNS) {
      wrong.push(`I3: ${id} has let ${then.excusedTurns} turns pass and is not missed`)
    } else if (
      state === "waiting" &&
      (then.state === "live" || then.state === "failed") &&
      before.tickets.get(`?${then.lease}`)?.state !== "doubt"
    ) {
      wrong.push(`I8: ${id} is ${then.state} by a start that was not its own`)
    }
  }
  for (const [id, { state }] of after.tickets) {
    if (before.tickets.has(id)) continue
    if (isDoubt(id)) {
      // of a start that was in flight
      const mine = [...before.tickets.values()].some((t) => t.state === "starting" && `?${t.lease}` === id)
      if (state !== "doubt" || !mine) wrong.push(`I3: ${id} began as ${state}`)
      continue
    }
    if (NEXT.newcomer?.includes(state) !== true) wrong.push(`I3: ${id} began as ${state}`)
    if (withdrawn(before, id)) wrong.push(`I3: ${id} was withdrawn, and is admitted`)
  }
  for (const [id] of newlyOver(change)) {
    if (after.forget.get(id) !== now + RETENTION_MILLIS) wrong.push(`I3: ${id} is not remembered for the retention`)
  }

  // another gate has yet to withdraw the tickets that it answered with 503
  const { time = now } = change
  if (isHeldAt(after, now) && isHeldAt(after, time) && change.anyway !== true) {
    for (const [id] of newlyCalled(change)) wrong.push(`${id} is called while calls are held after an outage`)
  }

  // I5 and I8: a lease is new, or still the same ticket's
  for (const [id, { lease }] of taken) {
    if (Number(lease) <= (before.meta.get("lease") ?? 0)) wrong.push(`I8: ${id} took the old lease ${lease}`)
  }
  for (const counter of ["seq", "lease"]) {
    if ((after.meta.get(counter) ?? 0) < (before.meta.get(counter) ?? 0)) wrong.push(`the counter ${counter} went back`)
  }

  // I4 and I7: a sweep leaves no overdue lease, no absent ticket, and no free slot while a ticket waits
  if (swept) {
    // a step that took long to arrive does not show that its gate reaches the store
    const self = time - now < STALL_MILLIS ? (change.self ?? "") : ""
    for (const [id, deadline] of after.leases) {
      const isWaitedFor = isCalled(after.tickets.get(id)) && isUnheard(after, now, self, deadline)
      if (deadline < now && !isWaitedFor) wrong.push(`I4: the lease of ${id} is overdue`)
    }
    // after an outage nobody counts as absent for a while
    const merciful = (after.meta.get("graceUntil") ?? 0) > now
    for (const id of after.presence.keys()) {
      if (!merciful && isAbsent(after, id, change, self)) wrong.push(`I7: ${id} is absent and waits`)
      if (!merciful && isHeldByDead(after, id, now)) wrong.push(`${id} is held by a gate that is dead`)
    }
    if (
      !isResting(after, now, time) &&
      isPaid(change.paid, after) &&
      after.leases.size < Math.min(learnedSlots(after, slots, now), account?.least ?? slots) &&
      after.waiting.size > after.parked.size
    )
      wrong.push("I7: a slot is free and a ticket waits")
  }
  return wrong
}

/** Violations within a state, however it was reached. */
export const contradictions = standing

/** All violations after a step. */
export const violations = (change: Change): ReadonlyArray<string> => [
  ...standing(change.after),
  ...unlimited(change),
  ...wrongUnpaid(change),
  ...moved(change),
  ...movedLimits(change),
]
