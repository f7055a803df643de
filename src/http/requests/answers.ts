/** The answers to a session request: 200 for one that has started, 202 for one that waits. Refusals are in `answers/failures.ts`. */

import { Schema } from "effect"
import { Queued, Started } from "../../protocol/session-answers.ts"
import { TicketStatus } from "../../protocol/ticket.ts"
import { type Answer, JSON_TYPE } from "../answers/answer.ts"
import { eventsUrl } from "../incoming/paths.ts"

const JSON_HEADERS = { "content-type": JSON_TYPE }

/** 200: the session has started. */
export const StartedAnswer = Schema.Struct({
  status: Schema.Literal("started").annotate({ description: "The session has started." }),
  ...Started.fields,
}).annotate({
  identifier: "Started",
})

/** A field of `Queued` is one of the 202, unless it is named here: told only where it applies, or not at all. */
const { _tag, called, disrupted, paused, pausedUntil, queueLength, resumesAt, ...toldOfQueued } = Queued.fields

/** 202: the ticket waits. */
export const QueuedAnswer = Schema.Struct({
  status: Schema.Literal("queued").annotate({ description: "The ticket waits." }),
  ...toldOfQueued,
  disrupted: TicketStatus.fields.disrupted,
  paused: TicketStatus.fields.paused,
  pausedUntil: TicketStatus.fields.pausedUntil,
  resumesAt: TicketStatus.fields.resumesAt,
  eventsUrl: Schema.String.annotate({
    description: "Where the ticket's events are pushed, by WebSocket or Server-Sent Events.",
  }),
}).annotate({ identifier: "Queued" })

const encodeStarted = Schema.encodeSync(StartedAnswer)
const encodeQueued = Schema.encodeSync(QueuedAnswer)

export const startedBody = (session: Started): typeof StartedAnswer.Type => ({
  status: "started",
  ...session,
})

export const started = (session: Started): Answer => ({
  status: 200,
  outcome: "started",
  headers: JSON_HEADERS,
  body: JSON.stringify(encodeStarted(startedBody(session))),
  ticket: session.uniqueRequestId,
  startedTicket: session.uniqueRequestId,
})

export const queued = (
  { _tag, called, disrupted, paused, pausedUntil, queueLength, resumesAt, ...told }: Queued,
  basePath: string,
): Answer => ({
  status: 202,
  outcome: "queued",
  headers: JSON_HEADERS,
  body: JSON.stringify(
    encodeQueued({
      status: "queued",
      ...told,
      ...(disrupted ? { disrupted } : {}),
      ...(paused ? { paused } : {}),
      ...(pausedUntil === null ? {} : { pausedUntil }),
      ...(resumesAt === null ? {} : { resumesAt }),
      eventsUrl: eventsUrl(basePath, told.uniqueRequestId),
    }),
  ),
  ticket: told.uniqueRequestId,
  newTicket: told.uniqueRequestId,
})
