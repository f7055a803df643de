/**
 * Shadow mode: what the limits and blocks of `Security.Shadow` would refuse is counted and logged, and nobody is refused. Also counts
 * callers who are near a limit that is in force.
 *
 * The first of a reason is logged at once, later ones at most once a minute as a count, so that many callers do not fill the log.
 */
import { Effect, type Scope } from "effect"
import type { AdmissionResult } from "../../admission/Admission.ts"
import type { Campaign, SettingsTree } from "../../settings/Settings.ts"
import * as metrics from "../metrics.ts"

/** How often the count of a reason is logged. */
const LOG_EVERY = "1 minute"

/** The setting that would refuse, by reason. */
const SETTINGS: Readonly<Record<metrics.ShadowReason, keyof SettingsTree["Security"]["Shadow"]>> = {
  hour: "RateLimitHourly",
  day: "RateLimitDaily",
  concurrent: "RateLimitConcurrency",
  vpn: "BlockVpn",
  proxy: "BlockProxy",
  tor: "BlockTor",
  datacenter: "BlockDatacenter",
}

export interface Shadow {
  /** Counts a request that a setting of `Security.Shadow` would have refused. */
  readonly refuse: (campaign: Campaign, reason: metrics.ShadowReason) => Effect.Effect<void>
  /** Counts what the limits reported about a request that got a slot or a place. Undefined if there is nothing to count, the usual case. */
  readonly note: (campaign: Campaign, admitted: AdmissionResult) => Effect.Effect<void> | undefined
}

export const makeShadow = Effect.fnUntraced(function* (
  campaigns: ReadonlyArray<Campaign>,
  { Security }: Pick<SettingsTree, "Security">,
): Effect.fn.Return<Shadow, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const context = yield* Effect.context<never>()
  yield* metrics.registerWatched(
    campaigns.map(({ name }) => name),
    Object.entries(SETTINGS).flatMap(([reason, setting]) =>
      metrics.isShadowReason(reason) && Security.Shadow[setting] !== 0 && Security.Shadow[setting] !== false
        ? [reason]
        : [],
    ),
  )
  /** requests since the last log line, of the reasons that were logged less than a minute ago */
  const counts = new Map<metrics.ShadowReason, number>()

  const logCounts = (reason: metrics.ShadowReason) =>
    Effect.gen(function* () {
      for (;;) {
        yield* Effect.sleep(LOG_EVERY)
        const since = counts.get(reason) ?? 0
        if (since === 0) return void counts.delete(reason)
        counts.set(reason, 0)
        yield* Effect.logInfo(
          `Security.Shadow.${SETTINGS[reason]} would have refused ${since} more requests in the last minute`,
        )
      }
    })

  const refuse: Shadow["refuse"] = ({ name }, reason) =>
    Effect.suspend(() => {
      metrics.shadowRefused(name, reason).updateUnsafe(1, context)
      const since = counts.get(reason)
      counts.set(reason, since === undefined ? 0 : since + 1)
      if (since !== undefined) return Effect.void
      return Effect.andThen(
        Effect.logInfo(
          `Security.Shadow.${SETTINGS[reason]} would have refused a request in campaign ${name}. ` +
            "Further ones are counted, and the count is logged once a minute.",
        ),
        Effect.forkIn(logCounts(reason), scope),
      )
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
})
