/** The definition of the addresses at which vendors' SDKs ask for sessions, for the documentation. They bypass the router. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { requestProblems } from "./failures.ts"
import { refusals, succeeds } from "./openapi-responses.ts"
import { problems } from "./problems.ts"

const campaign = { campaign: Schema.String.annotate({ description: "The campaign's name; `default` for the first." }) }
const text = (description: string) => Schema.String.annotate({ description })
const optionalText = (description: string) => Schema.optionalKey(text(description))
const texts = (description: string) =>
  Schema.optionalKey(Schema.Record(Schema.String, Schema.String).annotate({ description }))
const VARIABLES = "The agent's variables, `dynamicVariables` of a session request."

const error = refusals(
  problems.invalidWebhook,
  ...requestProblems.filter(({ codes }) => !codes.includes("invalid_request")),
  problems.malformedJson,
  problems.noClientAddress,
  problems.originNotAllowed,
  problems.notFound,
  problems.bodyTooLarge,
  problems.unsupportedMediaType,
  problems.internalError,
  problems.bodyAlreadyRead,
)
const NOBODY_WAITS =
  "The caller cannot wait: without a free slot the answer is 503 `queue_full` with `Retry-After`. Other fields are ignored."

export const VendorDoors = HttpApiGroup.make("Vendors' SDKs").add(
  HttpApiEndpoint.post("livekitToken", "/api/vendors/livekit/:campaign/token", {
    params: campaign,
    payload: Schema.Struct({
      participant_identity: optionalText("The caller's name, `clientIdentifier` of a session request."),
      participant_name: optionalText("Kept in the metadata."),
      participant_metadata: optionalText("Kept in the metadata."),
      participant_attributes: texts(VARIABLES),
    }),
    success: succeeds(
      200,
      Schema.Struct({
        server_url: text("The address of the LiveKit server."),
        participant_token: text("The token for it."),
      }),
    ),
    error,
  }).annotate(OpenApi.Description, `For \`TokenSource.endpoint\` of livekit-client. ${NOBODY_WAITS}`),
  HttpApiEndpoint.post("pipecatStart", "/api/vendors/pipecat/:campaign/start", {
    params: campaign,
    payload: Schema.Struct({ body: texts(VARIABLES) }),
    success: succeeds(
      200,
      Schema.Struct({
        sessionId: text("The session at Pipecat Cloud."),
        dailyRoom: text("The address of the room."),
        dailyToken: text("The token for it."),
      }),
    ),
    error,
  }).annotate(OpenApi.Description, `For \`startBotAndConnect\` of @pipecat-ai/client-js. ${NOBODY_WAITS}`),
  HttpApiEndpoint.post("retellWebCall", "/api/vendors/retell/:campaign/v3/create-web-call", {
    params: campaign,
    payload: Schema.Struct({
      metadata: texts("Data that Retell keeps with the call."),
      retell_llm_dynamic_variables: texts(VARIABLES),
    }),
    success: succeeds(
      200,
      Schema.Struct({
        call_id: text("The call at Retell."),
        access_token: text("The token for the call."),
        transport: Schema.NullOr(Schema.String).annotate({ description: "The transport that Retell has chosen." }),
        ice_servers: Schema.Array(Schema.Json).annotate({ description: "As `RTCPeerConnection` takes them." }),
        expires_at: Schema.optionalKey(Schema.Finite.annotate({ description: "In ms since 1970." })),
        url: optionalText("The address to connect to."),
      }),
    ),
    error,
  }).annotate(OpenApi.Description, `For \`RetellClient\` of retell-client-js-sdk 3. ${NOBODY_WAITS}`),
)
