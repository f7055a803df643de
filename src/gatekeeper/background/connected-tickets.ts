/**
 * What this gate knows of the tickets of one campaign that are connected to it, so that a heartbeat asks the queue only for those of which
 * something may have changed, and pushes only what a caller would see change.
 */
import {
  type Heartbeat,
  type HeartbeatEntry,
  type Place,
  type QueueChanges,
  TICK_MILLIS,
} from "../../fifo-queue/FifoQueue.ts"
import { FIRST_PLACES, positionAt } from "../../fifo-queue/position.ts"
import { endedEvent, lostEvent, type PushEvent, startCallEvent } from "../../protocol/events.ts"
import { isTerminal } from "../../protocol/ticket.ts"
import { positionEvent } from "../outcomes.ts"

/** A caller who has been sent nothing in so many heartbeats is sent the estimate anew: half a minute. */
const REFRESH_TICKS = 15
/** Behind the first places, a caller is sent another place at most once in so many heartbeats. */
const STEP_TICKS = 2
/**
 * Behind the first places, callers are told why nobody is called at once, and that it has changed again so many heartbeats later: a budget that is
 * nearly used up stops and lets go on with every call.
 */
const HINDRANCE_TICKS = 5
/** The steps behind the first places are asked for although no change was noted once in so many heartbeats: older gates note none. */
const STEPS_TICKS = 5
/** A gate that holds another number of tickets than it knows asks for all of them after so many heartbeats in a row. */
const MISCOUNTS = 2
/** More than any change: the queue answers that the changes before are not known. */
const NOTHING_KNOWN = Number.MAX_SAFE_INTEGER

/** A waiting ticket that this gate holds. */
interface Held {
  /** its order of acceptance */
  readonly seq: number
  /** the place that its caller is shown */
  place: number
  /** the heartbeat in which its caller is sent the estimate anew, unless a place is sent before */
  due: number
  /** absent unless it waits for a budget of its caller */
  readonly own?: OwnWait | undefined
}

/** A budget of a caller has more again at `resumesAt` at the latest (ms since 1970), so long after the first heartbeat (ms). */
interface OwnWait {
  readonly resumesAt: number
  readonly after: number
}

/**
 * `elsewhere`: it waits and another gate holds it. `live`: its call runs, and its end is a change that the queue tells. `not-waiting`: it is called,
 * starting or over.
 */
type Known = Held | "elsewhere" | "live" | "not-waiting"

/** Whether the queue tells when something changes. */
const isTold = (known: Known | undefined): boolean => typeof known === "object" || known === "live"

type Queue = Omit<Place, "position">

/**
 * What only one of two lists has, each ticket once. What is in both mostly has the same order, with what was added behind it, so thousands that
 * stay cost a comparison each.
 */
const difference = (before: ReadonlyArray<string>, after: ReadonlyArray<string>) => {
  const missing: Array<string> = []
  let same = 0
  for (const ticket of before) {
    if (ticket === after[same]) same++
    else missing.push(ticket)
  }
  const rest = new Set(after.slice(same))
  const removed = missing.filter((ticket) => !rest.has(ticket))
  for (const ticket of missing) rest.delete(ticket)
  return { added: rest, removed }
}

interface Answered {
  readonly ask: ReadonlyArray<string>
  readonly more: boolean
  readonly events: ReadonlyMap<string, PushEvent>
}

const queueOf = ({ changes: _changes, tickets: _tickets, ...queue }: Heartbeat): Queue => queue

const hindrancesOf = ({ disrupted, paused, pausedUntil, resumesAt }: Queue): string =>
  `${disrupted} ${paused} ${pausedUntil} ${resumesAt}`

/** The queue as a caller sees it who waits for a budget of his own. */
const seenBy = (queue: Queue, { resumesAt, heldMillis }: Pick<HeartbeatEntry, "resumesAt" | "heldMillis">): Queue =>
  resumesAt === undefined || resumesAt < (queue.resumesAt ?? 0)
    ? queue
    : { ...queue, resumesAt, heldMillis: heldMillis ?? 0 }

/** The index of the first of every `width` numbers, from `offset` on, that is at least `value`; the length if there is none. */
const firstAtLeast = (numbers: ReadonlyArray<number>, value: number, width: number, offset: number): number => {
  let [low, high] = [0, numbers.length / width]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((numbers[middle * width + offset] ?? 0) < value) low = middle + 1
    else high = middle
  }
  return low
}

