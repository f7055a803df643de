/**
 * Delivers events to exactly the connections of a ticket, on whichever instance they are.
 *
 * A message is a hint: it may be lost with its connection or the message bus. The state in the store is the truth, and the
 * next heartbeat or the next attach delivers what was missed. An event that equals the connection's last one is not sent
 * again, except a reply to the peer (`session`, `error`), which is always sent.
 */
import { randomBytes } from "node:crypto"
import { Clock, Duration, Effect, identity, Latch, Layer, Random, Schedule } from "effect"
import { makeConnectionCounter } from "./connection-counter.ts"
import { accessOf } from "./credential.ts"
import { INSTANCE_CHANNEL, type Signal } from "./FifoQueue.ts"
import * as messages from "./messages.ts"
import { readSignal } from "./queue/signals.ts"
import { isoTime, type PushEvent, type Started, type TicketState } from "./Session.ts"
import { Store } from "./Store.ts"
import {
  type CloseReason,
  type Connection,
  type Opened,
  PushChannel,
  TooManyConnections,
} from "./services/PushChannel.ts"
import { inSpan } from "./spans.ts"
import { spanFrom } from "./trace-context.ts"

export {
  type CloseReason,
  type Connection,
  type Opened,
  PushChannel,
  TooManyConnections,
} from "./services/PushChannel.ts"

/** Limit of connections per ticket; one more replaces the oldest. */
export const CONNECTIONS_PER_TICKET = 3
/** Limit of connections per caller (address, or /64). */
export const CONNECTIONS_PER_CALLER = 100
/** A connection with a larger backlog than this (bytes) is closed. */
export const BACKLOG_BYTES = 64 * 1024
/** The interval between two batches of connections that are told to reconnect (ms). */
const SEND_AWAY_MILLIS = 100
const NANOS_PER_MILLI = 1_000_000n
/** How often every connection is pinged (ms). */
export const HEARTBEAT_MILLIS = 15_000

/** The event for a ticket that has ended. */
export const endedEvent = (state: TicketState): Extract<PushEvent, { type: "ended" }> => ({
  type: "ended",
  reason: state,
  message: messages.ended(state),
})

/** The event for a ticket that the store no longer knows, for instance after a restart without persistence. */
export const lostEvent: PushEvent = {
  type: "ended",
  reason: "unknown",
  message: messages.placeLost,
}

/** The event for a ticket whose slot is reserved until `startBefore` (ms since 1970). */
export const startCallEvent = (startBefore: number): Extract<PushEvent, { type: "start_call" }> => ({
  type: "start_call",
  startBefore: isoTime(startBefore),
})

/** The event for a session that has started. */
export const sessionEvent = ({ sessionId, ...session }: Started): Extract<PushEvent, { type: "session" }> => ({
  type: "session",
  ...accessOf(session),
  sessionId,
})

/** The event for a signal of the queue. */
export const eventOf = ({ kind }: Signal): PushEvent =>
  kind._tag === "called" ? startCallEvent(kind.startBefore) : endedEvent(kind.state)

/** Delivers a signal in a span of its ticket's trace, if it has one and there is a tracer. */
export const inSignalSpan = ({
  kind,
  trace,
}: Signal): (<A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>) =>
  trace === undefined
    ? identity
    : inSpan("PushChannel.send", {
        continues: spanFrom(trace),
        attributes: { "voicegate.event": kind._tag === "called" ? "start_call" : kind.state },
      })

const reconnectEvent: PushEvent = { type: "reconnect", message: messages.reconnect }
const reconnectText = JSON.stringify(reconnectEvent)

interface Entry extends Opened {
  readonly ticket: string
  readonly caller: string
  readonly connection: Connection
  last: string
}

/**
 * The connections of this process, which may be ten thousand, each with an event a second. Hot path: plain loops and callbacks. A
 * queue with a `Stream` for each connection takes 3.5 kB and 6 µs of CPU for an event; an entry takes 0.27 kB and 0.01 µs.
 */
