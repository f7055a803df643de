/**
 * How many slots a campaign has: `MaxConcurrency` when set, else the platform's own figures, less the calls of the account
 * that are not ours.
 */
import { Effect, Result, Schema } from "effect"
import { PlatformApi } from "../PlatformApi.ts"
import type { Campaign } from "../Settings.ts"

/** How often the platform's figures are read. */
export const CAPACITY_MILLIS = 10_000

/** The slots of a campaign are not known, and its key may not ask for them. */
export class CapacityUnknown extends Schema.TaggedError<CapacityUnknown>()("CapacityUnknown", {
  campaign: Schema.String,
  message: Schema.String,
}) {}

const setting = (campaign: Campaign): string =>
  campaign.name === "default"
    ? "VoiceAiPlatform.MaxConcurrency"
    : `VoiceAiPlatform.Campaigns.${campaign.name}.MaxConcurrency`

export interface Capacity {
  readonly slots: (campaign: Campaign) => number
  /** whether every campaign's slots are known */
  readonly known: () => boolean
  /** Reads the figures of campaigns without a setting; `live` says how many of the account's calls are ours. */
  readonly refresh: (live: (campaign: Campaign) => number) => Effect.Effect<void, CapacityUnknown>
}

export const makeCapacity = (campaigns: ReadonlyArray<Campaign>): Effect.Effect<Capacity, never, PlatformApi> =>
  Effect.gen(function* () {
    const platform = yield* PlatformApi
    const figures = new Map<string, number>()
    const asked = campaigns.filter((campaign) => campaign.MaxConcurrency === undefined)

    const read = (campaign: Campaign, live: number): Effect.Effect<void, CapacityUnknown> =>
      Effect.matchEffect(platform.concurrency(campaign.name), {
        onSuccess: ({ inUse, limit }) =>
          Effect.sync(() => {
            figures.set(campaign.name, Math.max(0, limit - Math.max(0, inUse - live)))
          }),
        onFailure: ({ reason }) =>
          reason._tag === "Refused"
            ? Effect.fail(
                new CapacityUnknown({
                  campaign: campaign.name,
                  message:
                    `The slots of campaign ${campaign.name} are not known: the platform does not tell this key its concurrency ` +
                    `(${reason.message}). Set ${setting(campaign)}, or use a key with user management.`,
                }),
              )
            : Effect.logWarning(`The platform's concurrency cannot be read (${reason.message}); trying again.`),
      })

    return {
      slots: (campaign) => campaign.MaxConcurrency ?? figures.get(campaign.name) ?? 0,
      known: () => asked.every((campaign) => figures.has(campaign.name)),
      refresh: (live) =>
        // one campaign's refusal must not leave the others with old figures
        Effect.flatMap(
          Effect.forEach(asked, (campaign) => Effect.result(read(campaign, live(campaign)))),
          (results) => Effect.fromResult(results.find(Result.isFailure) ?? Result.void),
        ),
    }
  })
