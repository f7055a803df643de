/**
 * How many slots a campaign has: `MaxConcurrency` if set, else the platform's limit less the account's calls that were not
 * started here. One instance asks the platform for all and shares the result through the store.
 */
import { Clock, Effect, Result } from "effect"
import { PlatformApi, type PlatformError } from "../PlatformApi.ts"
import type { Campaign } from "../Settings.ts"
import { Store } from "../Store.ts"
import { type Campaigns, settingOf } from "./campaigns.ts"
import { makeCapacityShared } from "./capacity-shared.ts"
import { CapacityUnknown } from "./capacity-unknown.ts"

/** How often the platform's figures are read, by one instance for all (ms). */
export const CAPACITY_MILLIS = 10_000
/** How often an instance reads the shared figures (ms). */
export const POLL_MILLIS = 5_000

export interface Capacity {
  readonly slots: (campaign: Campaign) => number
  /** Why the slots of a campaign are unknown, as a public message; undefined if all are known. */
  readonly problem: () => string | undefined
  /**
   * Updates the slots of campaigns without `MaxConcurrency`, from the shared figures or from the platform. `live` counts the
   * account's calls that were started here; undefined at start, before they are counted.
   */
  readonly refresh: (live?: (campaign: Campaign) => number) => Effect.Effect<void, CapacityUnknown>
}

/** A public description of a failure, without the platform's text. */
const reasonOf = ({ reason }: PlatformError): string => {
  switch (reason._tag) {
    case "Unavailable":
      return reason.reason.replaceAll("_", " ")
    case "KeyRateLimited":
    case "AtCapacity":
      return "requests of this key are limited"
    default:
      return "refused"
  }
}

export const makeCapacity = ({ all, key }: Campaigns): Effect.Effect<Capacity, never, PlatformApi | Store> =>
  Effect.gen(function* () {
    const platform = yield* PlatformApi
    const store = yield* Store
    const shared = makeCapacityShared(store)
    const figures = new Map<string, number>()
    const problems = new Map<string, string>()
    /** when this instance last asked on its own because the store was unavailable (ms) */
    const askedAloneAt = new Map<string, number>()
    const asked = all.filter((campaign) => campaign.MaxConcurrency === undefined)

    const known = (campaign: Campaign, slots: number): void => {
      figures.set(campaign.name, slots)
      problems.delete(campaign.name)
    }
    /** If saving fails, the other instances keep their figures. */
    const save = (campaign: Campaign, at: number, slots: number | undefined, problem: string): Effect.Effect<void> =>
      Effect.ignore(shared.save(key(campaign), at, { slots, problem }))

    const ask = (
      campaign: Campaign,
      at: number,
      live: number | undefined,
      old: number | undefined,
    ): Effect.Effect<void, CapacityUnknown> =>
      Effect.matchEffect(platform.concurrency(campaign.name), {
        onSuccess: ({ inUse, limit }) => {
          // until our own calls are counted, they would count as foreign
          if (live === undefined && old !== undefined) return Effect.sync(() => known(campaign, old))
          const slots = Math.max(0, limit - Math.max(0, inUse - (live ?? 0)))
          known(campaign, slots)
          return save(campaign, at, slots, "")
        },
        onFailure: (error) => {
          const problem = reasonOf(error)
          problems.set(campaign.name, problem)
          return error.reason._tag === "Refused"
            ? Effect.fail(
                new CapacityUnknown({
                  campaign: campaign.name,
                  message:
                    `The slots of campaign ${campaign.name} are not known: this key may not read the platform's concurrency ` +
                    `(${error.reason.message}). Set ${settingOf(campaign, "MaxConcurrency")}, or use a key with user management.`,
                }),
              )
            : Effect.andThen(
                Effect.logWarning(
                  `The platform's concurrency for campaign ${campaign.name} cannot be read (${error.reason.message}); ` +
                    (figures.has(campaign.name)
                      ? "the last known figure stays in use. Trying again."
                      : "no caller is called until then. Trying again."),
                ),
                save(campaign, at, undefined, problem),
              )
        },
      })

    const read = Effect.fnUntraced(function* (campaign: Campaign, live: number | undefined) {
      const now = yield* store.now
      const how = { period: CAPACITY_MILLIS, starts: live === undefined }
      const result = yield* Effect.result(shared.read(key(campaign), now, how))
      if (Result.isFailure(result)) {
        const time = yield* Clock.currentTimeMillis
        if (time - (askedAloneAt.get(campaign.name) ?? 0) < CAPACITY_MILLIS) return
        askedAloneAt.set(campaign.name, time)
        return yield* ask(campaign, now, live, undefined)
      }
      const { mayAsk, problem, slots } = result.success
      if (slots !== undefined) known(campaign, slots)
      else if (!mayAsk) problems.set(campaign.name, problem)
      if (mayAsk) yield* ask(campaign, now, live, slots)
    })

    return {
      slots: (campaign) => campaign.MaxConcurrency ?? figures.get(campaign.name) ?? 0,
      problem: () => {
        const unknown = asked.find((campaign) => !figures.has(campaign.name))
        if (unknown === undefined) return undefined
        const why = problems.get(unknown.name)
        return (
          `The slots of campaign ${unknown.name} are not known: the platform's concurrency could not be read yet` +
          `${why ? ` (${why})` : ""}.`
        )
      },
      refresh: (live) =>
        // one campaign's refusal, or a platform that answers slowly, must not leave the others with old figures
        Effect.flatMap(
          Effect.forEach(asked, (campaign) => Effect.result(read(campaign, live?.(campaign))), {
            concurrency: "unbounded",
          }),
          (results) => Effect.fromResult(results.find(Result.isFailure) ?? Result.void),
        ),
    }
  })
