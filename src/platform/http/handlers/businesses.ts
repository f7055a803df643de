/** Handlers of businesses, web campaigns, regions and webhook deliveries. */
import { Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Businesses } from "../../businesses/Businesses.ts"
import { WebCampaigns } from "../../businesses/WebCampaigns.ts"
import { Access } from "../../keys/Access.ts"
import type { Business, WebCampaign, WebhookTarget } from "../../model.ts"
import { type Delivery, Webhooks } from "../../webhooks/Webhooks.ts"
import { Api } from "../Api.ts"
import { Caller, CurrentBusiness, CurrentUser } from "../Authorization.ts"
import { iso, mapPage } from "../api/shapes.ts"
import { respond } from "../envelope.ts"

const showBusiness = ({ createdAt, id, name }: Business) => ({ id, name, createdAt: iso(createdAt) })

const showCampaign = ({ createdAt, id, maxCallMinutes, name, sessionEnded }: WebCampaign) => ({
  id,
  name,
  sessionEnded:
    sessionEnded === undefined
      ? null
      : {
          url: sessionEnded.url,
          headerNames: Object.keys(sessionEnded.headers),
          signed: sessionEnded.signingSecret !== undefined,
        },
  maxCallMinutes,
  createdAt: iso(createdAt),
})

const showDelivery = ({ attempts, createdAt, id, lastOutcome, nextAttemptAt, state, ...ids }: Delivery) => ({
  id,
  webCampaignId: ids.webCampaignId,
  webSessionId: ids.webSessionId,
  state,
  attempts,
  lastOutcome,
  nextAttemptAt: state === "pending" ? iso(nextAttemptAt) : null,
  createdAt: iso(createdAt),
})

/** A target from a request; absent headers become an empty record. */
const targetOf = (sent: Omit<WebhookTarget, "headers"> & Partial<WebhookTarget>): WebhookTarget => ({
  ...sent,
  headers: sent.headers ?? {},
})

const keys = HttpApiBuilder.group(
  Api,
  "keys",
  Effect.fnUntraced(function* (handlers) {
    const access = yield* Access
    const businesses = yield* Businesses
    return handlers.handleAll({
      ListBusinesses: ({ endpoint }) =>
        respond(
          endpoint,
          Caller.pipe(
            Effect.flatMap(access.businesses),
            Effect.map((all) => all.map(showBusiness)),
          ),
        ),
      ListRegions: ({ endpoint }) => respond(endpoint, businesses.regions),
    })
  }),
)

const newBusinesses = HttpApiBuilder.group(
  Api,
  "newBusinesses",
  Effect.fnUntraced(function* (handlers) {
    const businesses = yield* Businesses
    return handlers.handleAll({
      CreateBusiness: ({ endpoint, payload }) =>
        respond(
          endpoint,
          CurrentUser.pipe(
            Effect.flatMap((user) => businesses.create(user.id, payload)),
            Effect.map(showBusiness),
          ),
        ),
    })
  }),
)

const business = HttpApiBuilder.group(
  Api,
  "businesses",
  Effect.fnUntraced(function* (handlers) {
    const businesses = yield* Businesses
    const campaigns = yield* WebCampaigns
    const webhooks = yield* Webhooks
    return handlers.handleAll({
      GetBusiness: ({ endpoint }) => respond(endpoint, Effect.map(CurrentBusiness, showBusiness)),

      RenameBusiness: ({ endpoint, payload }) =>
        respond(
          endpoint,
          CurrentBusiness.pipe(
            Effect.flatMap(({ id, userId }) => businesses.rename(userId, id, payload.name)),
            Effect.map(showBusiness),
          ),
        ),

      DeleteBusiness: ({ endpoint }) =>
        respond(
          endpoint,
          CurrentBusiness.pipe(
            Effect.flatMap(({ id, userId }) => businesses.remove(userId, id)),
            Effect.as(null),
          ),
        ),

      ListWebCampaigns: ({ endpoint }) =>
        respond(
          endpoint,
          CurrentBusiness.pipe(
            Effect.flatMap(({ id }) => campaigns.list(id)),
            Effect.map((all) => all.map(showCampaign)),
          ),
        ),

      CreateWebCampaign: ({ endpoint, payload: { sessionEnded, ...wanted } }) =>
        respond(
          endpoint,
          CurrentBusiness.pipe(
            Effect.flatMap((owner) =>
              campaigns.create(owner, { ...wanted, ...(sessionEnded && { sessionEnded: targetOf(sessionEnded) }) }),
            ),
            Effect.map(showCampaign),
          ),
        ),

      GetWebCampaign: ({ endpoint, params }) =>
        respond(
          endpoint,
          CurrentBusiness.pipe(
            Effect.flatMap(({ id }) => campaigns.find(id, params.webCampaignId)),
            Effect.map(showCampaign),
          ),
        ),

      ChangeWebCampaign: ({ endpoint, params, payload: { sessionEnded, ...change } }) =>
        respond(
          endpoint,
          CurrentBusiness.pipe(
            Effect.flatMap((owner) =>
              campaigns.change(owner, params.webCampaignId, {
                ...change,
                ...(sessionEnded !== undefined && { sessionEnded: sessionEnded && targetOf(sessionEnded) }),
              }),
            ),
            Effect.map(showCampaign),
          ),
        ),

      DeleteWebCampaign: ({ endpoint, params }) =>
        respond(
          endpoint,
          CurrentBusiness.pipe(
            Effect.flatMap((owner) => campaigns.remove(owner, params.webCampaignId)),
            Effect.as(null),
          ),
        ),

      ListWebhookDeliveries: ({ endpoint, payload }) =>
        respond(
          endpoint,
          CurrentBusiness.pipe(
            Effect.flatMap(({ id }) => webhooks.list(id, payload)),
            Effect.map((page) => mapPage(page, showDelivery)),
          ),
        ),
    })
  }),
)

export const businesses = Layer.mergeAll(keys, newBusinesses, business)
