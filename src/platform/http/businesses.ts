/**
 * Handlers of the endpoints below `/business`: every one asks first whether the key may touch the business.
 */
import { DateTime, Effect, Redacted } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Accounts } from "../Accounts.ts"
import { socketPath } from "../socket.ts"
import { WebSessions } from "../WebSessions.ts"
import { Api } from "./Api.ts"
import { Caller } from "./Authorization.ts"
import { AtCapacity, BadRequest, failure, NotFound, wrap } from "./envelope.ts"
import { toFailure } from "./middleware.ts"

/** @param origin where browsers reach this platform's WebSockets, such as `ws://127.0.0.1:8081` */
export const businesses = (origin: string) =>
  HttpApiBuilder.group(
    Api,
    "businesses",
    Effect.fnUntraced(function* (handlers) {
      const accounts = yield* Accounts
      const sessions = yield* WebSessions

      const businessOf = Effect.fnUntraced(function* (operation: string, businessId: string) {
        return yield* accounts.business(yield* Caller, businessId).pipe(Effect.mapError(toFailure(operation)))
      })

      return handlers.handleAll({
        read: Effect.fnUntraced(function* ({ params }) {
          const { id, name } = yield* businessOf("GetBusiness", params.businessId)
          return wrap({ id, name })
        }),

        initiate: Effect.fnUntraced(function* ({ params, payload }) {
          const caller = yield* Caller
          const business = yield* businessOf("InitiateWebSession", params.businessId)
          const campaign = business.webCampaigns.find(({ id }) => id === payload.webCampaignId)
          if (campaign === undefined) {
            return yield* new NotFound(failure("InitiateWebSession:WEB_CAMPAIGN_NOT_FOUND", "no such web campaign"))
          }
          if (!accounts.hasRegion(payload.regionId)) {
            return yield* new BadRequest(failure("InitiateWebSession:REGION_NOT_FOUND", "no such region"))
          }
          if (payload.transportType !== 0) {
            const code = "InitiateWebSession:TRANSPORT_NOT_SUPPORTED"
            return yield* new BadRequest(failure(code, "this platform has the WebSocket transport only"))
          }
          const { session, token } = yield* sessions
            .initiate({
              user: caller.user,
              business,
              campaign,
              regionId: payload.regionId,
              clientIdentifier: payload.clientIdentifier ?? null,
            })
            .pipe(
              Effect.mapError(({ limit }) => {
                const message = `all ${limit} calls of this account are taken`
                return new AtCapacity(failure("InitiateWebSession:CONCURRENCY_LIMIT_REACHED", message))
              }),
            )
          const { webSessionId, conversationSessionId } = session
          const sessionWebSocketURL = `${origin}${socketPath(webSessionId)}?token=${Redacted.value(token)}`
          return wrap({ webSessionId, conversationSessionId, sessionWebSocketURL })
        }),

        history: Effect.fnUntraced(function* ({ params }) {
          const business = yield* businessOf("GetWebSession", params.businessId)
          const session = yield* sessions.find(business.id, params.webSessionId)
          if (session === undefined) {
            return yield* new NotFound(failure("GetWebSession:WEB_SESSION_NOT_FOUND", "no such web session"))
          }
          const { userId: _owner, businessId: _business, ...shown } = session
          return wrap({
            ...shown,
            createdAt: iso(session.createdAt),
            joinedAt: session.joinedAt === null ? null : iso(session.joinedAt),
            endedAt: session.endedAt === null ? null : iso(session.endedAt),
          })
        }),
      })
    }),
  )

const iso = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(millis))
