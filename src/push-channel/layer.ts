/**
 * Delivers events to exactly the connections of a ticket, on whichever instance they are.
 *
 * A message is a hint: it may be lost with its connection or the message bus. The state in the store is the truth, and the
 * next heartbeat or the next attach delivers what was missed. An event that equals the connection's last one is not sent
 * again, except a reply to the peer (`session`, `error`, `warning`), which is always sent.
 */

import { randomBytes } from "node:crypto"
import { Clock, Duration, Effect, identity, Latch, Layer, Random, Schedule } from "effect"
import { inSpan } from "../lib/spans.ts"
import { spanFrom } from "../lib/trace-context.ts"
import { endedEvent, lengthWarningEvent, type PushEvent, startCallEvent } from "../protocol/events.ts"
import { INSTANCE_CHANNEL, readSignal, type Signal } from "../protocol/signals.ts"
import * as texts from "../protocol/texts.ts"
import { Store } from "../store/Store.ts"
import { type ConnectionTable, makeConnectionTable } from "./connection-table.ts"
import { PushChannel, TooManyConnections } from "./PushChannel.ts"
import { ANSWER_STEPS, PING_STEPS } from "./pings.ts"

/** What a heartbeat pushes to thousands is sent in turns with a pause between two, in not much more than `SPREAD_MILLIS`. */
const MAX_PAUSE_MILLIS = 5
const SPREAD_MILLIS = 500
/** The interval between two batches of connections that are told to reconnect (ms). */
const SEND_AWAY_MILLIS = 100
const NANOS_PER_MILLI = 1_000_000n
/** With ten thousand connections a step takes a gate a millisecond. */
const PING_STEP_MILLIS = 250
/** How often each connection is pinged. Proxies close one that is silent for 30 or 60 s. */
export const PING_MILLIS = PING_STEPS * PING_STEP_MILLIS
/** In this time a peer must answer a ping. */
export const ANSWER_MILLIS = ANSWER_STEPS * PING_STEP_MILLIS

export const eventOf = ({ kind }: Signal): PushEvent => {
  switch (kind._tag) {
    case "called":
      return startCallEvent(kind.startBefore)
    case "ended":
      return endedEvent(kind.state)
    case "warning":
      return lengthWarningEvent(kind.endsAt, kind.reason)
  }
}

/** What the span of a signal says of it. */
const nameOf = ({ kind }: Signal): string => {
  if (kind._tag === "called") return "start_call"
  return kind._tag === "ended" ? kind.state : kind._tag
}

/** Delivers a signal in a span of its ticket's trace, if it has one and there is a tracer. */
export const inSignalSpan = (signal: Signal): (<A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>) =>
  signal.trace === undefined
    ? identity
    : inSpan("PushChannel.send", {
        continues: spanFrom(signal.trace),
        attributes: { "voicegate.event": nameOf(signal) },
      })

const serve = (
  address: string,
  table: ConnectionTable,
  missed?: Effect.Effect<void>,
): Effect.Effect<PushChannel["Service"]> =>
  Effect.succeed(
    PushChannel.of({
      address,
      send: (ticket, event) => Effect.sync(() => table.deliver(ticket, event)),
      sendAll: (events, exactUpTo) =>
        Effect.suspend(() => {
          const { next, stop, turns } = table.deliverAll(events, exactUpTo)
          const pause = Math.min(MAX_PAUSE_MILLIS, Math.floor(SPREAD_MILLIS / turns))
          const rest = Effect.gen(function* () {
            while (next()) yield* pause < 1 ? Effect.yieldNow : Effect.sleep(pause)
          })
          return Effect.ensuring(rest, Effect.sync(stop))
        }),
      tickets: Effect.sync(table.tickets),
      open: (ticket, caller, connection) =>
        Effect.suspend(() => {
          const opened = table.open(ticket, caller, connection)
          return opened === undefined
            ? Effect.fail(new TooManyConnections({ message: texts.tooManyConnections }))
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

const pings = (table: ConnectionTable) =>
  Effect.sync(table.pingSome).pipe(Effect.schedule(Schedule.spaced(PING_STEP_MILLIS)), Effect.forkScoped)

/** For a single process, which has every connection. */
export const layerLocal: Layer.Layer<PushChannel> = Layer.effect(
  PushChannel,
  Effect.gen(function* () {
    const table = makeConnectionTable()
    yield* pings(table)
    return yield* serve("", table)
  }),
)

/** For any number of instances: each has an address, to which rules publish events for its connections. */
export const layerShared: Layer.Layer<PushChannel, never, Store> = Layer.effect(
  PushChannel,
  Effect.gen(function* () {
    const store = yield* Store
    const table = makeConnectionTable()
    const address = randomBytes(6).toString("base64url")
    yield* pings(table)
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
