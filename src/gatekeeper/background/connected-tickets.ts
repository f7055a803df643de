/**
 * What this gate knows of the tickets of one campaign that are connected to it, so that a heartbeat asks the queue only for those of which
 * something may have changed, and pushes only what a caller would see change.
 */
import type { Heartbeat, HeartbeatEntry, Place, QueueChanges } from "../../fifo-queue/FifoQueue.ts"
import { positionAt } from "../../fifo-queue/position.ts"
import { endedEvent, lostEvent, type PushEvent, startCallEvent } from "../../protocol/events.ts"
import { isTerminal } from "../../protocol/ticket.ts"
import { positionEvent } from "../outcomes.ts"

/** A caller on one of these places is shown every change at once. */
const SHOWN_AT_ONCE = 100
/** Every caller is shown the estimate anew once in so many heartbeats: half a minute. */
const REFRESH_TICKS = 15
/** Places are asked for although no change was noted once in so many heartbeats: older gates note none. */
const PLACES_TICKS = 5
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
}

/** `elsewhere`: it waits and another gate holds it. `not-waiting`: it is called, starting, live or over. */
type Known = Held | "elsewhere" | "not-waiting"

type Queue = Omit<Place, "position">

const queueOf = ({ changes: _changes, tickets: _tickets, ...queue }: Heartbeat): Queue => queue

const hindrancesOf = ({ disrupted, paused, pausedUntil }: Queue): string => `${disrupted} ${paused} ${pausedUntil}`

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

/** The place to show; undefined when none is known. Behind the first places it never grows. */
const placeIn = ({ first, steps }: NonNullable<QueueChanges["places"]>, { place, seq }: Held): number | undefined => {
  if (seq <= (first.at(-1) ?? 0)) {
    const index = firstAtLeast(first, seq, 1, 0)
    // a change that is not known yet has taken it out of the queue
    return first[index] === seq ? positionAt(index) : undefined
  }
  const step = steps[firstAtLeast(steps, seq, 2, 1) * 2]
  return step === undefined ? undefined : Math.min(place, step)
}

export class ConnectedTickets {
  /** how many slots the campaign has */
  private readonly slots: () => number
  private readonly known = new Map<string, Known>()
  /** tickets whose connections have closed, until the queue knows it */
  private readonly closed = new Set<string>()
  private connected: ReadonlyArray<string> = []
  private heldTickets = 0
  private since = NOTHING_KNOWN
  private ticks = 0
  private shownTick = 0
  private miscounts = 0
  private hindrances = ""
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
  }

  private forget(ticket: string): void {
    if (typeof this.known.get(ticket) === "object") this.heldTickets--
    this.known.delete(ticket)
  }

  /**
   * A heartbeat begins with these tickets. Returns those to ask for.
   * @param all whether it asks for all
   */
  begin(connected: ReadonlyArray<string>, all: boolean): ReadonlyArray<string> {
    this.ticks++
    this.connected = connected
    const open = new Set(connected)
    for (const ticket of this.known.keys()) {
      if (open.has(ticket)) continue
      this.forget(ticket)
      this.closed.add(ticket)
    }
    if (this.untold) this.closed.clear()
    for (const ticket of this.closed) if (open.has(ticket)) this.closed.delete(ticket)
    return all || this.resynchronises || this.untold
      ? connected
      : connected.filter((ticket) => typeof this.known.get(ticket) !== "object")
  }

  /** What the queue is told and asked beside the tickets, at most `max` closed ones. */
  question(max: number, heldFrom?: number) {
    const closed = [...this.closed].slice(0, max)
    return {
      since: this.since,
      ...(closed.length === 0 ? {} : { closed }),
      ...(heldFrom === undefined ? {} : { heldFrom }),
      ...(this.ticks % PLACES_TICKS === 0 && this.heldTickets > 0 ? { places: true as const } : {}),
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

  /** The answer to a question. Returns the tickets to ask for, and what to push. */
  answered(
    answer: Heartbeat,
    closed: ReadonlyArray<string>,
  ): { readonly ask: ReadonlyArray<string>; readonly events: ReadonlyMap<string, PushEvent> } {
    const { changes, tickets } = answer
    const queue = queueOf(answer)
    const events = new Map<string, PushEvent>()
    for (const ticket of closed) this.closed.delete(ticket)
    const changed = changes?.changed.filter((ticket) => this.known.has(ticket)) ?? []
    // nothing is shown of what they were
    for (const ticket of changed) this.set(ticket, "not-waiting")
    if (changes !== undefined) this.show(queue, changes.places, events)
    for (const entry of tickets) {
      this.set(entry.ticket, this.knownOf(entry))
      const event = this.eventOf(entry, queue)
      if (event === undefined) events.delete(entry.ticket)
      else events.set(entry.ticket, event)
    }
    // what the queue says that this gate holds and that is not connected to it
    for (const ticket of changes?.held ?? []) if (!this.known.has(ticket)) this.closed.add(ticket)
    this.untold = changes === undefined
    this.since = changes?.until ?? NOTHING_KNOWN
    const missed = changes?.lost === true && !this.resynchronises
    return { ask: missed ? this.missed() : changed, events }
  }

  /** Something may have been missed: returns all tickets. The next heartbeat asks for all, unless this one ends well. */
  missed(): Array<string> {
    this.resynchronises = true
    return [...this.connected]
  }

  isResynchronising(): boolean {
    return this.resynchronises && !this.untold
  }

  /** A heartbeat ends, in which the queue said last that this gate holds so many tickets. */
  end(holds: number | undefined): void {
    this.resynchronises = false
    this.miscounts = holds === undefined || holds === this.heldTickets ? 0 : this.miscounts + 1
    if (this.miscounts < MISCOUNTS) return
    this.miscounts = 0
    this.resynchronises = true
  }

  private knownOf({ elsewhere, position, seq, state }: HeartbeatEntry): Known {
    if (state !== "waiting" || seq === undefined) return "not-waiting"
    return elsewhere === true ? "elsewhere" : { seq, place: position }
  }

  private eventOf({ position, startBefore, state }: HeartbeatEntry, queue: Queue): PushEvent | undefined {
    if (state === "waiting") return positionEvent({ ...queue, position }, this.slots())
    if (state === "called") return startCallEvent(startBefore)
    if (state === undefined) return lostEvent
    return isTerminal(state) ? endedEvent(state) : undefined
  }

  /** Shows what a caller sees change: places, why nobody is called, and from time to time the estimate. */
  private show(queue: Queue, places: QueueChanges["places"], events: Map<string, PushEvent>): void {
    if (places === undefined && this.shownTick === this.ticks) return
    this.shownTick = this.ticks
    const hindrances = hindrancesOf(queue)
    const toAll = hindrances !== this.hindrances
    this.hindrances = hindrances
    const slots = this.slots()
    for (const [ticket, held] of this.known) {
      if (typeof held !== "object") continue
      const place = places === undefined ? held.place : (placeIn(places, held) ?? held.place)
      const isDue = held.seq % REFRESH_TICKS === this.ticks % REFRESH_TICKS
      if (place === held.place && place > SHOWN_AT_ONCE && !toAll && !isDue) continue
      held.place = place
      events.set(ticket, positionEvent({ ...queue, position: place }, slots))
    }
  }
}
