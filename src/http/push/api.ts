/** The endpoint of a ticket's events: what is pushed, and how a connection is refused. */

import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { refusals, succeeds } from "../../protocol/endpoint-answers.ts"
import { PushEvent } from "../../protocol/events.ts"
import { problems } from "../../protocol/problems.ts"
import { failures } from "../answers/failures.ts"

const Pushed = PushEvent.annotate({ identifier: "PushEvent" })

/** A record of Server-Sent Events. */
const EventRecord = Schema.Struct({
  event: Schema.String.annotate({ description: "The type of the event." }),
  data: Schema.fromJsonString(Pushed),
})

/** Push: a WebSocket when upgraded, else Server-Sent Events. */
export const Events = HttpApiGroup.make("Push").add(
  HttpApiEndpoint.get("events", "/api/session/:id/events", {
    params: { id: Schema.String.annotate({ description: "The ticket's uniqueRequestId." }) },
    success: [
      succeeds(
        200,
        EventRecord.annotate({ description: "Server-Sent Events; the schema describes one record." }).pipe(
          HttpApiSchema.asJson({ contentType: "text/event-stream" }),
        ),
        {
          "cache-control": Schema.Literal("no-store, no-transform").annotate({
            description: "The answer is neither cached nor compressed on its way, since both delay events.",
          }),
          "x-accel-buffering": Schema.Literal("no").annotate({ description: "Asks proxies not to buffer." }),
        },
      ),
      HttpApiSchema.WithHeaders(
        HttpApiSchema.Empty(101).annotate({
          description: "The WebSocket is open: it sends `PushEvent` and accepts `PushCommand`, as JSON.",
        }),
        {
          upgrade: Schema.Literal("websocket").annotate({ description: "The protocol of the connection." }),
          "sec-websocket-accept": Schema.String.annotate({ description: "The handshake's answer (RFC 6455)." }),
        },
      ),
    ],
    error: refusals(
      problems.originNotAllowed,
      ...failures.TicketUnknown.problems,
      ...failures.TooManyConnections.problems,
      problems.askedTooOften,
      problems.internalError,
      ...failures.StoreUnavailable.problems,
    ),
  }).annotate(OpenApi.Description, "A WebSocket when upgraded, else Server-Sent Events."),
)
