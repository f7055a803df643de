/** The definition of the gate's HTTP API: shown by `/openapi.json` and `/docs`, and served by the router. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { PushCommand, PushEvent, SessionRequest, SilenceReport } from "../protocol/Session.ts"
import { refusals, succeeds } from "./answers/described.ts"
import { calledAgain, failures, requestProblems, startProblems } from "./answers/failures.ts"
import { problems } from "./answers/problems.ts"
import * as successes from "./requests/successes.ts"

/** An SDP offer or answer as the body. */
const asSdp = HttpApiSchema.asText({ contentType: "application/sdp" })

const id = { id: Schema.String.annotate({ description: "The ticket's uniqueRequestId." }) }

/** The session request. It bypasses the router and runs as a single effect, because it is the hot path. */
const Requests = HttpApiGroup.make("Session requests").add(
  HttpApiEndpoint.post("request", "/api/session/request", {
    payload: SessionRequest,
    success: [succeeds(200, successes.StartedAnswer), succeeds(202, successes.QueuedAnswer)],
    error: refusals(
      ...requestProblems,
      problems.malformedJson,
      problems.noClientAddress,
      problems.originNotAllowed,
      problems.bodyTooLarge,
      problems.unsupportedMediaType,
      problems.askedTooOften,
      problems.internalError,
      problems.bodyAlreadyRead,
    ),
  }).annotate(OpenApi.Description, "Asks for a session: started at once, or a place in the queue."),
)

const Pushed = PushEvent.annotate({ identifier: "PushEvent" })

/** A record of Server-Sent Events. */
const EventRecord = Schema.Struct({
  event: Schema.String.annotate({ description: "The type of the event." }),
  data: Schema.fromJsonString(Pushed),
})

