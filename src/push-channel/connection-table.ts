/** The open connections of the push channel in this process. */

import { makeHeld } from "../lib/held.ts"
import type { PushEvent } from "../protocol/events.ts"
import * as texts from "../protocol/texts.ts"
import type { CloseReason, Connection, Opened } from "./PushChannel.ts"
import { makePings, type Pinged } from "./pings.ts"

/** One more replaces the oldest. */
export const CONNECTIONS_PER_TICKET = 3
/** A caller is an address, or a /64. */
export const CONNECTIONS_PER_CALLER = 100
/** So many are sent events in a row, in less than a millisecond, before whatever else has come meanwhile. */
const SENT_IN_A_ROW = 64
/** A connection with a larger backlog than this (bytes) is closed. */
export const BACKLOG_BYTES = 64 * 1024

const reconnectEvent: PushEvent = { type: "reconnect", message: texts.reconnect }
const reconnectText = JSON.stringify(reconnectEvent)

/** A connection of the table. A class, because closures would take twice the memory, and there may be ten thousand of them. */
class Entry implements Opened, Pinged {
  readonly ticket: string
  readonly caller: string
  pingStep = 0
  pingIndex = 0
  private readonly connection: Connection
  private readonly remove: (entry: Entry) => void
  /** the last event, as JSON */
  private last = ""
  /** the last place, or 0 */
  private place = 0

  constructor(ticket: string, caller: string, connection: Connection, remove: (entry: Entry) => void) {
    this.ticket = ticket
    this.caller = caller
    this.connection = connection
    this.remove = remove
  }

  send(event: PushEvent): void {
    this.sendText(event, JSON.stringify(event))
  }

  /** The same of a place that is rounded up: what the page shows does not rise. */
  sendRounded(event: PushEvent, text: string): void {
    if (event.type === "position" && this.place > 0 && event.position > this.place)
      this.send({ ...event, position: this.place })
    else this.sendText(event, text)
  }

  /** @param text the event as JSON */
  sendText(event: PushEvent, text: string): void {
    if (event.type !== "session" && event.type !== "error" && event.type !== "warning") {
      if (this.last === text) return
      this.last = text
    }
    if (event.type === "position") this.place = event.position
    if (this.connection.backlog() > BACKLOG_BYTES) {
      this.cut("lagging")
      return
    }
    this.connection.send(event, text)
    if (event.type === "ended") this.cut("over")
  }

  ping(): void {
    if (!this.connection.ping()) this.cut("dead")
  }

  checkAnswer(): void {
    if (this.connection.isAnswered?.() === false) this.cut("dead")
  }

  sendAway(): void {
    this.connection.send(reconnectEvent, reconnectText)
    this.cut("shutdown")
  }

  /** Removes the entry and closes its connection. */
  cut(reason: CloseReason): void {
    this.remove(this)
    this.connection.close(reason)
  }

  close(): void {
    this.remove(this)
  }
}

const NOBODY: ReadonlyArray<Entry> = []

/** Events on their way to many tickets. */
export interface Delivery {
  /** how many times `next` must be called, or a few more */
  readonly turns: number
  /** Delivers the next ones, to `SENT_IN_A_ROW` connections or a few more; false after the last. */
  readonly next: () => boolean
  /** The others are not delivered. */
  readonly stop: () => void
}

export interface ConnectionTable {
  /** The tickets that have a connection here. */
  readonly tickets: () => ReadonlyArray<string>
  /** It replaces what `deliverAll` has not delivered to the ticket yet. */
  readonly deliver: (ticket: string, event: PushEvent) => void
  /** The same for many, with places rounded up above `exactUpTo`; tickets in a row that have the same event share its text. */
  readonly deliverAll: (
    events: Iterable<readonly [ticket: string, event: PushEvent]>,
    exactUpTo: number | undefined,
  ) => Delivery
  /** Undefined if the caller is at the limit. */
  readonly open: (ticket: string, caller: string, connection: Connection) => Opened | undefined
  /** Pings a share of the connections, and closes those that have not answered an earlier ping (`pings.ts`). */
  readonly pingSome: () => void
  readonly all: () => ReadonlyArray<Entry>
  /** Tells a connection to reconnect to another instance and closes it, unless it is already closed. */
  readonly sendAway: (entry: Entry) => void
  /** The same for all connections, and for those that open later. */
  readonly drain: () => void
}

