/**
 * The platform's API as a document: endpoints, bodies and statuses, without handlers. Shapes are the reference's second
 * generation; every answer is an envelope.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Authorization, FormErrors } from "./Authorization.ts"
import { AtCapacity, BadRequest, Forbidden, NotFound, success } from "./envelope.ts"

const Name = Schema.String.check(Schema.isBetweenLength(1, 256))
const Variables = Schema.Record(Schema.String, Schema.String)

const InputAudio = Schema.Struct({
  sampleRate: Schema.Int.check(Schema.isBetween({ minimum: 8000, maximum: 96000 })),
  bitsPerSample: Schema.Literals([8, 16, 24, 32]),
  /** 1 PCM, 2 WAV, 3 MULAW, 4 ALAW, 5 G722, 6 G729, 7 OPUS, 8 MPEG */
  audioEncodingType: Schema.Literals([1, 2, 3, 4, 5, 6, 7, 8]),
  audioEncodingFallbackMode: Schema.Literals([0, 1]),
})
const OutputAudio = Schema.Struct({
  ...InputAudio.fields,
  frameDurationMs: Schema.Int.check(Schema.isBetween({ minimum: 20, maximum: 150 })),
})

export const InitiateBody = Schema.Struct({
  /** 0 WebSocket; 1 WebRTC is answered with 400, this platform has none */
  transportType: Schema.Literals([0, 1]),
  webCampaignId: Name,
  regionId: Name,
  clientIdentifier: Schema.optionalKey(Schema.NullOr(Name.check(Schema.isPattern(/^[^/\\]*$/)))),
  audioInputConfiguration: InputAudio,
  audioOutputConfiguration: OutputAudio,
  dynamicVariables: Schema.optionalKey(Schema.NullOr(Variables)),
  metadata: Schema.optionalKey(Schema.NullOr(Variables)),
})

export const InitiateData = Schema.Struct({
  webSessionId: Schema.String,
  conversationSessionId: Schema.String,
  sessionWebSocketURL: Schema.String,
})

/** Times are ISO 8601. */
export const HistoryData = Schema.Struct({
  webSessionId: Schema.String,
  conversationSessionId: Schema.String,
  webCampaignId: Schema.String,
  regionId: Schema.String,
  clientIdentifier: Schema.NullOr(Schema.String),
  status: Schema.Int,
  createdAt: Schema.String,
  joinedAt: Schema.NullOr(Schema.String),
  endedAt: Schema.NullOr(Schema.String),
})

const businessPath = { businessId: Name }

const Businesses = HttpApiGroup.make("businesses")
  .add(
    HttpApiEndpoint.get("read", "/business/:businessId", {
      params: businessPath,
      success: success(Schema.Struct({ id: Schema.String, name: Schema.String })),
      error: [Forbidden, NotFound],
    }),
    HttpApiEndpoint.post("initiate", "/business/:businessId/websession/initiate", {
      params: businessPath,
      payload: InitiateBody,
      success: success(InitiateData),
      error: [BadRequest, Forbidden, NotFound, AtCapacity],
    }),
    HttpApiEndpoint.post("history", "/business/:businessId/websession/history/:webSessionId", {
      params: { ...businessPath, webSessionId: Name },
      success: success(HistoryData),
      error: [Forbidden, NotFound],
    }),
  )
  .annotateMerge(OpenApi.annotations({ title: "Businesses", description: "A business and its web sessions" }))

const Users = HttpApiGroup.make("users")
  .add(
    HttpApiEndpoint.get("usage", "/user/billing/usage", {
      success: success(Schema.Struct({ currentUsage: Schema.Struct({ Call_Concurrency: Schema.Int }) })),
      error: Forbidden,
    }),
    HttpApiEndpoint.get("features", "/user/billing/featuresactivequantity", {
      success: success(Schema.Struct({ Call_Concurrency: Schema.Int })),
      error: Forbidden,
    }),
  )
  .annotateMerge(OpenApi.annotations({ title: "Users", description: "Needs a key with user management" }))

export const Api = HttpApi.make("platform")
  .add(Businesses, Users)
  .middleware(FormErrors)
  .middleware(Authorization)
  .prefix("/api/v1")
  .annotateMerge(OpenApi.annotations({ title: "voicegate local platform", version: "1" }))