/** Push: a WebSocket when upgraded, else Server-Sent Events. */
const Events = HttpApiGroup.make("Push").add(
  HttpApiEndpoint.get("events", "/api/session/:id/events", {
    params: id,
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

/** Both ways to leave are refused for the same reasons. */
const leaveRefusals = refusals(
  problems.originNotAllowed,
  problems.askedTooOften,
  problems.internalError,
  ...failures.StoreUnavailable.problems,
)

export const Tickets = HttpApiGroup.make("Tickets").add(
  HttpApiEndpoint.get("status", "/api/session/:id", {
    params: id,
    query: {
      hidden: Schema.optionalKey(
        // a repeated parameter is a list, and is ignored
        Schema.Union([Schema.String, Schema.Array(Schema.String)]).annotate({
          description: "`true`: the page is hidden, so a turn that the ticket has now lasts twice the start window.",
        }),
      ),
    },
    success: succeeds(200, successes.TicketStatusAnswer),
    error: refusals(
      problems.originNotAllowed,
      ...failures.TicketUnknown.problems,
      problems.askedTooOften,
      problems.internalError,
      ...failures.StoreUnavailable.problems,
    ),
  }).annotate(OpenApi.Description, "The ticket's state. Each request counts as presence, unless it is refused (429)."),
  HttpApiEndpoint.post("start", "/api/session/:id/start", {
    params: id,
    success: succeeds(200, successes.StartedAnswer),
    error: refusals(
      problems.originNotAllowed,
      ...failures.TicketUnknown.problems,
      ...failures.NotYourTurn.problems,
      ...failures.TicketOver.problems,
      problems.askedTooOften,
      problems.internalError,
      ...failures.Draining.problems,
      ...startProblems,
      ...failures.StoreUnavailable.problems,
    ),
  }).annotate(OpenApi.Description, "Starts the session of a called ticket."),
  HttpApiEndpoint.post("relay", "/api/session/:id/relay", {
    params: id,
    headers: {
      authorization: Schema.optionalKey(
        Schema.String.annotate({ description: "`Bearer` and the credential's `token`. Required." }),
      ),
    },
    payload: Schema.String.annotate({ description: "The page's SDP offer, of at most 64 KiB." }).pipe(asSdp),
    success: succeeds(201, successes.SdpAnswer.pipe(asSdp), successes.sdpHeaders),
    error: refusals(
      problems.invalidOffer,
      problems.originNotAllowed,
      ...failures.CredentialRefused.problems,
      ...failures.TicketUnknown.problems,
      calledAgain,
      ...failures.TicketOver.problems,
      problems.bodyTooLarge,
      problems.unsupportedMediaType,
      problems.askedTooOften,
      problems.internalError,
      problems.bodyAlreadyRead,
      ...failures.Draining.problems,
      ...startProblems,
      ...failures.StoreUnavailable.problems,
    ),
  }).annotate(
    OpenApi.Description,
    "Begins the session of an `sdp-relay` credential with the page's SDP offer, once. The answer is the vendor's SDP answer.",
  ),
  HttpApiEndpoint.post("silence", "/api/session/:id/silence", {
    params: id,
    payload: SilenceReport,
    success: succeeds(200, successes.SilenceAnswer),
    error: refusals(
      problems.invalidReport,
      problems.malformedJson,
      problems.originNotAllowed,
      ...failures.TicketUnknown.problems,
      ...failures.TicketOver.problems,
      problems.bodyTooLarge,
      problems.unsupportedMediaType,
      problems.askedTooOften,
      problems.internalError,
      problems.bodyAlreadyRead,
      ...failures.StoreUnavailable.problems,
    ),
  }).annotate(
    OpenApi.Description,
    "The page of a running call reports how long nobody has spoken, or that somebody speaks, where the session has `silenceSeconds`. The same as the command `silence`.",
  ),
  HttpApiEndpoint.delete("leave", "/api/session/:id", {
    params: id,
    success: succeeds(204, Schema.Void),
    error: leaveRefusals,
  }).annotate(
    OpenApi.Description,
    "Gives up a place or a reserved slot, or ends a call where the platform can end it; idempotent.",
  ),
  HttpApiEndpoint.post("leaveWithPage", "/api/session/:id/leave", {
    params: id,
    success: succeeds(204, Schema.Void),
    error: leaveRefusals,
  }).annotate(
    OpenApi.Description,
    "The same as `DELETE`, for `navigator.sendBeacon` while a page is closed. A body is ignored.",
  ),
)

const webhookHeader = (description: string) => Schema.optionalKey(Schema.String.annotate({ description }))

export const Webhooks = HttpApiGroup.make("Webhooks").add(
  HttpApiEndpoint.post("sessionEnded", "/api/webhook/session-ended", {
    headers: {
      "x-api-token": webhookHeader("The token of `Security.WebhookApiToken`."),
      "webhook-id": webhookHeader("Standard Webhooks 1.0, with `Security.WebhookSigningSecret`."),
      "webhook-timestamp": webhookHeader("Unix seconds."),
      "webhook-signature": webhookHeader("One or more, `v1,<base64>`."),
    },
    payload: Schema.Struct({
      ConversationSessionId: Schema.optionalKey(
        Schema.String.annotate({ description: "The conversation that has ended. One of the three is required." }),
      ),
      WebSessionId: Schema.optionalKey(
        Schema.String.annotate({ description: "The web session that has ended. One of the three is required." }),
      ),
      SessionId: Schema.optionalKey(
        Schema.String.annotate({ description: "Either of them. One of the three is required." }),
      ),
    }),
    success: succeeds(200, successes.SessionEndedAnswer),
    error: refusals(
      problems.invalidWebhook,
      problems.malformedJson,
      problems.webhookUnauthorized,
      problems.bodyTooLarge,
      problems.unsupportedMediaType,
      problems.internalError,
      problems.bodyAlreadyRead,
      ...failures.StoreUnavailable.problems,
    ),
  }).annotate(
    OpenApi.Description,
    "The platform reports that a session has ended. Header `X-Api-Token`, or `webhook-id`, `webhook-timestamp`, `webhook-signature`.",
  ),
  HttpApiEndpoint.post("vendor", "/api/webhook/:platform", {
    params: {
      platform: Schema.String.annotate({ description: "The `Platform` of the campaigns whose vendor reports." }),
    },
    payload: Schema.Unknown.annotate({ description: "As the vendor documents it." }),
    success: succeeds(200, successes.SessionEndedAnswer),
    error: refusals(
      problems.webhookUnauthorized,
      problems.askedTooOften,
      problems.notFound,
      problems.bodyTooLarge,
      problems.unsupportedMediaType,
      problems.internalError,
      problems.bodyAlreadyRead,
      ...failures.StoreUnavailable.problems,
    ),
  }).annotate(
    OpenApi.Description,
    "A vendor's webhook, authenticated by the vendor's signature. One that ends no session is accepted and ignored.",
  ),
)

export const Operations = HttpApiGroup.make("Operations").add(
  HttpApiEndpoint.get("live", "/health/live", {
    success: succeeds(200, successes.LiveAnswer),
    error: refusals(),
  }).annotate(OpenApi.Description, "Whether the process answers. A failure means: restart it."),
  HttpApiEndpoint.get("ready", "/health/ready", {
    success: succeeds(200, successes.ReadyAnswer),
    error: refusals(problems.internalError, problems.notReady),
  }).annotate(OpenApi.Description, "Whether this instance accepts callers. A failure means: send them elsewhere."),
)

/** The part of the API that the router serves. */
export const Routed = HttpApi.make("voicegate").add(Tickets).add(Webhooks).add(Operations)

const DESCRIPTION = `The gatekeeper between a browser's voice widget and a voice-agent platform.

Any other path is answered with 404 \`not_found\`, and any other method of a path with 405 \`method_not_allowed\` and \`Allow\`.
Answers to pages of other origins (\`Security.AllowedOrigins\`) also have CORS headers and \`Vary\`.

Documents: [Configuration](docs/configuration) · [Wire protocol](docs/wire) · [Embedding](docs/embedding) ·
[Operating](docs/operating) · [Promises](docs/promises) · [Local platform](docs/platform) · [Vendors](docs/vendors)`

/** The whole API, for the documentation. */
export const Documented = HttpApi.make("voicegate")
  .add(Requests)
  .add(Events)
  .add(Tickets)
  .add(Webhooks)
  .add(Operations)
  .annotate(HttpApi.AdditionalSchemas, [
    PushCommand.annotate({ identifier: "PushCommand" }),
    problems.notFound.body,
    problems.methodNotAllowed.body,
  ])
  .annotateMerge(OpenApi.annotations({ title: "voicegate", version: "1", description: DESCRIPTION }))
