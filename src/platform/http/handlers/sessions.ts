/** Handlers of web sessions, simulated calls and conversations. */
import { Effect, Layer, Redacted } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Businesses } from "../../businesses/Businesses.ts"
import { WebCampaigns } from "../../businesses/WebCampaigns.ts"
import { type Call, Calls } from "../../calls/Calls.ts"
import { type Conversation, Conversations } from "../../calls/Conversations.ts"
import { LiveSessions } from "../../calls/LiveSessions.ts"
import { socketPath } from "../../calls/socket.ts"
import { type WebSession, WebSessions } from "../../calls/WebSessions.ts"
import { refuse } from "../../model.ts"
import { Api } from "../Api.ts"
import { Caller, CurrentBusiness } from "../Authorization.ts"
import { iso, isoOrNull, mapPage } from "../api/shapes.ts"
import { respond } from "../envelope.ts"
import {
  conversationFieldsOf,
  conversationFilterOf,
  countedPage,
  messageOf,
  sessionFieldsOf,
  sessionFilterOf,
} from "./reference.ts"

/** Shows a session to the caller; what a site said of its visitor only to keys with `read`. */
const sessionShower = Effect.map(Caller, ({ key }) => (session: WebSession) => {
  const { businessId: _business, dynamicVariables, metadata, userId: _user, ...shown } = session
  return {
    ...shown,
    createdAt: iso(shown.createdAt),
    joinedAt: isoOrNull(shown.joinedAt),
    endedAt: isoOrNull(shown.endedAt),
    endsBy: iso(shown.endsBy),
    ...sessionFieldsOf(session),
    ...(key.permissions.includes("read") ? { dynamicVariables, metadata } : {}),
  }
})

const showCall = ({ businessId: _business, ...shown }: Call) => ({
  ...shown,
  createdAt: iso(shown.createdAt),
  answeredAt: isoOrNull(shown.answeredAt),
  endedAt: isoOrNull(shown.endedAt),
})

const showConversation = (conversation: Conversation) => {
  const { clientIdentifier, endedAt, id, kind, sourceId, startedAt } = conversation
  return {
    conversationSessionId: id,
    kind,
    sourceId,
    clientIdentifier,
    startedAt: iso(startedAt),
    endedAt: isoOrNull(endedAt),
    ...conversationFieldsOf(conversation),
  }
}

const checkRegion = (regionId: string) =>
  Effect.flatMap(
    Effect.flatMap(Businesses, (businesses) => businesses.hasRegion(regionId)),
    (known) => (known ? Effect.void : Effect.fail(refuse("invalid", "REGION_NOT_FOUND", "no such region"))),
  )

