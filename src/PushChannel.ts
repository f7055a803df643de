/**
 * Delivers events to exactly the connection that holds a ticket, on whichever instance it is.
 *
 * A message is a hint: it may be lost with its connection or its bus. The state in the store is the truth, and the next
 * tick or the next attach brings what was missed. News equal to the last on a connection is not sent again; an answer to
 * something that the peer asked (`session`, `error`) always is.
 */
import { randomBytes } from "node:crypto"
import { Context, DateTime, Effect, Latch, Layer, Random, Schema } from "effect"
import { INSTANCE_CHANNEL, type Signal } from "./FifoQueue.ts"
import * as messages from "./messages.ts"
import { readSignal } from "./queue/signals.ts"
import type { PushEvent, TicketState } from "./Session.ts"
import { Store } from "./Store.ts"
import { makeTally } from "./tally.ts"

/** One open connection, as its transport offers it. Nothing here may block or throw. */
export interface Connection {
  /** Sends an event; `text` is its JSON, encoded once for all connections. */
  readonly send: (event: PushEvent, text: string) => void
  /** bytes accepted but not yet taken by the peer */
  readonly backlog: () => number
  /** Asks the peer for a sign of life, and answers false when the last one never came. */
  readonly beat: () => boolean
  readonly close: (reason: CloseReason) => void
}

/** A connection that the channel has taken on. */
export interface Opened {
  /** Sends to this connection alone. */
  readonly send: (event: PushEvent) => void
  /** The connection is gone. */
  readonly close: () => void
}

/** Why the gate closes a connection; `over` is the ordinary end of its ticket, `shutdown` sends it to another instance. */
export type CloseReason = "over" | "lagging" | "dead" | "replaced" | "shutdown"

/** One address holds as many connections as it may. */
export class TooManyConnections extends Schema.TaggedError<TooManyConnections>()("TooManyConnections", {
  message: Schema.String,
}) {}

/** A ticket may have so many connections; one more takes the place of the oldest. */
export const CONNECTIONS_PER_TICKET = 3
/** One caller (address, or /64) may have so many connections. */
export const CONNECTIONS_PER_CALLER = 100
/** A peer that lags behind by more than this many bytes is cut. */
export const BACKLOG_BYTES = 64 * 1024
/** How often some are sent away, of those that are sent away within a time. */
const SEND_AWAY_MILLIS = 100
/** How often every connection is asked for a sign of life. */
export const HEARTBEAT_MILLIS = 15_000

export class PushChannel extends Context.Service<
  PushChannel,
  {
    /**
     * Where scripts of other instances publish what is for connections here. Empty when `send` reaches a ticket wherever
     * it is, as in a single process, or in a host with a channel of its own.
     */
    readonly address: string
    /** Delivers to the ticket's connections; when it has none here, nothing happens. */
    readonly send: (ticket: string, event: PushEvent) => Effect.Effect<void>
    /** Tickets with a connection here, to be kept present and told their position. */
    readonly tickets: Effect.Effect<ReadonlyArray<string>>
    /** Adds a connection of a ticket. */
    readonly open: (ticket: string, caller: string, connection: Connection) => Effect.Effect<Opened, TooManyConnections>
    /** Tells every connection to come back elsewhere, and closes it; so it goes for those that still come. */
    readonly drain: Effect.Effect<void>
    /**
     * Tells the connections that are open now to come back elsewhere, in no order and evenly within `millis`, and closes them. Others
     * may still come. Interrupted, it leaves the rest open. A channel without it keeps its connections.
     */
    readonly sendAway?: (millis: number) => Effect.Effect<void>
    /**
     * Waits until messages for connections here may have been lost, since it was waited for last: they are to be looked up then.
     * A channel that loses none may leave it out.
     */
    readonly missed?: Effect.Effect<void>
  }
>()("voicegate/PushChannel") {}

/** The event that says a ticket is over. */
export const endedEvent = (state: TicketState): Extract<PushEvent, { type: "ended" }> => ({
  type: "ended",
  reason: state,
  message: messages.ended(state),
})

/** The event that says the store no longer knows the ticket, as after a restart without persistence. */
export const lostEvent: PushEvent = {
  type: "ended",
  reason: "unknown",
  message: messages.placeLost,
}

/** The event that says a slot is reserved until `startBefore` (ms since 1970). */
export const startCallEvent = (startBefore: number): Extract<PushEvent, { type: "start_call" }> => ({
  type: "start_call",
  startBefore: DateTime.formatIso(DateTime.makeUnsafe(startBefore)),
})

/** What a signal of the queue means to the ticket's connection. */
export const eventOf = ({ kind }: Signal): PushEvent =>
  kind._tag === "called" ? startCallEvent(kind.startBefore) : endedEvent(kind.state)

const reconnectEvent: PushEvent = { type: "reconnect", message: messages.reconnect }
const reconnectText = JSON.stringify(reconnectEvent)

interface Entry {
  readonly ticket: string
  readonly caller: string
  readonly connection: Connection
  last: string
}

/**
 * The table of connections of this process. Plain loops without an effect each: this is the room where ten thousand
 * connections are served.
 */
