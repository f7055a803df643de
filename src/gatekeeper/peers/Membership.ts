/**
 * The membership of this gate among those on its store, with its settings and campaigns. What answers a renewal names the other gates.
 */

import { createHash, randomBytes } from "node:crypto"
import { Context, Effect, Layer } from "effect"
import { UNKNOWN_SLOTS } from "../../fifo-queue/bounds.ts"
import { ageOf } from "../../lib/age.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import { Settings } from "../../settings/Settings.ts"
import { Store } from "../../store/Store.ts"
import { Campaigns } from "../Campaigns.ts"
import { Capacity } from "../capacity/Capacity.ts"
import { Instance } from "./Instance.ts"
import { ANNOUNCE_MILLIS, OtherDatabases } from "./OtherDatabases.ts"
import { sharedSettingsOf } from "./settings-diff.ts"
import { type About, type MembershipAnswer, type SharedState, sharedState } from "./shared-state.ts"

export const MEMBERSHIP_MILLIS = 2_000
/** A longer gap than this between two renewals (ms) means that this gate was cut off from the store. */
const GAP_MILLIS = 10_000

/** What the store has answered to a renewal. Times in ms, by the store's clock. */
export interface Renewed extends MembershipAnswer {
  readonly at: number
  /** start of the current run of renewals without a gap: during a gap other gates may have been cut off too */
  readonly since: number
}

export class Membership extends Context.Service<
  Membership,
  {
    readonly renew: Effect.Effect<Renewed, StoreUnavailable>
    /** The last answer; undefined before the first. */
    readonly latest: () => Renewed | undefined
    /** Renews it unless a renewal was answered already. */
    readonly heard: Effect.Effect<void, StoreUnavailable>
    /** Deletes a campaign from the store's list unless a gate has served it after `seenAt`. True if it was deleted. */
    readonly forget: SharedState["forget"]
  }
>()("voicegate/gatekeeper/Membership") {}

export const layer: Layer.Layer<
  Membership,
  never,
  Campaigns | Capacity | Instance | OtherDatabases | Settings | Store
> = Layer.effect(
  Membership,
  Effect.gen(function* () {
    const campaigns = yield* Campaigns
    const capacity = yield* Capacity
    const own = yield* Instance
    const { announcement } = yield* OtherDatabases
    const store = yield* Store
    const shared = sharedState(store)
    const offered = randomBytes(12).toString("base64url")
    const settings = JSON.stringify(sharedSettingsOf(yield* Settings, campaigns))
    const digest = createHash("sha256").update(settings).digest("base64url").slice(0, 22)
    let latest: Renewed | undefined
    let announcedAt = Number.NEGATIVE_INFINITY

    const servedCampaigns = () =>
      campaigns.all.map((campaign) => {
        const about: About = {
          name: campaign.name,
          tag: campaigns.tag(campaign),
          slots: Math.min(capacity.slots(campaign), UNKNOWN_SLOTS),
        }
        return { key: campaigns.key(campaign), about: JSON.stringify(about) }
      })
    const sinceOf = (now: number): number => {
      if (latest === undefined) return 0
      return ageOf(latest.at, now) > GAP_MILLIS ? now : latest.since
    }
    const renew: Membership["Service"]["renew"] = Effect.gen(function* () {
      const now = yield* store.now
      const announces = ageOf(announcedAt, now) >= ANNOUNCE_MILLIS
      const says = {
        ...own,
        settings,
        digest,
        campaigns: servedCampaigns(),
        announcement: announces ? announcement : "",
      }
      const answer = yield* shared.renew(says, offered, now)
      if (announces) announcedAt = now
      latest = { ...answer, at: now, since: sinceOf(now) }
      return latest
    })
    return {
      renew,
      latest: () => latest,
      heard: Effect.suspend(() => (latest === undefined ? Effect.asVoid(renew) : Effect.void)),
      forget: shared.forget,
    }
  }),
)