/** @param origin where browsers reach this platform's WebSockets, such as `ws://127.0.0.1:8081` */
const sessionsOf = (origin: string) =>
  HttpApiBuilder.group(
    Api,
    "sessions",
    Effect.fnUntraced(function* (handlers) {
      const businesses = yield* Businesses
      const campaigns = yield* WebCampaigns
      const sessions = yield* WebSessions
      const live = yield* LiveSessions
      return handlers.handleAll({
        InitiateWebSession: ({ endpoint, payload }) =>
          respond(
            endpoint,
            Effect.gen(function* () {
              const business = yield* CurrentBusiness
              const { clientIdentifier, regionId, webCampaignId, ...configuration } = payload
              const campaign = yield* campaigns.find(business.id, webCampaignId)
              yield* checkRegion(regionId)
              if (payload.transportType !== 0) {
                const message = "this platform supports only the WebSocket transport"
                return yield* refuse("invalid", "TRANSPORT_NOT_SUPPORTED", message)
              }
              const keyId = (yield* Caller).key.id
              const wanted = {
                keyId,
                business,
                campaign,
                regionId,
                clientIdentifier: clientIdentifier ?? null,
                configuration,
              }
              const { session, token } = yield* sessions.initiate(wanted)
              const { conversationSessionId, webSessionId } = session
              const sessionWebSocketURL = `${origin}${socketPath(webSessionId)}?token=${Redacted.value(token)}`
              return { webSessionId, sessionId: webSessionId, conversationSessionId, sessionWebSocketURL }
            }).pipe(Effect.provideService(Businesses, businesses)),
          ),

        CountWebSessions: ({ endpoint, payload: { filter } }) =>
          respond(
            endpoint,
            CurrentBusiness.pipe(Effect.flatMap(({ id }) => sessions.count(id, sessionFilterOf(filter)))),
          ),

        ListWebSessions: ({ endpoint, payload: { filter, ...request } }) =>
          respond(
            endpoint,
            Effect.gen(function* () {
              const { id } = yield* CurrentBusiness
              const wanted = sessionFilterOf(filter)
              const page = yield* sessions.list(id, request, wanted)
              return countedPage(page, request, yield* sessions.count(id, wanted), yield* sessionShower)
            }),
          ),

        GetWebSession: ({ endpoint, params }) =>
          respond(
            endpoint,
            Effect.gen(function* () {
              const { id } = yield* CurrentBusiness
              return (yield* sessionShower)(yield* sessions.find(id, params.webSessionId))
            }),
          ),

        EndWebSession: ({ endpoint, params }) =>
          respond(
            endpoint,
            Effect.gen(function* () {
              const { id } = yield* CurrentBusiness
              // fails for a session of another business
              const { webSessionId } = yield* sessions.find(id, params.webSessionId)
              yield* sessions.end(webSessionId)
              yield* live.release(webSessionId)
              return (yield* sessionShower)(yield* sessions.find(id, webSessionId))
            }),
          ),
      })
    }),
  )

const calls = HttpApiBuilder.group(
  Api,
  "calls",
  Effect.fnUntraced(function* (handlers) {
    const businesses = yield* Businesses
    const calls = yield* Calls
    return handlers.handleAll({
      InitiateCall: ({ endpoint, payload }) =>
        respond(
          endpoint,
          Effect.gen(function* () {
            yield* checkRegion(payload.regionId)
            const keyId = (yield* Caller).key.id
            return showCall(yield* calls.initiate({ keyId, business: yield* CurrentBusiness, ...payload }))
          }).pipe(Effect.provideService(Businesses, businesses)),
        ),

      ListCalls: ({ endpoint, payload }) =>
        respond(
          endpoint,
          CurrentBusiness.pipe(
            Effect.flatMap(({ id }) => calls.list(id, payload)),
            Effect.map((page) => mapPage(page, showCall)),
          ),
        ),

      GetCall: ({ endpoint, params }) =>
        respond(
          endpoint,
          CurrentBusiness.pipe(
            Effect.flatMap(({ id }) => calls.find(id, params.callId)),
            Effect.map(showCall),
          ),
        ),
    })
  }),
)

const conversations = HttpApiBuilder.group(
  Api,
  "conversations",
  Effect.fnUntraced(function* (handlers) {
    const conversations = yield* Conversations
    return handlers.handleAll({
      ListConversations: ({ endpoint, payload: { filter, ...request } }) =>
        respond(
          endpoint,
          Effect.gen(function* () {
            const { id } = yield* CurrentBusiness
            const wanted = conversationFilterOf(filter)
            const page = yield* conversations.list(id, request, wanted)
            return countedPage(page, request, yield* conversations.count(id, wanted), showConversation)
          }),
        ),

      GetConversation: ({ endpoint, params }) =>
        respond(
          endpoint,
          CurrentBusiness.pipe(
            Effect.flatMap(({ id }) => conversations.find(id, params.sessionId)),
            Effect.map(({ turns, ...conversation }) => ({
              ...showConversation(conversation),
              turns: turns.map((turn) => ({ ...turn, at: iso(turn.at) })),
              messages: turns.map(messageOf),
            })),
          ),
        ),
    })
  }),
)

export const sessions = (origin: string) => Layer.mergeAll(sessionsOf(origin), calls, conversations)
