/**
 * The lines about a ticket's life: called, started, over. With the lines of its requests they show a caller's way from the request to
 * the end of the call, on whichever instance each part happened. A ticket appears as its short hash, since its id is a credential.
 * The number of lines is limited, because callers who join and leave cause them: omitted ones are counted.
 */

import { Clock, Context, Effect, Layer } from "effect"
import { shortHash } from "../fifo-queue/short-hash.ts"
import { noteOmitted } from "../lib/log-loss.ts"
import type { TicketState } from "../protocol/ticket.ts"

/** Maximum lines of one gate in a second: several times what its calls can cause. */
const MAX_LINES = 500

export interface TicketLine {
  readonly campaign: string
  readonly ticket: string
  /** how a ticket that is over has ended */
  readonly state?: TicketState
}

/** Writes one line at the level Info. */
export class TicketLog extends Context.Service<
  TicketLog,
  (message: "ticket called" | "ticket started" | "ticket over", line: TicketLine) => Effect.Effect<void>
>()("voicegate/gatekeeper/TicketLog") {}

export const layer: Layer.Layer<TicketLog> = Layer.effect(
  TicketLog,
  Effect.map(Clock.Clock, (clock): TicketLog["Service"] => {
    let second = Number.NaN
    let lines = 0
    return (message, { ticket, ...line }) =>
      Effect.suspend(() => {
        const current = Math.floor(clock.currentTimeMillisUnsafe() / 1_000)
        if (current !== second) {
          second = current
          lines = 0
        }
        if (lines >= MAX_LINES) return noteOmitted("tickets", 1)
        lines++
        return Effect.annotateLogs(Effect.logInfo(message), { ...line, ticket: shortHash(ticket) })
      })
  }),
)

/** Names the ticket in the lines of an effect. */
export const aboutTicket =
  ({ campaign, ticket }: TicketLine) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() => Effect.annotateLogs(effect, { campaign, ticket: shortHash(ticket) }))