const makeTable = () => {
  const byTicket = new Map<string, Set<Entry>>()
  const perCaller = makeTally(CONNECTIONS_PER_CALLER)
  let draining = false

  const remove = (entry: Entry): void => {
    const entries = byTicket.get(entry.ticket)
    if (entries?.delete(entry) !== true) return
    if (entries.size === 0) byTicket.delete(entry.ticket)
    perCaller.leave(entry.caller)
  }
  const cut = (entry: Entry, reason: CloseReason): void => {
    remove(entry)
    entry.connection.close(reason)
  }
  const all = (): ReadonlyArray<Entry> => [...byTicket.values()].flatMap((entries) => [...entries])

  const sendTo = (entry: Entry, event: PushEvent, text: string): void => {
    if (event.type !== "session" && event.type !== "error") {
      if (entry.last === text) return
      entry.last = text
    }
    if (entry.connection.backlog() > BACKLOG_BYTES) {
      cut(entry, "lagging")
      return
    }
    entry.connection.send(event, text)
    if (event.type === "ended") cut(entry, "over")
  }
  const deliver = (ticket: string, event: PushEvent): void => {
    const entries = byTicket.get(ticket)
    if (entries === undefined) return
    const text = JSON.stringify(event)
    for (const entry of entries) sendTo(entry, event, text)
  }
  const sendAway = (entry: Entry): void => {
    entry.connection.send(reconnectEvent, reconnectText)
    cut(entry, "shutdown")
  }

  return {
    deliver,
    tickets: (): ReadonlyArray<string> => [...byTicket.keys()],
    open: (ticket: string, caller: string, connection: Connection): Opened | undefined => {
      if (!perCaller.enter(caller)) return undefined
      const entries = byTicket.get(ticket) ?? new Set()
      const [oldest] = entries
      if (entries.size >= CONNECTIONS_PER_TICKET && oldest !== undefined) cut(oldest, "replaced")
      const entry: Entry = { ticket, caller, connection, last: "" }
      byTicket.set(ticket, entries.add(entry))
      if (draining) sendAway(entry)
      return { send: (event) => sendTo(entry, event, JSON.stringify(event)), close: () => remove(entry) }
    },
    beat: (): void => {
      for (const entry of all()) if (!entry.connection.beat()) cut(entry, "dead")
    },
    all,
    sendAway: (entry: Entry): void => {
      if (byTicket.get(entry.ticket)?.has(entry) === true) sendAway(entry)
    },
    drain: (): void => {
      draining = true
      for (const entry of all()) sendAway(entry)
    },
  }
}

const serve = (
  address: string,
  table: ReturnType<typeof makeTable>,
  missed?: Effect.Effect<void>,
): Effect.Effect<PushChannel["Service"]> =>
  Effect.succeed(
    PushChannel.of({
      address,
      send: (ticket, event) => Effect.sync(() => table.deliver(ticket, event)),
      tickets: Effect.sync(table.tickets),
      open: (ticket, caller, connection) =>
        Effect.suspend(() => {
          const opened = table.open(ticket, caller, connection)
          return opened === undefined
            ? Effect.fail(new TooManyConnections({ message: messages.tooManyConnections }))
            : Effect.succeed(opened)
        }),
      drain: Effect.sync(table.drain),
      sendAway: Effect.fnUntraced(function* (millis) {
        const entries = yield* Random.shuffle(table.all())
        const times = Math.max(1, Math.floor(millis / SEND_AWAY_MILLIS))
        const some = Math.ceil(entries.length / times)
        for (let from = 0; from < entries.length; from += some) {
          yield* Effect.sleep(SEND_AWAY_MILLIS)
          for (const entry of entries.slice(from, from + some)) table.sendAway(entry)
        }
      }),
      ...(missed === undefined ? {} : { missed }),
    }),
  )

const heartbeat = (table: ReturnType<typeof makeTable>) =>
  Effect.sync(table.beat).pipe(Effect.delay(HEARTBEAT_MILLIS), Effect.forever, Effect.forkScoped)

/** For one process alone: every connection is here. */
export const layerLocal: Layer.Layer<PushChannel> = Layer.effect(
  PushChannel,
  Effect.gen(function* () {
    const table = makeTable()
    yield* heartbeat(table)
    return yield* serve("", table)
  }),
)

/** For any number of instances: each has an address, on which scripts publish what concerns its connections. */
export const layerShared: Layer.Layer<PushChannel, never, Store> = Layer.effect(
  PushChannel,
  Effect.gen(function* () {
    const store = yield* Store
    const table = makeTable()
    const address = randomBytes(6).toString("base64url")
    yield* heartbeat(table)
    const gap = Latch.makeUnsafe(false)
    yield* store.subscribe(
      INSTANCE_CHANNEL + address,
      (message) => {
        const signal = readSignal(message)
        if (signal !== undefined) table.deliver(signal.ticket, eventOf(signal))
      },
      () => gap.openUnsafe(),
    )
    return yield* serve(address, table, Effect.andThen(gap.await, gap.close))
  }),
)
