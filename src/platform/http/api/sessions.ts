/**
 * Web sessions, simulated calls and conversations of a business: definitions. Shapes are the reference's second generation, with the
 * names of its public document beside them.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Lines, Text } from "../../text.ts"
import { CountedIn, NeedsBusiness, openTo } from "../Authorization.ts"
import { success } from "../envelope.ts"
import {
  conversationFields,
  conversationFilters,
  countedPageOf,
  Message,
  sessionFields,
  sessionFilters,
} from "./reference.ts"
import { businessPath, described, FilterTime, Id, listBody, NoFilter, OptionalTime, pageOf, Time } from "./shapes.ts"

const ClientIdentifier = Id.check(Schema.isPattern(/^[^/\\]*$/))
/** With the gate's limits, so that one request cannot fill the database. */
const Variables = Schema.Record(Schema.String, Lines.check(Schema.isMaxLength(4096))).check(
  Schema.isMaxProperties(64),
  Schema.isPropertyNames(Text.check(Schema.isBetweenLength(1, 128))),
)

const InputAudio = Schema.Struct({
  sampleRate: Schema.Int.check(Schema.isBetween({ minimum: 8000, maximum: 96000 })),
  bitsPerSample: Schema.Literals([8, 16, 24, 32]),
  audioEncodingType: described(
    Schema.Literals([1, 2, 3, 4, 5, 6, 7, 8]),
    "1 PCM, 2 WAV, 3 MULAW, 4 ALAW, 5 G722, 6 G729, 7 OPUS, 8 MPEG",
  ),
  audioEncodingFallbackMode: Schema.Literals([0, 1]),
})
const OutputAudio = Schema.Struct({
  ...InputAudio.fields,
  frameDurationMs: Schema.Int.check(Schema.isBetween({ minimum: 20, maximum: 150 })),
})

const InitiateBody = Schema.Struct({
  transportType: described(
    Schema.Literals([0, 1]),
    "0 WebSocket; 1 WebRTC is answered with 400, since this platform does not support it",
  ),
  webCampaignId: Id,
  regionId: Id,
  clientIdentifier: Schema.optionalKey(Schema.NullOr(ClientIdentifier)),
  audioInputConfiguration: InputAudio,
  audioOutputConfiguration: OutputAudio,
  dynamicVariables: Schema.optionalKey(Schema.NullOr(Variables)),
  metadata: Schema.optionalKey(Schema.NullOr(Variables)),
})

const WebSession = Schema.Struct({
  webSessionId: Schema.String,
  conversationSessionId: Schema.String,
  webCampaignId: Schema.String,
  regionId: Schema.String,
  clientIdentifier: Schema.NullOr(Schema.String),
  status: described(Schema.Int, "3 handed to its server, 6 expired; ended when endedAt is set"),
  createdAt: Time,
  joinedAt: OptionalTime,
  endedAt: OptionalTime,
  endsBy: described(Schema.String, "ISO 8601; when it ends at the latest, because of the longest call of its campaign"),
  ...sessionFields,
})
const SessionFilter = Schema.Struct({
  webCampaignId: Schema.optionalKey(Id),
  clientIdentifier: Schema.optionalKey(ClientIdentifier),
  running: Schema.optionalKey(Schema.Boolean),
  from: FilterTime,
  to: FilterTime,
  ...sessionFilters(ClientIdentifier),
})

