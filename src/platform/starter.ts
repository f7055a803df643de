/**
 * An account that a gate can be tried with, made as its owner would make it: a user, a business with a web campaign that tells
 * the gate of ended sessions, and a key for the gate: restricted to that business, with the permission to start and no other.
 */
import { Effect, type Redacted } from "effect"
import { ApiKeys } from "./ApiKeys.ts"
import { Businesses } from "./Businesses.ts"
import type { WebhookTarget } from "./model.ts"
import { Users } from "./Users.ts"
import { WebCampaigns } from "./WebCampaigns.ts"

/** What a gate is configured with: the key's secret is known here and nowhere else. */
export const makeStarterAccount = Effect.fn("makeStarterAccount")(function* (wanted: {
  readonly name: string
  readonly regionId: string
  /** calls that may run at once */
  readonly callConcurrency: number
  readonly sessionEnded: WebhookTarget
  /** with what its owner signs in to the dashboard; nobody can when absent */
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
