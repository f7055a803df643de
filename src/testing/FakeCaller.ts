/** A page that waits for its turn, without HTTP: it receives the events that a WebSocket or an event stream would carry. */

import { Effect } from "effect"
import { Gatekeeper } from "../gatekeeper/Gatekeeper.ts"
import type { PushEvent } from "../protocol/events.ts"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import type { TicketUnknown } from "../protocol/ticket.ts"
import { type CloseReason, PushChannel, type TooManyConnections } from "../push-channel/PushChannel.ts"

/** An open connection of a ticket. */
export interface FakeCaller {
  /** what it has received, oldest first */
  readonly events: Effect.Effect<ReadonlyArray<PushEvent>>
  /** why the gate closed it; undefined while it is open, and after `disconnect` */
  readonly closedBecause: Effect.Effect<CloseReason | undefined>
  /** The page is gone. Its ticket keeps its place for `Queue.DisconnectGraceSeconds`. */
  readonly disconnect: Effect.Effect<void>
}

/** Connects the page of a ticket. `address` counts towards the limit of connections of one caller. */
export const connect = Effect.fnUntraced(function* (
  ticket: string,
  address = "203.0.113.1",
): Effect.fn.Return<FakeCaller, TicketUnknown | StoreUnavailable | TooManyConnections, Gatekeeper | PushChannel> {
  const gate = yield* Gatekeeper
  const push = yield* PushChannel
  const events: Array<PushEvent> = []
  let closedBecause: CloseReason | undefined
  const connection = yield* push.open(ticket, address, {
    send: (event) => void events.push(event),
    backlog: () => 0,
    ping: () => true,
    close: (reason) => {
      closedBecause = reason
    },
  })
  const first = yield* Effect.onError(gate.attach(ticket), () => Effect.sync(() => connection.close()))
  if (first !== undefined) connection.send(first)
  return {
    events: Effect.sync(() => [...events]),
    closedBecause: Effect.sync(() => closedBecause),
    disconnect: Effect.sync(() => connection.close()),
  }
})