/**
 * The connections of a process may be ten thousand, each with an event a second. Hot path: plain loops and callbacks. A queue with a
 * `Stream` for each connection takes 3.5 kB and 6 µs of CPU for an event; an entry takes 0.1 kB and 0.01 µs.
 */
export const makeConnectionTable = (): ConnectionTable => {
  /** lists, because nearly every ticket has one connection, and a set takes four times the memory */
  const byTicket = new Map<string, ReadonlyArray<Entry>>()
  const connectionsPerCaller = makeHeld(CONNECTIONS_PER_CALLER)
  const pings = makePings()
  const undelivered = new Set<Map<string, PushEvent>>()
  let draining = false
  /** the keys of `byTicket`, until one is added or removed: most heartbeats find the same as the one before */
  let tickets: ReadonlyArray<string> | undefined

  const isOpen = (entry: Entry): boolean => byTicket.get(entry.ticket)?.includes(entry) === true
  const remove = (entry: Entry): void => {
    if (!isOpen(entry)) return
    pings.remove(entry)
    const others = (byTicket.get(entry.ticket) ?? []).filter((each) => each !== entry)
    if (others.length === 0) {
      byTicket.delete(entry.ticket)
      tickets = undefined
    } else byTicket.set(entry.ticket, others)
    connectionsPerCaller.release(entry.caller)
  }
  const all = (): ReadonlyArray<Entry> => [...byTicket.values()].flat()

  return {
    tickets: () => {
      tickets ??= [...byTicket.keys()]
      return tickets
    },
    deliver: (ticket, event) => {
      for (const rest of undelivered) rest.delete(ticket)
      const entries = byTicket.get(ticket)
      if (entries === undefined) return
      const text = JSON.stringify(event)
      for (const entry of entries) entry.sendText(event, text)
    },
    deliverAll: (events, exactUpTo = Number.POSITIVE_INFINITY) => {
      const rest = new Map(events)
      undelivered.add(rest)
      const stop = () => void undelivered.delete(rest)
      let last: PushEvent | undefined
      let text = ""
      const next = (): boolean => {
        let sent = 0
        for (const [ticket, event] of rest) {
          if (sent >= SENT_IN_A_ROW) return true
          rest.delete(ticket)
          if (event !== last) text = JSON.stringify(event)
          last = event
          const entries = byTicket.get(ticket) ?? NOBODY
          const isRounded = event.type === "position" && event.position > exactUpTo
          for (const entry of entries) {
            if (isRounded) entry.sendRounded(event, text)
            else entry.sendText(event, text)
          }
          sent += entries.length
        }
        stop()
        return false
      }
      return { turns: Math.ceil(rest.size / SENT_IN_A_ROW), next, stop }
    },
    open: (ticket, caller, connection) => {
      if (!connectionsPerCaller.acquire(caller)) return undefined
      // the page is told what is newer
      for (const rest of undelivered) rest.delete(ticket)
      const [oldest, ...others] = byTicket.get(ticket) ?? []
      if (others.length + 1 >= CONNECTIONS_PER_TICKET) oldest?.cut("replaced")
      const entry = new Entry(ticket, caller, connection, remove)
      pings.add(entry)
      const known = byTicket.get(ticket)
      if (known === undefined) tickets = undefined
      // a spread of nothing would leave room for 16 more
      byTicket.set(ticket, known === undefined ? [entry] : [...known, entry])
      if (draining) entry.sendAway()
      return entry
    },
    pingSome: pings.step,
    all,
    sendAway: (entry) => {
      if (isOpen(entry)) entry.sendAway()
    },
    drain: () => {
      draining = true
      for (const entry of all()) entry.sendAway()
    },
  }
}
