/**
 * How many slots a campaign has: `MaxConcurrency` when set, else the platform's own figures, less the calls of the account
 * that are not ours. One instance asks the platform for all: what it learns is shared through the store.
 */
import { Clock, Effect, Result, Schema } from "effect"
import { PlatformApi, type PlatformError } from "../PlatformApi.ts"
import type { Campaign } from "../Settings.ts"
import { Store } from "../Store.ts"
import { type Campaigns, settingOf } from "./campaigns.ts"
import { makeCapacityShared } from "./capacity-shared.ts"

/** How often the platform's figures are read, by one instance for all. */
export const CAPACITY_MILLIS = 10_000
/** How often an instance looks what another has read. */
export const LOOK_MILLIS = 5_000

/** The slots of a campaign are not known, and its key may not ask for them. */
export class CapacityUnknown extends Schema.TaggedError<CapacityUnknown>()("CapacityUnknown", {
  campaign: Schema.String,
  message: Schema.String,
}) {}

export interface Capacity {
  readonly slots: (campaign: Campaign) => number
  /** Why the slots of a campaign are not known, for anybody to read; undefined when all are known. */
  readonly problem: () => string | undefined
  /**
   * Takes what another instance has read, or reads the figures of campaigns without a setting; `live` says how many of the
   * account's calls are ours, and is undefined at the start, when nobody has counted them yet.
   */
  readonly refresh: (live?: (campaign: Campaign) => number) => Effect.Effect<void, CapacityUnknown>
}

/** What anybody may know of a failure: no text of the platform. */
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
    /** when this instance asked by itself because the store was away (ms) */
    const askedAlone = new Map<string, number>()
    const asked = all.filter((campaign) => campaign.MaxConcurrency === undefined)

    const known = (campaign: Campaign, slots: number): void => {
      figures.set(campaign.name, slots)
      problems.delete(campaign.name)
    }
    /** Others go on with what they have when it cannot be shared. */
    const share = (campaign: Campaign, at: number, slots: number | undefined, problem: string): Effect.Effect<void> =>
      Effect.ignore(shared.tell(key(campaign), at, { slots, problem }))

    const ask = (
      campaign: Campaign,
      at: number,
      live: number | undefined,
      old: number | undefined,
    ): Effect.Effect<void, CapacityUnknown> =>
      Effect.matchEffect(platform.concurrency(campaign.name), {
        onSuccess: ({ inUse, limit }) => {
          // as long as nobody has counted our own calls, they would count as foreign
          if (live === undefined && old !== undefined) return Effect.sync(() => known(campaign, old))
          const slots = Math.max(0, limit - Math.max(0, inUse - (live ?? 0)))
          known(campaign, slots)
          return share(campaign, at, slots, "")
        },
        onFailure: (error) => {
          const problem = reasonOf(error)
          problems.set(campaign.name, problem)
          return error.reason._tag === "Refused"
            ? Effect.fail(
                new CapacityUnknown({
                  campaign: campaign.name,
                  message:
                    `The slots of campaign ${campaign.name} are not known: the platform does not tell this key its concurrency ` +
                    `(${error.reason.message}). Set ${settingOf(campaign, "MaxConcurrency")}, or use a key with user management.`,
                }),
              )
            : Effect.andThen(
                Effect.logWarning(
                  `The platform's concurrency for campaign ${campaign.name} cannot be read (${error.reason.message}); ` +
                    (figures.has(campaign.name)
                      ? "its slots stay as they were. Trying again."
                      : "nobody is called until it can. Trying again."),
                ),
                share(campaign, at, undefined, problem),
              )
        },
      })

    const read = Effect.fnUntraced(function* (campaign: Campaign, live: number | undefined) {
      const now = yield* store.now
      const how = { period: CAPACITY_MILLIS, starts: live === undefined }
      const looked = yield* Effect.result(shared.look(key(campaign), now, how))
      if (Result.isFailure(looked)) {
        const time = yield* Clock.currentTimeMillis
        if (time - (askedAlone.get(campaign.name) ?? 0) < CAPACITY_MILLIS) return
        askedAlone.set(campaign.name, time)
        return yield* ask(campaign, now, live, undefined)
      }
      const { mayAsk, problem, slots } = looked.success
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
        // one campaign's refusal must not leave the others with old figures
        Effect.flatMap(
          Effect.forEach(asked, (campaign) => Effect.result(read(campaign, live?.(campaign)))),
          (results) => Effect.fromResult(results.find(Result.isFailure) ?? Result.void),
        ),
    }
  })
