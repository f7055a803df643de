/**
 * Shadow mode: what the limits and blocks of `Security.Shadow` would refuse is counted and logged, and nobody is refused. Also counts
 * callers who are near a limit that is in force.
 *
 * The first of a reason is logged at once, later ones at most once a minute as a count, so that many callers do not fill the log.
 */
import { Context, Effect, Layer, Record } from "effect"
import type { AdmissionResult } from "../../admission/Admission.ts"
import { countedEachMinute } from "../../lib/throttled-log.ts"
import { BLOCKS, isInForce } from "../../protocol/block-reasons.ts"
import { type Campaign, Settings, type SettingsTree } from "../../settings/Settings.ts"
import { Campaigns } from "../Campaigns.ts"
import * as metrics from "../metrics.ts"

/** The setting that would refuse, by reason. */
const SETTINGS: Readonly<Record<metrics.ShadowReason, keyof SettingsTree["Security"]["Shadow"]>> = {
  hour: "RateLimitHourly",
  day: "RateLimitDaily",
  concurrent: "RateLimitConcurrency",
  ...Record.map(BLOCKS, ({ setting }) => setting),
}

export class Shadow extends Context.Service<
  Shadow,
  {
    /** Counts a request that a setting of `Security.Shadow` would have refused. */
    readonly refuse: (campaign: Campaign, reason: metrics.ShadowReason) => Effect.Effect<void>
    /** Counts what the limits reported about a request that got a slot or a place. Undefined if there is nothing to count, the usual case. */
    readonly note: (campaign: Campaign, admitted: AdmissionResult) => Effect.Effect<void> | undefined
  }
>()("voicegate/gatekeeper/Shadow") {}

export const layer: Layer.Layer<Shadow, never, Campaigns | Settings> = Layer.effect(
  Shadow,
  Effect.gen(function* () {
    const campaigns = yield* Campaigns
    const { Security } = yield* Settings
    const context = yield* Effect.context<never>()
    yield* metrics.registerWatched(
      campaigns.all.map(({ name }) => name),
      Object.entries(SETTINGS).flatMap(([reason, setting]) =>
        metrics.isShadowReason(reason) && isInForce(Security.Shadow[setting]) ? [reason] : [],
      ),
    )
    /** what is logged of a reason, with the name of the last one's campaign */
    const note = yield* countedEachMinute<metrics.ShadowReason, string>({
      first: (reason, name) =>
        Effect.logInfo(
          `Security.Shadow.${SETTINGS[reason]} would have refused a request in campaign ${name}. ` +
            "Further ones are counted, and the count is logged once a minute.",
        ),
      more: (reason, count) =>
        Effect.logInfo(
          `Security.Shadow.${SETTINGS[reason]} would have refused ${count} more requests in the last minute`,
        ),
    })

    const refuse: Shadow["Service"]["refuse"] = ({ name }, reason) =>
      Effect.suspend(() => {
        metrics.shadowRefused(name, reason).updateUnsafe(1, context)
        return note(reason, name) ?? Effect.void
      })

    return {
      refuse,
      note: (campaign, { near, result, shadow }) => {
        if (result._tag === "full" || result._tag === "draining" || result._tag === "rejected") return undefined
        if (near?.hour === true) metrics.nearLimit(campaign.name, "hour").updateUnsafe(1, context)
        if (near?.day === true) metrics.nearLimit(campaign.name, "day").updateUnsafe(1, context)
        return shadow === undefined ? undefined : refuse(campaign, shadow)
      },
    }
  }),
)