export const Sessions = HttpApiGroup.make("sessions")
  .add(
    HttpApiEndpoint.post("InitiateWebSession", "/business/:businessId/websession/initiate", {
      params: businessPath,
      payload: InitiateBody,
      success: success(
        Schema.Struct({
          webSessionId: Schema.String,
          sessionId: described(Schema.String, "webSessionId"),
          conversationSessionId: Schema.String,
          sessionWebSocketURL: described(Schema.String, "opens one WebSocket, within a minute"),
        }),
      ),
    })
      .annotate(CountedIn, "start")
      .annotateMerge(
        openTo(["start"], "429 `CONCURRENCY_LIMIT_REACHED` while the account's concurrent calls are at the limit."),
      ),
    HttpApiEndpoint.post("CountWebSessions", "/business/:businessId/websession/count", {
      params: businessPath,
      payload: listBody(SessionFilter),
      success: success(described(Schema.Int, "how many there are on all pages")),
    }).annotateMerge(openTo(["start", "read"], "Counts all pages: limit and cursors do not matter.")),
    HttpApiEndpoint.post("ListWebSessions", "/business/:businessId/websession/history", {
      params: businessPath,
      payload: listBody(SessionFilter),
      success: success(countedPageOf(WebSession)),
    }).annotateMerge(openTo(["start", "read"])),
    HttpApiEndpoint.post("GetWebSession", "/business/:businessId/websession/history/:webSessionId", {
      params: { ...businessPath, webSessionId: Id },
      success: success(WebSession),
    }).annotateMerge(openTo(["start", "read"])),
    HttpApiEndpoint.post("EndWebSession", "/business/:businessId/websession/:webSessionId/end", {
      params: { ...businessPath, webSessionId: Id },
      success: success(WebSession),
    }).annotateMerge(
      openTo(["start"], "Ends a session and closes its WebSocket. Idempotent; answers the session as it is after it."),
    ),
  )
  .middleware(NeedsBusiness)
  .annotateMerge(OpenApi.annotations({ title: "Web sessions" }))

const Call = Schema.Struct({
  callId: Schema.String,
  conversationSessionId: Schema.String,
  regionId: Schema.String,
  toNumber: Schema.String,
  status: Schema.Literals(["queued", "ringing", "active", "completed"]),
  createdAt: Time,
  answeredAt: OptionalTime,
  endedAt: OptionalTime,
})

export const Calls = HttpApiGroup.make("calls")
  .add(
    HttpApiEndpoint.post("InitiateCall", "/business/:businessId/call/initiate", {
      params: businessPath,
      payload: Schema.Struct({
        toNumber: described(Schema.String.check(Schema.isPattern(/^\+[1-9]\d{6,14}$/)), "E.164, such as +15550100"),
        regionId: Id,
      }),
      success: success(Call),
    })
      .annotate(CountedIn, "start")
      .annotateMerge(openTo(["start"], "Simulated: no telephone rings. It counts against the account's limit.")),
    HttpApiEndpoint.post("ListCalls", "/business/:businessId/call/history", {
      params: businessPath,
      payload: listBody(NoFilter),
      success: success(pageOf(Call)),
    }).annotateMerge(openTo(["start", "read"])),
    HttpApiEndpoint.get("GetCall", "/business/:businessId/call/:callId", {
      params: { ...businessPath, callId: Id },
      success: success(Call),
    }).annotateMerge(openTo(["start", "read"])),
  )
  .middleware(NeedsBusiness)
  .annotateMerge(OpenApi.annotations({ title: "Calls" }))

const Kind = Schema.Literals(["web", "call"])
const conversation = {
  conversationSessionId: Schema.String,
  kind: Kind,
  sourceId: described(Schema.String, "the web session's or the call's id"),
  clientIdentifier: Schema.NullOr(Schema.String),
  startedAt: Time,
  endedAt: OptionalTime,
  ...conversationFields,
}
const Turn = Schema.Struct({ role: Schema.Literals(["agent", "caller"]), text: Schema.String, at: Time })

export const Conversations = HttpApiGroup.make("conversations")
  .add(
    HttpApiEndpoint.post("ListConversations", "/business/:businessId/conversations", {
      params: businessPath,
      payload: listBody(
        Schema.Struct({
          kind: Schema.optionalKey(Kind),
          clientIdentifier: Schema.optionalKey(Id),
          from: FilterTime,
          to: FilterTime,
          ...conversationFilters,
        }),
      ),
      success: success(countedPageOf(Schema.Struct(conversation))),
    }).annotateMerge(openTo(["read"])),
    HttpApiEndpoint.get("GetConversation", "/business/:businessId/conversations/:sessionId", {
      params: { ...businessPath, sessionId: Id },
      success: success(Schema.Struct({ ...conversation, turns: Schema.Array(Turn), messages: Schema.Array(Message) })),
    }).annotateMerge(openTo(["read"])),
  )
  .middleware(NeedsBusiness)
  .annotateMerge(OpenApi.annotations({ title: "Conversations" }))
