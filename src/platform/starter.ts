/**
 * Creates an account for trying a gate, as its owner would: a user, a business with a web campaign whose session-ended webhook goes
 * to the gate, and a key for the gate that is restricted to that business and may only start.
 */
import { Effect, type Redacted } from "effect"
import { Businesses } from "./businesses/Businesses.ts"
import { WebCampaigns } from "./businesses/WebCampaigns.ts"
import { ApiKeys } from "./keys/ApiKeys.ts"
import type { WebhookTarget } from "./model.ts"
import { Users } from "./users/Users.ts"

/** Returns the settings for a gate; the key's secret cannot be read again. */
export const makeStarterAccount = Effect.fn("makeStarterAccount")(function* (wanted: {
  readonly name: string
  readonly regionId: string
  /** concurrent calls */
  readonly callConcurrency: number
  readonly sessionEnded: WebhookTarget
  /** the owner's credentials for the dashboard; without them nobody can sign in */
  readonly signIn?: { readonly email: string; readonly password: Redacted.Redacted<string> }
}) {
  const businesses = yield* Businesses
  yield* businesses.putRegion({ id: wanted.regionId, name: wanted.regionId })
  const { callConcurrency, name, regionId, sessionEnded } = wanted
  const user = yield* (yield* Users).create({ name, callConcurrency, ...wanted.signIn })
  const business = yield* businesses.create(user.id, { name: `${name} business` })
  const campaign = yield* (yield* WebCampaigns).create(business, { name: `${name} campaign`, sessionEnded })
  const scope = { type: "Restricted" as const, businessIds: [business.id] }
  const { secret } = yield* (yield* ApiKeys).create(user.id, { name: "gate", scope, permissions: ["start"] })
  return { secret, businessId: business.id, webCampaignId: campaign.id, regionId }
})
