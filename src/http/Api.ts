/** The gate's wire as definitions: what `/openapi.json` and `/docs` show, and what the router serves. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { FieldIssue, SessionRequest, TicketState } from "../Session.ts"

const described = <S extends Schema.Top>(schema: S, description: string): S["Rebuild"] =>
  schema.annotate({ description })

const started = Schema.Struct({
  status: Schema.Literal("started"),
  webSocketUrl: described(Schema.String, "Opens one WebSocket of the session; good for about five minutes."),
  sessionId: Schema.String,
  uniqueRequestId: described(Schema.String, "The ticket: its bearer's only credential."),
}).annotate({ identifier: "Started" })

const queued = Schema.Struct({
  status: Schema.Literal("queued"),
  uniqueRequestId: described(Schema.String, "The ticket: its bearer's only credential."),
  queuePosition: described(Schema.Int, "1 is next; 0 when the ticket is called already."),
  estimatedWaitSeconds: described(Schema.NullOr(Schema.Int), "null while no call has been measured."),
  disrupted: described(
    Schema.optionalKey(Schema.Literal(true)),
    "The voice agent cannot be reached at the moment; nobody loses their place.",
  ),
  eventsUrl: described(Schema.String, "Where the ticket's events are pushed, by WebSocket or Server-Sent Events."),
}).annotate({ identifier: "Queued" })

const ticketStatus = Schema.Struct({
  uniqueRequestId: Schema.String,
  state: TicketState,
  queuePosition: Schema.optionalKey(Schema.Int),
  queueLength: Schema.optionalKey(Schema.Int),
  estimatedWaitSeconds: Schema.optionalKey(Schema.NullOr(Schema.Int)),
  disrupted: described(
    Schema.optionalKey(Schema.Literal(true)),
    "The voice agent cannot be reached at the moment; nobody loses their place. While waiting.",
  ),
  startBefore: described(Schema.optionalKey(Schema.String), "ISO 8601; while called."),
  webSocketUrl: Schema.optionalKey(Schema.String),
  sessionId: Schema.optionalKey(Schema.String),
}).annotate({ identifier: "TicketStatus" })

const ProblemDocument = Schema.Struct({
  type: Schema.String,
  title: Schema.String,
  status: Schema.Int,
  detail: Schema.String,
  code: described(Schema.String, "Stable; for programs."),
  message: described(Schema.String, "The same as detail, under the name the .NET middleware used."),
  errors: Schema.optionalKey(Schema.Array(FieldIssue)),
  retryAfterSeconds: Schema.optionalKey(Schema.Int),
}).annotate({ identifier: "Problem", description: "RFC 9457 problem document" })

const problem = (status: number, description: string) =>
  ProblemDocument.annotate({ identifier: `Problem${status}`, description }).pipe(
    HttpApiSchema.asJson({ contentType: "application/problem+json" }),
    HttpApiSchema.status(status),
  )

const id = { id: described(Schema.String, "The ticket's uniqueRequestId.") }
const askedTooOften = problem(429, "`rate_limited`: too often asked by this address, with Retry-After")
const storeAway = problem(503, "`store_unavailable`: try again after Retry-After")

/** The request that everything begins with. It is answered beside the router, at the price of one effect. */
const Requests = HttpApiGroup.make("Session requests").add(
  HttpApiEndpoint.post("request", "/api/session/request", {
    payload: SessionRequest,
    success: [started, queued.pipe(HttpApiSchema.status(202))],
    error: [
      problem(400, "`invalid_request`, `unknown_campaign`, `region_not_allowed`, `malformed_json`"),
      problem(403, "`blocked` (reason: vpn, proxy, tor, datacenter, ip_check_failed), `origin_not_allowed`"),
      problem(413, "`body_too_large`"),
      problem(415, "`unsupported_media_type`"),
      problem(
        429,
        "`rate_limited`, with Retry-After, RateLimit-Policy and RateLimit; without the last two when a ticket was named too often",
      ),
      problem(422, "`request_refused`"),
      problem(502, "`platform_rejected`"),
      problem(503, "`queue_full`, `draining`, `platform_unavailable`, `store_unavailable`, with Retry-After"),
    ],
  }).annotate(OpenApi.Description, "Asks for a session: started at once, or a place in the queue."),
)

