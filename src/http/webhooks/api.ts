/** The endpoints to which platforms report that a session has ended. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { refusals, succeeds } from "../../protocol/endpoint-answers.ts"
import { problems } from "../../protocol/problems.ts"
import { failures } from "../answers/failures.ts"

const SessionEndedAnswer = Schema.Struct({
  released: Schema.Boolean.annotate({ description: "false for repeats and unknown sessions" }),
})

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
    success: succeeds(200, SessionEndedAnswer),
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
    success: succeeds(200, SessionEndedAnswer),
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
