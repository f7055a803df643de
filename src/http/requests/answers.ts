/** The answers to a session request: 200 for one that has started, 202 for one that waits. Refusals are in `answers/failures.ts`. */

import { Schema } from "effect"
import { accessOf } from "../../protocol/credential.ts"
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

/** 202: the ticket waits. */
export const QueuedAnswer = Schema.Struct({
  status: Schema.Literal("queued").annotate({ description: "The ticket waits." }),
  uniqueRequestId: Queued.fields.uniqueRequestId,
  queuePosition: Queued.fields.queuePosition,
  estimatedWaitSeconds: Queued.fields.estimatedWaitSeconds,
  disrupted: TicketStatus.fields.disrupted,
  paused: TicketStatus.fields.paused,
  pausedUntil: TicketStatus.fields.pausedUntil,
  eventsUrl: Schema.String.annotate({
    description: "Where the ticket's events are pushed, by WebSocket or Server-Sent Events.",
  }),
}).annotate({ identifier: "Queued" })

const encodeStarted = Schema.encodeSync(StartedAnswer)
const encodeQueued = Schema.encodeSync(QueuedAnswer)

export const startedBody = (session: Started): typeof StartedAnswer.Type => ({
  status: "started",
  ...accessOf(session),
  sessionId: session.sessionId,
  uniqueRequestId: session.uniqueRequestId,
  ...(session.silenceSeconds === undefined ? {} : { silenceSeconds: session.silenceSeconds }),
})

export const started = (session: Started): Answer => ({
  status: 200,
  outcome: "started",
  headers: JSON_HEADERS,
  body: JSON.stringify(encodeStarted(startedBody(session))),
  ticket: session.uniqueRequestId,
  startedTicket: session.uniqueRequestId,
})

export const queued = (ticket: Queued, basePath: string): Answer => ({
  status: 202,
  outcome: "queued",
  headers: JSON_HEADERS,
  body: JSON.stringify(
    encodeQueued({
      status: "queued",
      uniqueRequestId: ticket.uniqueRequestId,
      queuePosition: ticket.queuePosition,
      estimatedWaitSeconds: ticket.estimatedWaitSeconds,
      ...(ticket.disrupted ? { disrupted: true } : {}),
      ...(ticket.paused ? { paused: true } : {}),
      ...(ticket.pausedUntil === null ? {} : { pausedUntil: ticket.pausedUntil }),
      eventsUrl: eventsUrl(basePath, ticket.uniqueRequestId),
    }),
  ),
  ticket: ticket.uniqueRequestId,
  newTicket: ticket.uniqueRequestId,
})