/** Push, which is a WebSocket when upgraded and Server-Sent Events otherwise. */
const Events = HttpApiGroup.make("Push").add(
  HttpApiEndpoint.get("events", "/api/session/:id/events", {
    params: id,
    success: described(
      Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/event-stream" })),
      "Events of the ticket as JSON: `position` (with `disrupted: true` while the voice agent cannot be reached), `start_call`, `session`, `ended`, `error`, `reconnect`.",
    ),
    error: [
      problem(403, "`origin_not_allowed`"),
      problem(404, "`ticket_unknown`"),
      problem(429, "`too_many_connections`, `rate_limited` (too many tickets asked for that there are not)"),
      storeAway,
    ],
  }).annotate(
    OpenApi.Description,
    'A WebSocket when upgraded (it takes `{"type":"start"}` and `{"type":"leave"}`), else Server-Sent Events.',
  ),
)

export const Tickets = HttpApiGroup.make("Tickets").add(
  HttpApiEndpoint.get("status", "/api/session/:id", {
    params: id,
    success: ticketStatus,
    error: [problem(404, "`ticket_unknown`"), askedTooOften, storeAway],
  }).annotate(OpenApi.Description, "Where the ticket stands; asking counts as presence, unless it is refused (429)."),
  HttpApiEndpoint.post("start", "/api/session/:id/start", {
    params: id,
    success: started,
    error: [
      problem(404, "`ticket_unknown`"),
      problem(409, "`not_your_turn`, `start_in_progress`, `agent_busy`, `agent_unavailable`"),
      problem(410, "`ticket_over`"),
      askedTooOften,
      problem(422, "`request_refused`"),
      problem(502, "`platform_rejected`"),
      problem(503, "`draining`, `platform_unavailable`, `store_unavailable`: try again after Retry-After"),
    ],
  }).annotate(
    OpenApi.Description,
    "Starts the session of a called ticket. After `agent_busy` and `agent_unavailable` it is at its own place again, and is called again.",
  ),
  HttpApiEndpoint.delete("leave", "/api/session/:id", {
    params: id,
    success: HttpApiSchema.NoContent,
    error: [askedTooOften, storeAway],
  }).annotate(OpenApi.Description, "Gives up a place or a reserved slot; idempotent."),
)

export const Webhooks = HttpApiGroup.make("Webhooks").add(
  HttpApiEndpoint.post("sessionEnded", "/api/webhook/session-ended", {
    payload: Schema.Struct({
      ConversationSessionId: Schema.optionalKey(Schema.String),
      WebSessionId: Schema.optionalKey(Schema.String),
    }),
    success: Schema.Struct({ released: described(Schema.Boolean, "false for repeats and unknown sessions") }),
    error: [
      problem(400, "`invalid_request`, `malformed_json`"),
      problem(401, "`webhook_unauthorized`"),
      problem(413, "`body_too_large`"),
      storeAway,
    ],
  }).annotate(
    OpenApi.Description,
    "The platform says that a session has ended. Header `X-Api-Token`, or `webhook-id`, `webhook-timestamp`, `webhook-signature`.",
  ),
)

export const Operations = HttpApiGroup.make("Operations").add(
  HttpApiEndpoint.get("live", "/health/live", { success: Schema.Struct({ status: Schema.Literal("ok") }) }),
  HttpApiEndpoint.get("ready", "/health/ready", {
    success: Schema.Struct({ status: Schema.Literal("ready") }),
    error: problem(
      503,
      "`not_ready`: draining, the store cannot be reached or takes no writes, or the slots are not known yet",
    ),
  }),
)

/** What the router serves. */
export const Routed = HttpApi.make("voicegate").add(Tickets).add(Webhooks).add(Operations)

/** What any of them may answer before it looks at the request further. */
const EVERYWHERE =
  "Any request may also be answered 421 `host_not_allowed`: its `Host` is no name of this gate (`Server.AllowedHosts`)."

/** All of the wire, for the documents. */
export const Documented = HttpApi.make("voicegate")
  .add(Requests)
  .add(Events)
  .add(Tickets)
  .add(Webhooks)
  .add(Operations)
  .annotateMerge(
    OpenApi.annotations({
      title: "voicegate",
      version: "1",
      description: `The gatekeeper between a browser's voice widget and a voice-agent platform. ${EVERYWHERE}`,
    }),
  )
