/** Businesses, their web campaigns, and the regions: definitions. */

import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { DEFAULT_MAX_CALL_MINUTES, MAX_CALL_MINUTES } from "../../defaults.ts"
import { Text } from "../../text.ts"
import { NeedsBusiness, NeedsUnrestricted, openTo } from "../Authorization.ts"
import { success } from "../envelope.ts"
import { businessPath, described, Id, listBody, Name, NoFilter, pageOf, Time } from "./shapes.ts"

const Business = Schema.Struct({ id: Schema.String, name: Schema.String, createdAt: Time })
const Region = Schema.Struct({ id: Schema.String, name: Schema.String })
const Nothing = Schema.Null

/** The businesses of the key's scope. */
export const Keys = HttpApiGroup.make("keys")
  .add(
    HttpApiEndpoint.get("ListBusinesses", "/business", { success: success(Schema.Array(Business)) }).annotateMerge(
      openTo(["start", "read"]),
    ),
    HttpApiEndpoint.get("ListRegions", "/regions", { success: success(Schema.Array(Region)) }).annotateMerge(
      openTo(["start", "read"]),
    ),
  )
  .annotateMerge(OpenApi.annotations({ title: "Scope", description: "What the key may access" }))

export const NewBusinesses = HttpApiGroup.make("newBusinesses")
  .add(
    HttpApiEndpoint.post("CreateBusiness", "/business", {
      payload: Schema.Struct({ name: Name }),
      success: success(Business),
    }).annotateMerge(openTo(["manage"])),
  )
  .middleware(NeedsUnrestricted)
  .annotateMerge(
    OpenApi.annotations({
      title: "New businesses",
      description: "Needs a key that is not restricted to listed businesses",
    }),
  )

/** A campaign's webhook as shown: without header values and secret. */
const SessionEnded = Schema.Struct({
  url: Schema.String,
  headerNames: Schema.Array(Schema.String),
  signed: Schema.Boolean,
})
const MaxCallMinutes = described(
  Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_CALL_MINUTES })),
  `how long a session may last from its start, in minutes, before the platform ends it; ${DEFAULT_MAX_CALL_MINUTES} by default`,
)
const WebCampaign = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  sessionEnded: Schema.NullOr(SessionEnded),
  maxCallMinutes: MaxCallMinutes,
  createdAt: Time,
})
const Secret = Schema.RedactedFromValue(Schema.String)
const Target = Schema.Struct({
  url: Text,
  headers: described(Schema.optionalKey(Schema.Record(Schema.String, Secret)), "sent with every delivery"),
  signingSecret: described(Schema.optionalKey(Secret), "whsec_ and base64 (Standard Webhooks 1.0)"),
})

const Delivery = Schema.Struct({
  id: described(Schema.String, "the webhook-id of every attempt"),
  webCampaignId: Schema.String,
  webSessionId: Schema.String,
  state: Schema.Literals(["pending", "delivered", "given_up"]),
  attempts: Schema.Int,
  lastOutcome: Schema.NullOr(Schema.String),
  nextAttemptAt: Schema.NullOr(Schema.String),
  createdAt: Time,
})

const campaignPath = { ...businessPath, webCampaignId: Id }

export const Businesses = HttpApiGroup.make("businesses")
  .add(
    HttpApiEndpoint.get("GetBusiness", "/business/:businessId", {
      params: businessPath,
      success: success(Business),
    }).annotateMerge(openTo(["start", "read"])),
    HttpApiEndpoint.patch("RenameBusiness", "/business/:businessId", {
      params: businessPath,
      payload: Schema.Struct({ name: Name }),
      success: success(Business),
    }).annotateMerge(openTo(["manage"])),
    HttpApiEndpoint.delete("DeleteBusiness", "/business/:businessId", {
      params: businessPath,
      success: success(Nothing),
    }).annotateMerge(openTo(["manage"], "Deletes everything that belongs to it. 409 while its calls run.")),
    HttpApiEndpoint.get("ListWebCampaigns", "/business/:businessId/webcampaigns", {
      params: businessPath,
      success: success(Schema.Array(WebCampaign)),
    }).annotateMerge(openTo(["read"])),
    HttpApiEndpoint.post("CreateWebCampaign", "/business/:businessId/webcampaigns", {
      params: businessPath,
      payload: Schema.Struct({
        name: Name,
        sessionEnded: Schema.optionalKey(Schema.NullOr(Target)),
        maxCallMinutes: Schema.optionalKey(MaxCallMinutes),
      }),
      success: success(WebCampaign),
    }).annotateMerge(openTo(["manage"])),
    HttpApiEndpoint.get("GetWebCampaign", "/business/:businessId/webcampaigns/:webCampaignId", {
      params: campaignPath,
      success: success(WebCampaign),
    }).annotateMerge(openTo(["start", "read"])),
    HttpApiEndpoint.patch("ChangeWebCampaign", "/business/:businessId/webcampaigns/:webCampaignId", {
      params: campaignPath,
      payload: Schema.Struct({
        name: Schema.optionalKey(Name),
        sessionEnded: described(Schema.optionalKey(Schema.NullOr(Target)), "replaced as a whole; null for none"),
        maxCallMinutes: Schema.optionalKey(MaxCallMinutes),
      }),
      success: success(WebCampaign),
    }).annotateMerge(openTo(["manage"])),
    HttpApiEndpoint.delete("DeleteWebCampaign", "/business/:businessId/webcampaigns/:webCampaignId", {
      params: campaignPath,
      success: success(Nothing),
    }).annotateMerge(openTo(["manage"])),
    HttpApiEndpoint.post("ListWebhookDeliveries", "/business/:businessId/webhooks/history", {
      params: businessPath,
      payload: listBody(NoFilter),
      success: success(pageOf(Delivery)),
    }).annotateMerge(openTo(["read"])),
  )
  .middleware(NeedsBusiness)
  .annotateMerge(OpenApi.annotations({ title: "Businesses", description: "A business and its web campaigns" }))