/** The place to show; undefined for a ticket that does not wait any more. Behind the first places it never grows. */
const placeIn = (
  { first, steps }: NonNullable<QueueChanges["places"]>,
  { own, place, seq }: Held,
): number | undefined => {
  // fewer than the first places are all who wait, but for those who wait for budgets of their own
  if (first.length < FIRST_PLACES || seq <= (first.at(-1) ?? 0)) {
    const index = firstAtLeast(first, seq, 1, 0)
    return first[index] === seq || own !== undefined ? positionAt(index) : undefined
  }
  const step = steps[firstAtLeast(steps, seq, 2, 1) * 2]
  return step === undefined ? place : Math.min(place, step)
}

export class ConnectedTickets {
  /** how many slots the campaign has */
  private readonly slots: () => number
  private readonly known = new Map<string, Known>()
  /** connected tickets of which the queue does not tell when something changes */
  private readonly unwatched = new Set<string>()
  /** tickets whose connections have closed, until the queue knows it */
  private readonly closed = new Set<string>()
  private connected: ReadonlyArray<string> = []
  private asksForAll = false
  private heldTickets = 0
  private since = NOTHING_KNOWN
  private ticks = 0
  private shownTick = 0
  private miscounts = 0
  /** what the queue says that this gate holds and that is not connected to it */
  private readonly ghosts = new Set<string>()
  /** whether the last answers had changes, so that the steps behind the first places may be older than they, or whether some were not shown yet */
  private stepsDue = false
  private hindrances = ""
  /** the heartbeat from which on everybody may be told of other hindrances */
  private hindrancesDue = 0
  /** all tickets are asked for, because changes may have been missed */
  private resynchronises = true
  /** the queue does not tell of changes, so all tickets are asked for with every heartbeat */
  private untold = false

  constructor(slots: () => number) {
    this.slots = slots
  }

  private set(ticket: string, known: Known): void {
    const before = this.known.get(ticket)
    if (typeof before === "object") this.heldTickets--
    if (typeof known === "object") this.heldTickets++
    this.known.set(ticket, known)
    if (isTold(known)) this.unwatched.delete(ticket)
    else this.unwatched.add(ticket)
  }

  private forget(ticket: string): void {
    if (typeof this.known.get(ticket) === "object") this.heldTickets--
    this.known.delete(ticket)
  }

  /**
   * A heartbeat begins with these tickets, each once. Returns those to ask for.
   * @param all whether it asks for all
   */
  begin(connected: ReadonlyArray<string>, all: boolean): ReadonlyArray<string> {
    this.ticks++
    this.asksForAll = all
    const { added, removed } = difference(this.connected, connected)
    this.connected = connected
    for (const ticket of removed) {
      this.unwatched.delete(ticket)
      if (!this.known.has(ticket)) continue
      this.forget(ticket)
      this.closed.add(ticket)
    }
    for (const ticket of added) {
      this.closed.delete(ticket)
      this.unwatched.add(ticket)
    }
    if (this.untold) this.closed.clear()
    return all || this.resynchronises || this.untold ? connected : [...this.unwatched]
  }

  /** What the queue is told and asked beside the tickets, at most `max` closed ones. */
  question(max: number, heldFrom?: number) {
    const closed = [...this.closed].slice(0, max)
    return {
      since: this.since,
      ...(closed.length === 0 ? {} : { closed }),
      ...(heldFrom === undefined ? {} : { heldFrom }),
      ...(this.heldTickets > 0 && !this.asksForAll ? { places: true as const } : {}),
      ...(this.stepsDue || this.ticks % STEPS_TICKS === 0 ? { steps: true as const } : {}),
    }
  }

  /** Whether the queue must still be told of closed connections. */
  hasClosed(): boolean {
    return this.closed.size > 0
  }

  /** These tickets may be held from now on, even if the answer is lost. */
  asks(tickets: ReadonlyArray<string>): void {
    for (const ticket of tickets) if (!this.known.has(ticket)) this.set(ticket, "not-waiting")
  }

  /** The answer to a question. Returns the tickets to ask for, whether the queue has more changes, and what to push. */
  answered(answer: Heartbeat, closed: ReadonlyArray<string>): Answered {
    const { changes, tickets } = answer
    const queue = queueOf(answer)
    const events = new Map<string, PushEvent>()
    for (const ticket of closed) this.closed.delete(ticket)
    for (const entry of tickets) {
      this.set(entry.ticket, this.knownOf(entry))
      const event = this.eventOf(entry, queue)
      if (event !== undefined) events.set(entry.ticket, event)
    }
    this.untold = changes === undefined
    this.since = changes?.until ?? NOTHING_KNOWN
    if (changes === undefined) return { ask: [], more: false, events }
    const answered = new Set(tickets.map(({ ticket }) => ticket))
    const ask = new Set(changes.changed.filter((ticket) => this.known.has(ticket) && !answered.has(ticket)))
    // nothing is shown of what they were
    for (const ticket of ask) this.set(ticket, "not-waiting")
    this.stepsDue = changes.changed.length > 0
    // without places everybody who waits was asked for, and is told all of it
    if (changes.places === undefined) this.hindrances = hindrancesOf(queue)
    else if (this.shownTick !== this.ticks || this.stepsDue) this.show(queue, changes.places, events, ask)
    for (const ticket of changes.held) if (!this.known.has(ticket)) this.ghosts.add(ticket)
    const missed = changes.lost && !this.resynchronises
    return { ask: missed ? this.missed() : [...ask], more: changes.more, events }
  }

