/** Handlers of records: conversations, live sessions, deliveries, the audit log. */
import { Clock, Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { makeOneAtATime } from "../../../lib/one-at-a-time.ts"
import { Audit } from "../../Audit.ts"
import { Businesses } from "../../businesses/Businesses.ts"
import { SetupChecks } from "../../businesses/SetupChecks.ts"
import { type Conversation, Conversations } from "../../calls/Conversations.ts"
import { Running } from "../../calls/Running.ts"
import { Deliveries, type ShownDelivery } from "../../webhooks/Deliveries.ts"
import { DashboardApi, SignedIn } from "../DashboardApi.ts"
import { mapPage, orFail, pageRequest } from "./answers.ts"

const userId = Effect.map(SignedIn, ({ id }) => id)

const DAY_MILLIS = 86_400_000

const showConversation = ({ sourceId: _source, ...conversation }: Conversation) => conversation

const showDelivery = <A extends ShownDelivery>({ webCampaignId, webSessionId, ...delivery }: A) => ({
  ...delivery,
  campaignId: webCampaignId,
  sessionId: webSessionId,
})

export const conversations = HttpApiBuilder.group(
  DashboardApi,
  "conversations",
  Effect.fnUntraced(function* (handlers) {
    const businesses = yield* Businesses
    const conversations = yield* Conversations
    const running = yield* Running
    const deliveries = yield* Deliveries
    const searchOf = makeOneAtATime()
    return handlers.handleAll({
      overview: ({ query }) =>
        Effect.gen(function* () {
          const user = yield* userId
          const asOf = yield* Clock.currentTimeMillis
          const from = Math.max(query.from, asOf - 2 * DAY_MILLIS)
          const [today, hours, { last, ...counts }] = yield* Effect.all([
            conversations.usageCount(user, { from }),
            conversations.byHour(user, asOf),
            deliveries.summary(user, asOf - DAY_MILLIS),
          ])
          return { asOf, today, hours, webhooks: { ...counts, last: last === null ? null : showDelivery(last) } }
        }).pipe(orFail()),

      list: ({ query: { businessId, kind, search, ...place } }) =>
        Effect.gen(function* () {
          const user = yield* userId
          const [request, filter] = [pageRequest(place), { kind, search }] as const
          const read = Effect.gen(function* () {
            const page =
              businessId === undefined
                ? yield* conversations.usage(user, request, filter)
                : yield* conversations.list((yield* businesses.find(user, businessId)).id, request, filter)
            const excerpts =
              search === undefined
                ? undefined
                : yield* conversations.excerpts(
                    page.items.map(({ id }) => id),
                    search,
                  )
            return mapPage(page, (conversation) => {
              const found = excerpts?.get(conversation.id)
              return { ...showConversation(conversation), ...(found && { found }) }
            })
          })
          // searches take turns with everything else that the process does, and many of one user would take them all
          return yield* search === undefined ? read : searchOf(user)(read)
        }).pipe(orFail("invalid", "not_found")),

      read: ({ params }) =>
        Effect.gen(function* () {
          const business = yield* businesses.find(yield* userId, params.businessId)
          const { sourceId: _source, ...transcript } = yield* conversations.find(business.id, params.id)
          return transcript
        }).pipe(orFail("not_found")),

      live: () =>
        Effect.flatMap(userId, running.of).pipe(
          Effect.map(({ sessions, ...figures }) => ({
            ...figures,
            running: sessions.length,
            sessions: sessions.map(({ webCampaignId, ...session }) => ({ ...session, campaignId: webCampaignId })),
          })),
          orFail(),
        ),
    })
  }),
)

export const deliveries = HttpApiBuilder.group(
  DashboardApi,
  "deliveries",
  Effect.fnUntraced(function* (handlers) {
    const deliveries = yield* Deliveries
    return handlers.handleAll({
      list: ({ query: { businessId, state, ...place } }) =>
        Effect.flatMap(userId, (id) => deliveries.list(id, pageRequest(place), { businessId, state })).pipe(
          Effect.map((page) => mapPage(page, showDelivery)),
          orFail("invalid"),
        ),

      read: ({ params }) =>
        Effect.flatMap(userId, (id) => deliveries.find(id, params.id)).pipe(
          Effect.map(showDelivery),
          orFail("not_found"),
        ),

      sendFailedAgain: ({ payload: { businessId, since } }) =>
        Effect.flatMap(userId, (id) => deliveries.sendFailedAgain(id, since, businessId)).pipe(
          Effect.map((resent) => ({ resent })),
          orFail("invalid"),
        ),

      sendAgain: ({ params }) =>
        Effect.flatMap(userId, (id) => deliveries.sendAgain(id, params.id)).pipe(
          Effect.map(showDelivery),
          orFail("not_found", "conflict"),
        ),
    })
  }),
)

export const audit = HttpApiBuilder.group(
  DashboardApi,
  "audit",
  Effect.fnUntraced(function* (handlers) {
    const audit = yield* Audit
    return handlers.handleAll({
      list: ({ query: { subject, ...place } }) =>
        Effect.flatMap(userId, (id) => audit.list(id, pageRequest(place), subject)).pipe(
          Effect.map((page) => mapPage(page, ({ userId: _owner, ...entry }) => entry)),
          orFail("invalid"),
        ),
    })
  }),
)

export const setup = HttpApiBuilder.group(
  DashboardApi,
  "setup",
  Effect.fnUntraced(function* (handlers) {
    const checks = yield* SetupChecks
    return handlers.handleAll({
      check: ({ query }) => Effect.flatMap(userId, (id) => checks.of(id, query)).pipe(orFail()),
    })
  }),
)