const makeTable = () => {
  /** lists, because nearly every ticket has one connection, and a set takes four times the memory */
  const byTicket = new Map<string, ReadonlyArray<Entry>>()
  const connectionsPerCaller = makeConnectionCounter(CONNECTIONS_PER_CALLER)
  let draining = false

  const remove = (entry: Entry): void => {
    const entries = byTicket.get(entry.ticket)
    if (entries?.includes(entry) !== true) return
    if (entries.length === 1) byTicket.delete(entry.ticket)
    else
      byTicket.set(
        entry.ticket,
        entries.filter((each) => each !== entry),
      )
    connectionsPerCaller.release(entry.caller)
  }
  const cut = (entry: Entry, reason: CloseReason): void => {
    remove(entry)
    entry.connection.close(reason)
  }
  const all = (): ReadonlyArray<Entry> => [...byTicket.values()].flat()

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
      if (!connectionsPerCaller.acquire(caller)) return undefined
      const [oldest, ...others] = byTicket.get(ticket) ?? []
      if (others.length + 1 >= CONNECTIONS_PER_TICKET && oldest !== undefined) cut(oldest, "replaced")
      const entry: Entry = {
        ticket,
        caller,
        connection,
        last: "",
        send: (event) => sendTo(entry, event, JSON.stringify(event)),
        close: () => remove(entry),
      }
      const known = byTicket.get(ticket)
      // a spread of nothing would leave room for 16 more
      byTicket.set(ticket, known === undefined ? [entry] : [...known, entry])
      if (draining) sendAway(entry)
      return entry
    },
    pingAll: (): void => {
      for (const entry of all()) if (!entry.connection.ping()) cut(entry, "dead")
    },
    all,
    sendAway: (entry: Entry): void => {
      if (byTicket.get(entry.ticket)?.includes(entry) === true) sendAway(entry)
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
      sendAll: (events) =>
        Effect.sync(() => {
          for (const [ticket, event] of events) table.deliver(ticket, event)
        }),
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
        const batches = Math.max(1, Math.floor(millis / SEND_AWAY_MILLIS))
        const batchSize = Math.ceil(entries.length / batches)
        const clock = yield* Clock.Clock
        let due = clock.monotonicTimeNanosUnsafe()
        for (let from = 0; from < entries.length; from += batchSize) {
          // from the time that was due, not from now: timers are late, and thousands of batches would take longer than the shutdown waits
          due += BigInt(SEND_AWAY_MILLIS) * NANOS_PER_MILLI
          const wait = due - clock.monotonicTimeNanosUnsafe()
          if (wait > 0n) yield* Effect.sleep(Duration.nanos(wait))
          for (const entry of entries.slice(from, from + batchSize)) table.sendAway(entry)
        }
      }),
      ...(missed === undefined ? {} : { missed }),
    }),
  )

const heartbeat = (table: ReturnType<typeof makeTable>) =>
  Effect.sync(table.pingAll).pipe(Effect.schedule(Schedule.spaced(HEARTBEAT_MILLIS)), Effect.forkScoped)

/** For a single process, which has every connection. */
export const layerLocal: Layer.Layer<PushChannel> = Layer.effect(
  PushChannel,
  Effect.gen(function* () {
    const table = makeTable()
    yield* heartbeat(table)
    return yield* serve("", table)
  }),
)

/** For any number of instances: each has an address, to which rules publish events for its connections. */
export const layerShared: Layer.Layer<PushChannel, never, Store> = Layer.effect(
  PushChannel,
  Effect.gen(function* () {
    const store = yield* Store
    const table = makeTable()
    const address = randomBytes(6).toString("base64url")
    yield* heartbeat(table)
    const missedMessages = Latch.makeUnsafe(false)
    const run = Effect.runForkWith(yield* Effect.context<never>())
    yield* store.subscribe(
      INSTANCE_CHANNEL + address,
      (message) => {
        const signal = readSignal(message)
        if (signal === undefined) return
        const deliver = () => table.deliver(signal.ticket, eventOf(signal))
        if (signal.trace === undefined) deliver()
        else run(inSignalSpan(signal)(Effect.sync(deliver)))
      },
      () => missedMessages.openUnsafe(),
    )
    return yield* serve(address, table, Effect.andThen(missedMessages.await, missedMessages.close))
  }),
)
