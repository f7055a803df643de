/** Handlers of the endpoints at and below `/user`. */
import { Clock, Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { type Conversation, Conversations } from "../../calls/Conversations.ts"
import { WebSessions } from "../../calls/WebSessions.ts"
import type { User } from "../../model.ts"
import { Users } from "../../users/Users.ts"
import { Api } from "../Api.ts"
import { Caller, CurrentUser } from "../Authorization.ts"
import { iso, isoOrNull, mapPage, millisOf } from "../api/shapes.ts"
import { respond } from "../envelope.ts"

const showUser = ({ createdAt, email, id, name }: User) => ({ id, name, email, createdAt: iso(createdAt) })

const showUsage =
  (now: number) =>
  ({ businessId, endedAt, id, kind, startedAt }: Conversation) => ({
    conversationSessionId: id,
    businessId,
    kind,
    startedAt: iso(startedAt),
    endedAt: isoOrNull(endedAt),
    seconds: Math.round(((endedAt ?? now) - startedAt) / 1000),
  })

/** A restricted key sees only the usage of its businesses. */
const ofScope = Effect.map(Caller, ({ key: { scope } }) =>
  scope.type === "Restricted" ? { businessIds: scope.businessIds } : {},
)

export const users = HttpApiBuilder.group(
  Api,
  "users",
  Effect.fnUntraced(function* (handlers) {
    const users = yield* Users
    const sessions = yield* WebSessions
    const conversations = yield* Conversations
    return handlers.handleAll({
      // Read from the database: the user in the key cache may be some seconds old.
      GetUser: ({ endpoint }) =>
        respond(
          endpoint,
          CurrentUser.pipe(
            Effect.flatMap(({ id }) => users.find(id)),
            Effect.map(showUser),
          ),
        ),

      ChangeUser: ({ endpoint, payload }) =>
        respond(
          endpoint,
          CurrentUser.pipe(
            Effect.flatMap(({ id }) => users.rename(id, payload.name)),
            Effect.map(showUser),
          ),
        ),

      GetBillingUsage: ({ endpoint }) =>
        respond(
          endpoint,
          Effect.gen(function* () {
            const { createdAt, id } = yield* CurrentUser
            const running = yield* sessions.running(id)
            return {
              creditBalance: 0 as const,
              currentUsage: { Call_Concurrency: running },
              cycleLastResetAt: iso(createdAt),
            }
          }),
        ),

      GetFeaturesActiveQuantity: ({ endpoint }) =>
        respond(
          endpoint,
          Effect.map(CurrentUser, ({ callConcurrency }) => ({ Call_Concurrency: callConcurrency })),
        ),

      CountUsage: ({ endpoint, payload: { filter } }) =>
        respond(
          endpoint,
          Effect.gen(function* () {
            const { id } = yield* CurrentUser
            const times = { from: millisOf(filter?.from), to: millisOf(filter?.to) }
            return yield* conversations.usageCount(id, { ...filter, ...times, ...(yield* ofScope) })
          }),
        ),

      ListUsage: ({ endpoint, payload: { filter, ...request } }) =>
        respond(
          endpoint,
          Effect.gen(function* () {
            const { id } = yield* CurrentUser
            const times = { from: millisOf(filter?.from), to: millisOf(filter?.to) }
            const page = yield* conversations.usage(id, request, { ...filter, ...times, ...(yield* ofScope) })
            return mapPage(page, showUsage(yield* Clock.currentTimeMillis))
          }),
        ),
    })
  }),
)
