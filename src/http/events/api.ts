/** The endpoint at which a host's own programs read the events of a campaign. */
import { Schema, SchemaTransformation } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { MAX_EVENTS_PER_PAGE } from "../../events/EventLog.ts"
import { refuseUnknown } from "../../lib/refuse-unknown.ts"
import { refusals, succeeds } from "../../protocol/endpoint-answers.ts"
import { Input, Takes } from "../../protocol/endpoint-input.ts"
import { HostEvent } from "../../protocol/host-events.ts"
import { plain, problem, problems, unauthenticated } from "../../protocol/problems.ts"
import { failures } from "../answers/failures.ts"

const Cursor = Schema.String.annotate({
  description: "The `after` of the next request. Store it when you have stored the events.",
})

/** The problems with which the endpoint refuses a request. */
export const eventProblems = {
  invalid: plain("EventsInvalid", 400, "invalid_request"),
  unauthorized: unauthenticated(
    "EventsUnauthorized",
    "events_unauthorized",
    'Bearer realm="voicegate events"',
    "the token is missing, or not that of the campaign",
  ),
  expired: problem("EventsExpired", 410, ["cursor_expired"], {
    members: {
      next: Cursor.annotate({ description: "The cursor before the oldest event that is kept." }),
    },
    headers: {},
    remark: "events after the cursor were dropped, or the log has begun anew",
  }),
}
const { expired, invalid, unauthorized } = eventProblems

const wholeNumber = (description: string) =>
  Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^\d{1,15}$/))
      .annotate({ description })
      .pipe(Schema.decodeTo(Schema.Int, SchemaTransformation.numberFromString)),
  )

const EventPage = Schema.Struct({
  events: Schema.Array(HostEvent).annotate({ description: "In the order of `seq`." }),
  next: Cursor,
  more: Schema.Boolean.annotate({ description: "Whether there are more events now." }),
})

export const HostEvents = HttpApiGroup.make("HostEvents")
  .add(
    HttpApiEndpoint.get("events", "/api/events", {
      headers: {
        authorization: Schema.optionalKey(
          Schema.String.annotate({ description: "`Bearer` and a token of the campaign's `Events.Token`." }),
        ),
      },
      query: {
        campaign: Schema.optionalKey(
          Schema.String.annotate({ description: "The campaign's name; the default campaign when absent." }),
        ),
        after: wholeNumber("The `next` of the answer before; from the oldest event when absent."),
        limit: wholeNumber(`How many events; 100 when absent, at most ${MAX_EVENTS_PER_PAGE}.`),
      },
      success: succeeds(200, EventPage),
      error: refusals(
        invalid,
        unauthorized,
        problems.notFound,
        expired,
        problems.internalError,
        ...failures.StoreUnavailable.problems,
      ),
    })
      .middleware(Input)
      .annotate(Takes, {
        body: undefined,
        otherwise: invalid.make("query: Expected whole numbers as after and limit."),
      })
      .annotate(
        OpenApi.Description,
        "The events of a campaign after a cursor, oldest first. 404 where no campaign has `Events.Token`.",
      ),
  )
  // a misspelt `after` must not begin with the oldest event again
  .annotateMerge(refuseUnknown)
