/** Handlers of keys, businesses and web campaigns. They only convert between the wire and the services. */
import { Effect, Redacted } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Businesses } from "../../businesses/Businesses.ts"
import { WebCampaigns } from "../../businesses/WebCampaigns.ts"
import { ApiKeys } from "../../keys/ApiKeys.ts"
import { KeyUsage } from "../../keys/KeyUsage.ts"
import { DashboardApi, SignedIn } from "../DashboardApi.ts"
import { orFail, showBusiness, showCampaign } from "./answers.ts"
import type { Business } from "./shapes.ts"
import { targetOf } from "./webhook-input.ts"

const userId = Effect.map(SignedIn, ({ id }) => id)

export const keys = HttpApiBuilder.group(
  DashboardApi,
  "keys",
  Effect.fnUntraced(function* (handlers) {
    const apiKeys = yield* ApiKeys
    const keyUsage = yield* KeyUsage
    return handlers.handleAll({
      list: () => Effect.flatMap(userId, apiKeys.list).pipe(orFail()),

      create: ({ payload }) =>
        Effect.flatMap(userId, (id) => apiKeys.create(id, payload)).pipe(
          Effect.map(({ key, secret }) => ({ key, secret: Redacted.value(secret) })),
          orFail("invalid", "not_found"),
        ),

      change: ({ params, payload }) =>
        Effect.flatMap(userId, (id) => apiKeys.change(id, params.id, payload)).pipe(
          orFail("invalid", "not_found", "conflict"),
        ),

      usage: ({ params }) => Effect.flatMap(userId, (id) => keyUsage.lastDays(id, params.id)).pipe(orFail("not_found")),

      rotate: ({ params, payload }) =>
        Effect.flatMap(userId, (id) => apiKeys.rotate(id, params.id, payload.previousUntil)).pipe(
          Effect.map(({ key, secret }) => ({ key, secret: Redacted.value(secret) })),
          orFail("invalid", "not_found", "conflict"),
        ),

      revoke: ({ params }) => Effect.flatMap(userId, (id) => apiKeys.revoke(id, params.id)).pipe(orFail("not_found")),
    })
  }),
)

export const businesses = HttpApiBuilder.group(
  DashboardApi,
  "businesses",
  Effect.fnUntraced(function* (handlers) {
    const businesses = yield* Businesses
    const campaigns = yield* WebCampaigns
    return handlers.handleAll({
      list: () =>
        Effect.gen(function* () {
          const shown: Array<Business> = []
          for (const business of yield* businesses.list(yield* userId)) {
            shown.push(showBusiness(business, yield* campaigns.list(business.id)))
          }
          return shown
        }).pipe(orFail()),

      create: ({ payload }) =>
        Effect.flatMap(userId, (id) => businesses.create(id, { name: payload.name })).pipe(
          Effect.map((business) => showBusiness(business, [])),
          orFail("invalid"),
        ),

      rename: ({ params, payload }) =>
        Effect.gen(function* () {
          const business = yield* businesses.rename(yield* userId, params.id, payload.name)
          return showBusiness(business, yield* campaigns.list(business.id))
        }).pipe(orFail("invalid", "not_found")),

      remove: ({ params }) =>
        Effect.flatMap(userId, (id) => businesses.remove(id, params.id)).pipe(orFail("not_found", "conflict")),

      regions: () => orFail()(businesses.regions),
    })
  }),
)

export const campaigns = HttpApiBuilder.group(
  DashboardApi,
  "campaigns",
  Effect.fnUntraced(function* (handlers) {
    const businesses = yield* Businesses
    const campaigns = yield* WebCampaigns
    const owned = (id: string) => Effect.flatMap(userId, (user) => businesses.find(user, id))
    return handlers.handleAll({
      create: ({ params, payload: { webhook, ...wanted } }) =>
        Effect.gen(function* () {
          const business = yield* owned(params.businessId)
          const sessionEnded = webhook === null ? {} : { sessionEnded: yield* targetOf(webhook, undefined) }
          return showCampaign(yield* campaigns.create(business, { ...wanted, ...sessionEnded }))
        }).pipe(orFail("invalid", "not_found")),

      edit: ({ params, payload: { webhook, ...change } }) =>
        Effect.gen(function* () {
          const business = yield* owned(params.businessId)
          const stored = yield* campaigns.find(business.id, params.id)
          const sessionEnded = webhook === null ? null : yield* targetOf(webhook, stored.sessionEnded)
          return showCampaign(yield* campaigns.change(business, params.id, { ...change, sessionEnded }))
        }).pipe(orFail("invalid", "not_found")),

      remove: ({ params }) =>
        Effect.flatMap(owned(params.businessId), (business) => campaigns.remove(business, params.id)).pipe(
          orFail("not_found", "conflict"),
        ),
    })
  }),
)