  /** Something may have been missed: returns all tickets. The next heartbeat asks for all, unless this one ends well. */
  missed(): Array<string> {
    this.resynchronises = true
    return [...this.connected]
  }

  isResynchronising(): boolean {
    return this.resynchronises && !this.untold
  }

  /** The queue says that this gate holds nothing, although it does: the store has lost all. */
  hasLostAll(holds: number | undefined): boolean {
    return holds === 0 && this.heldTickets > 0 && !this.resynchronises
  }

  /** Whether the queue has nothing to learn of this gate, and the gate nothing to ask. */
  isIdle(): boolean {
    return this.known.size === 0 && this.closed.size === 0 && !this.resynchronises
  }

  /** A heartbeat ends, in which the queue said last that this gate holds so many tickets. */
  end(holds: number | undefined): void {
    this.resynchronises = false
    for (const ticket of this.ghosts) if (!this.known.has(ticket)) this.closed.add(ticket)
    this.ghosts.clear()
    this.miscounts = holds === undefined || holds === this.heldTickets ? 0 : this.miscounts + 1
    if (this.miscounts < MISCOUNTS) return
    this.miscounts = 0
    this.resynchronises = true
  }

  private knownOf({ elsewhere, heldMillis = 0, position, resumesAt, seq, state }: HeartbeatEntry): Known {
    if (state === "live") return "live"
    if (state !== "waiting" || seq === undefined) return "not-waiting"
    if (elsewhere === true) return "elsewhere"
    const own = resumesAt === undefined ? undefined : { resumesAt, after: this.ticks * TICK_MILLIS + heldMillis }
    return { seq, place: position, due: this.soon(seq), own }
  }

  /** The first estimates of callers who come at the same time are not due at the same time. */
  private soon(seq: number): number {
    return this.ticks + 1 + (seq % REFRESH_TICKS)
  }

  private eventOf({ position, startBefore, state, ...wait }: HeartbeatEntry, queue: Queue): PushEvent | undefined {
    if (state === "waiting") return positionEvent({ ...seenBy(queue, wait), position }, this.slots())
    if (state === "called") return startCallEvent(startBefore)
    if (state === undefined) return lostEvent
    return isTerminal(state) ? endedEvent(state) : undefined
  }

  /**
   * Shows what a caller sees change: places, why nobody is called, and from time to time the estimate. What does not wait any more is added
   * to the tickets to ask for.
   */
  private show(
    queue: Queue,
    places: NonNullable<QueueChanges["places"]>,
    events: Map<string, PushEvent>,
    ask: Set<string>,
  ): void {
    this.shownTick = this.ticks
    const hindrances = hindrancesOf(queue)
    const toAll = hindrances !== this.hindrances && this.ticks >= this.hindrancesDue
    if (toAll) {
      this.hindrances = hindrances
      this.hindrancesDue = this.ticks + HINDRANCE_TICKS
    }
    const slots = this.slots()
    /** the last event: behind the first places, many callers in a row are shown the same */
    let shared: PushEvent | undefined
    let sharedPlace = 0
    for (const [ticket, held] of this.known) {
      if (typeof held !== "object") continue
      const place = placeIn(places, held)
      if (place === undefined) {
        this.set(ticket, "not-waiting")
        events.delete(ticket)
        ask.add(ticket)
        continue
      }
      // he sees nothing change but the estimate
      if (held.own !== undefined && place === held.place && !toAll && this.ticks < held.due) continue
      if (place > FIRST_PLACES && !toAll) {
        const isOther = place !== held.place
        const due = isOther ? held.due - REFRESH_TICKS + STEP_TICKS : held.due
        if (this.ticks < due) {
          if (isOther) this.stepsDue = true
          continue
        }
      }
      held.place = place
      held.due = toAll ? this.soon(held.seq) : this.ticks + REFRESH_TICKS
      if (held.own !== undefined) {
        const { after, resumesAt } = held.own
        const heldMillis = Math.max(0, after - this.ticks * TICK_MILLIS)
        events.set(ticket, positionEvent({ ...seenBy(queue, { resumesAt, heldMillis }), position: place }, slots))
        continue
      }
      if (shared === undefined || place !== sharedPlace) shared = positionEvent({ ...queue, position: place }, slots)
      sharedPlace = place
      events.set(ticket, shared)
    }
  }
}
