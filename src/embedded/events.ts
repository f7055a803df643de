/**
 * A ticket's events for a host, as an async iterable. A connection of the push channel like any other: while it is read, the ticket counts
 * as present. It opens with the first `next` and closes when the ticket ends, the gate closes, or the iterator returns.
 */

import { Effect, Queue, Stream } from "effect"
import type { Gatekeeper } from "../gatekeeper/Gatekeeper.ts"
import { toProblem } from "../http/answers/failures.ts"
import { awaitStart } from "../http/push/await-start.ts"
import { lostEvent, type PushEvent } from "../protocol/events.ts"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import type { PushChannel, TooManyConnections } from "../push-channel/PushChannel.ts"

interface Entry {
  readonly event: PushEvent
  readonly size: number
}

const errorEvent = (error: StoreUnavailable | TooManyConnections): PushEvent => {
  const { code, detail } = toProblem(error)
  return { type: "error", code, message: detail }
}

/** The events of a ticket, beginning with its state. An unknown ticket has one event, `ended`; if it cannot be looked up, `error`. */
export const eventsOf = (
  ticket: string,
  gatekeeper: Gatekeeper["Service"],
  channel: PushChannel["Service"],
): Stream.Stream<PushEvent> =>
  Stream.suspend(() => {
    /** the size of the events that are not read yet, in characters */
    let backlog = 0
    let closed = false
    return Stream.callback<Entry>((queue) => {
      const offer = (event: PushEvent, text = JSON.stringify(event)): void => {
        backlog += text.length
        Queue.offerUnsafe(queue, { event, size: text.length })
      }
      const last = (event: PushEvent): Effect.Effect<void> =>
        Effect.sync(() => {
          offer(event)
          Queue.endUnsafe(queue)
        })
      const connection = {
        send: offer,
        backlog: () => backlog,
        ping: () => !closed,
        close: () => Queue.endUnsafe(queue),
      }
      // the host reads tickets of many callers, so connections are limited per ticket, not per caller
      const open = Effect.acquireRelease(channel.open(ticket, ticket, connection), (opened) =>
        Effect.sync(() => {
          closed = true
          opened.close()
        }),
      )
      const isClosed = (): boolean => closed
      return Effect.gen(function* () {
        const opened = yield* open
        const first = yield* gatekeeper.attach(ticket)
        if (first === undefined) yield* awaitStart(gatekeeper.attach(ticket), isClosed, opened)
        else opened.send(first)
      }).pipe(
        Effect.catchTags({
          TicketUnknown: () => last(lostEvent),
          StoreUnavailable: (error) => last(errorEvent(error)),
          TooManyConnections: (error) => last(errorEvent(error)),
        }),
      )
    }).pipe(
      Stream.map(({ event, size }) => {
        backlog -= size
        return event
      }),
    )
  })
