/** The endpoints of session requests and tickets: what they take, what they answer, and how they refuse. */

import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Availability } from "../../protocol/availability.ts"
import { refusals, succeeds } from "../../protocol/endpoint-answers.ts"
import { Input, Takes } from "../../protocol/endpoint-input.ts"
import { MAX_SILENCE_SECONDS, SilenceAnswer as Silence, SilenceReport } from "../../protocol/events.ts"
import { problems } from "../../protocol/problems.ts"
import { SessionRequest } from "../../protocol/request.ts"
import { TicketStatus } from "../../protocol/ticket.ts"
import { calledAgainProblems, failures, requestProblems, startProblems } from "../answers/failures.ts"
import { QueuedAnswer, StartedAnswer } from "./answers.ts"

const TicketStatusAnswer = TicketStatus.annotate({ identifier: "TicketStatus" })

/** 201: the vendor's answer to the page's offer. */
const SdpAnswer = Schema.String.annotate({ description: "The vendor's SDP answer." })
const sdpHeaders = {
  location: Schema.optionalKey(
    Schema.String.annotate({ description: "Ends with the vendor's own id of the call, where the vendor names one." }),
  ),
}

export const SilenceAnswer = Silence.annotate({ identifier: "SilenceAnswer" })

export const noOffer = problems.invalidOffer.make(
  "invalid_request",
  "body: Expected an SDP offer.",
  { errors: [{ field: "body", message: "Expected an SDP offer" }] },
  {},
)

/** What a report of silence must say. */
export const NO_SILENCE = `Expected how long nobody has spoken, a number from 0 to ${MAX_SILENCE_SECONDS}`
const noSilence = problems.invalidReport.make(
  "invalid_request",
  `seconds: ${NO_SILENCE}.`,
  { errors: [{ field: "seconds", message: NO_SILENCE }] },
  {},
)

/** An SDP offer or answer as the body. */
const asSdp = HttpApiSchema.asText({ contentType: "application/sdp" })

const id = { id: Schema.String.annotate({ description: "The ticket's uniqueRequestId." }) }

/** The session request. It is the hot path, so `server/dispatch.ts` serves it as a single effect, without the router. */
export const Requests = HttpApiGroup.make("Session requests").add(
  HttpApiEndpoint.post("request", "/api/session/request", {
    payload: SessionRequest,
    success: [succeeds(200, StartedAnswer), succeeds(202, QueuedAnswer)],
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

/** What a page may show before its visitor asks for a session. */
export const Availabilities = HttpApiGroup.make("Availability").add(
  HttpApiEndpoint.get("availability", "/api/availability", {
    query: {
      campaignId: Schema.optionalKey(
        // a repeated parameter is a list, which names no campaign
        Schema.Union([Schema.String, Schema.Array(Schema.String)]).annotate({
          description: "A configured campaign; the default campaign when absent.",
        }),
      ),
    },
    success: succeeds(200, Availability.annotate({ identifier: "Availability" })),
    error: refusals(problems.unknownCampaign, problems.originNotAllowed),
  }).annotate(
    OpenApi.Description,
    "Whether a newcomer would be served now, and when. It takes no place and no quota, and promises nothing. Answered from memory, by the last sweep.",
  ),
)

/** What a page may say when it leaves. */
const leaving = {
  taken: Schema.optionalKey(
    // a repeated parameter is a list, and is ignored like any other word
    Schema.Union([Schema.String, Schema.Array(Schema.String)]).annotate({
      description: "`number`, `link` or `campaign`: the caller leaves for such an offer, which is counted.",
    }),
  ),
}

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
    success: succeeds(200, TicketStatusAnswer),
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
    success: succeeds(200, StartedAnswer),
    error: refusals(
      problems.originNotAllowed,
      ...failures.TicketUnknown.problems,
      ...failures.NotYourTurn.problems,
      ...failures.TicketOver.problems,
      problems.askedTooOften,
      problems.internalError,
      ...failures.Draining.problems,
      ...startProblems,
      ...failures.BudgetExhausted.problems,
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
    success: succeeds(201, SdpAnswer.pipe(asSdp), sdpHeaders),
    error: refusals(
      problems.invalidOffer,
      problems.originNotAllowed,
      ...failures.CredentialRefused.problems,
      ...failures.TicketUnknown.problems,
      ...calledAgainProblems,
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
  })
    .middleware(Input)
    .annotate(Takes, { body: "application/sdp", otherwise: noOffer })
    .annotate(
      OpenApi.Description,
      "Begins the session of an `sdp-relay` credential with the page's SDP offer, once. The answer is the vendor's SDP answer.",
    ),
  HttpApiEndpoint.post("silence", "/api/session/:id/silence", {
    params: id,
    payload: SilenceReport,
    success: succeeds(200, SilenceAnswer),
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
  })
    .middleware(Input)
    .annotate(Takes, { body: "application/json", otherwise: noSilence })
    .annotate(
      OpenApi.Description,
      "The page of a running call reports how long nobody has spoken, or that somebody speaks, where the session has `silenceSeconds`. The same as the command `silence`.",
    ),
  HttpApiEndpoint.delete("leave", "/api/session/:id", {
    params: id,
    query: leaving,
    success: succeeds(204, Schema.Void),
    error: leaveRefusals,
  }).annotate(
    OpenApi.Description,
    "Gives up a place or a reserved slot, or ends a call where the platform can end it; idempotent.",
  ),
  HttpApiEndpoint.post("leaveWithPage", "/api/session/:id/leave", {
    params: id,
    query: leaving,
    success: succeeds(204, Schema.Void),
    error: leaveRefusals,
  }).annotate(
    OpenApi.Description,
    "The same as `DELETE`, for `navigator.sendBeacon` while a page is closed. A body is ignored.",
  ),
)
