/** The service `PushChannel`, without its layers. */

import { Context, type Effect, Schema } from "effect"
import type { PushEvent } from "../protocol/events.ts"

/** One open connection, implemented by its transport. No method may block or throw. */
export interface Connection {
  /** Sends an event; `text` is its JSON, encoded once for all connections. */
  readonly send: (event: PushEvent, text: string) => void
  /** bytes that are buffered and not yet sent to the peer */
  readonly backlog: () => number
  /** Sends a ping; false when the peer did not answer the previous one. */
  readonly ping: () => boolean
  /** Whether the peer has answered the last ping. Absent where peers do not answer. */
  readonly isAnswered?: () => boolean
  readonly close: (reason: CloseReason) => void
}

/** The handle of a connection that was added to the channel. Its methods need their `this`. */
export interface Opened {
  /** Sends to this connection alone. */
  send(event: PushEvent): void
  /** Removes the connection, which has closed. */
  close(): void
}

/** Why the gate closes a connection; `over`: its ticket has ended; `shutdown`: the client is to reconnect to another instance. */
export type CloseReason = "over" | "lagging" | "dead" | "replaced" | "shutdown"

/** The caller is at its limit of connections. */
export class TooManyConnections extends Schema.TaggedError<TooManyConnections>()("TooManyConnections", {
  message: Schema.String,
}) {}

export class PushChannel extends Context.Service<
  PushChannel,
  {
    /**
     * The address to which rules on other instances publish events for connections of this one. Empty when `send` reaches a
     * ticket on any instance, as in a single process or with a host's own channel.
     */
    readonly address: string
    /** Delivers to the ticket's connections on this instance; does nothing when it has none. */
    readonly send: (ticket: string, event: PushEvent) => Effect.Effect<void>
    /**
     * The same for the tickets of a heartbeat, which may be ten thousand, with the event of each. Other work is done between them, and a later
     * `send` to one of the tickets replaces its event. Places above `exactUpTo` are rounded up: a connection that was sent a lower one, as it
     * opened, keeps that. Without `sendAll`, `send` is called for each.
     */
    readonly sendAll?: (
      events: Iterable<readonly [ticket: string, event: PushEvent]>,
      exactUpTo?: number,
    ) => Effect.Effect<void>
    /** The tickets with a connection here. They are kept present and sent their position. */
    readonly tickets: Effect.Effect<ReadonlyArray<string>>
    /** Adds a connection of a ticket. */
    readonly open: (ticket: string, caller: string, connection: Connection) => Effect.Effect<Opened, TooManyConnections>
    /** Tells every connection to reconnect to another instance, and closes it; connections that open later too. */
    readonly drain: Effect.Effect<void>
    /**
     * Tells the connections that are open now to reconnect to another instance, in random order and evenly within `millis`, and
     * closes them. New ones may still open. When interrupted, it leaves the rest open. A channel without it keeps its connections.
     */
    readonly sendAway?: (millis: number) => Effect.Effect<void>
    /**
     * Waits until messages for connections here may have been lost since the last wait; the caller then looks up their tickets.
     * Absent for a channel that loses none.
     */
    readonly missed?: Effect.Effect<void>
  }
>()("voicegate/PushChannel") {}
