/**
 * How many slots a campaign has: `MaxConcurrency` if set, else the platform's limit less the account's calls that were not
 * started here. The campaigns of an `Account` share its limit, less such calls where the platform tells. One instance asks the platform
 * for all and shares the result through the store. Where the key may not read the platform's figures, the number of slots is infinite,
 * and the queue takes the platform's refusals at capacity for the limit (`../../fifo-queue/rules/shared/platform-limit.ts`). A figure that was known stays in
 * use for `REFUSED_MILLIS` first: one refused read must not call everybody who waits.
 */

import { Clock, Context, Effect, Layer, Result } from "effect"
import type { AccountCapacity } from "../../fifo-queue/step.ts"
import { ageOf, monotonicMillis } from "../../lib/age.ts"
import type { PlatformError } from "../../platform-api/errors.ts"
import { PlatformApi } from "../../platform-api/PlatformApi.ts"
import type { Campaign } from "../../settings/Settings.ts"
import { Store } from "../../store/Store.ts"
import { runEvery } from "../background/run-every.ts"
import { Campaigns, settingOf } from "../Campaigns.ts"
import { Running } from "../Running.ts"
import { accountCapacities, accountsOf, type SharedAccount } from "./accounts.ts"
import { fromShared, shareable, sharedFigures } from "./shared-figures.ts"

/** How often the platform's figures are read, by one instance for all (ms). */
const CAPACITY_MILLIS = 10_000
/** How often an instance reads the shared figures (ms). */
const POLL_MILLIS = 5_000

/** How long a known figure stays in use while the platform refuses to tell it (ms). */
export const REFUSED_MILLIS = 120_000

export class Capacity extends Context.Service<
  Capacity,
  {
    /** infinite where the platform's refusals are the limit */
    readonly slots: (campaign: Campaign) => number
    /** The capacity of the campaign's account, the same object while nothing changes; undefined without an account. */
    readonly account: (campaign: Campaign) => AccountCapacity | undefined
    /** Why the slots of a campaign are unknown, as a public message; undefined if all are known. */
    readonly problem: () => string | undefined
    /** Updates the slots of campaigns without `MaxConcurrency` and the limits of accounts, from the shared figures or from the platform. */
    readonly refresh: Effect.Effect<void>
  }
>()("voicegate/gatekeeper/Capacity") {}

/** A limit that the platform is asked for: that of one campaign, or of an account. */
interface Limit {
  /** by whose key it is asked */
  readonly campaign: Campaign
  /** names it in the store */
  readonly key: string
  /** the campaigns whose calls count toward it */
  readonly members: ReadonlyArray<Campaign>
  /** the setting that states it; empty if it is stated, and the platform is asked only for the calls of others */
  readonly setting: string
}

const ofAccount = ({ limit, members, name }: SharedAccount): Limit => ({
  campaign: members[0],
  key: `@${name}`,
  members,
  setting: limit === undefined ? settingOf(members[0], "Account.MaxConcurrency") : "",
})

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

export const layer: Layer.Layer<Capacity, never, Campaigns | PlatformApi | Running | Store> = Layer.effect(
  Capacity,
  Effect.gen(function* () {
    const campaigns = yield* Campaigns
    const running = yield* Running
    const platform = yield* PlatformApi
    const store = yield* Store
    const shared = sharedFigures(store)
    const accounts = accountsOf(campaigns)
    const capacityOf = accountCapacities(campaigns.key)
    /** by the key of the limit */
    const figures = new Map<string, number>()
    const problems = new Map<string, string>()
    /** when this instance last asked on its own because the store was unavailable (ms) */
    const askedAloneAt = new Map<string, number>()
    /** limits that are stated, and of which the platform tells nothing */
    const silent = new Set<string>()
    /** limits that a key may not read, once the log has said so */
    const untold = new Set<string>()
    /** since when a limit that was known is refused, by the monotonic clock (ms) */
    const refusedSince = new Map<string, number>()
    const asked: ReadonlyArray<Limit> = [
      ...campaigns.all.flatMap((campaign): ReadonlyArray<Limit> => {
        if (campaign.MaxConcurrency !== undefined || campaign.Account !== undefined) return []
        const setting = settingOf(campaign, "MaxConcurrency")
        return [{ campaign, key: campaigns.key(campaign), members: [campaign], setting }]
      }),
      ...accounts.map(ofAccount),
    ]

    const known = ({ key }: Limit, slots: number): void => {
      figures.set(key, slots)
      problems.delete(key)
      if (Number.isFinite(slots)) untold.delete(key)
    }
    /** The figure that stays in use although the platform refuses to tell it; undefined when none is known, or for too long. */
    const keptFigure = (key: string, old: number | undefined, now: number): number | undefined => {
      const last = old === undefined ? figures.get(key) : fromShared(old)
      if (last === undefined || !Number.isFinite(last)) return undefined
      const since = refusedSince.get(key) ?? now
      refusedSince.set(key, since)
      return now - since < REFUSED_MILLIS ? last : undefined
    }
    /** If saving fails, the other instances keep their figures. */
    const save = ({ key }: Limit, at: number, slots: number | undefined, problem: string): Effect.Effect<void> =>
      Effect.ignore(shared.save(key, at, { slots, problem }))

    const sayUntold = ({ campaign, key, setting }: Limit, why: string): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (untold.has(key)) return Effect.void
        untold.add(key)
        return Effect.logWarning(
          `The slots of campaign ${campaign.name} are not known: this key may not read the platform's concurrency (${why}). ` +
            "The platform's own refusal at capacity is the limit: whoever it refuses keeps the place and waits. " +
            `Set ${setting}, or use a key with user management, so that the slots are known.`,
        )
      })

    const sayKept = ({ campaign, key }: Limit, why: string, slots: number): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (untold.has(`${key} kept`)) return Effect.void
        untold.add(`${key} kept`)
        return Effect.logWarning(
          `The platform refuses to tell the concurrency for campaign ${campaign.name} (${why}); the last known figure, ${slots}, stays in use ` +
            `for ${REFUSED_MILLIS / 60_000} minutes.`,
        )
      })

    const ask = (limit: Limit, at: number, live: number | undefined, old: number | undefined): Effect.Effect<void> =>
      Effect.matchEffect(platform.concurrency(limit.campaign.name), {
        onSuccess: ({ fromStarts, inUse, limit: most }) => {
          refusedSince.delete(limit.key)
          untold.delete(`${limit.key} kept`)
          // until our own calls are counted, they would count as foreign
          if (live === undefined && old !== undefined) return Effect.sync(() => known(limit, old))
          // this instance has started nothing yet, and another one may have
          if (fromStarts === true && !Number.isFinite(most) && old !== undefined) {
            known(limit, old)
            return save(limit, at, shareable(old), "")
          }
          // a host's platform may count in fractions
          const slots = Math.max(0, Math.floor(most - Math.max(0, inUse - (live ?? 0))))
          known(limit, slots)
          return save(limit, at, shareable(slots), "")
        },
        onFailure: (error) => {
          const { campaign, key, setting } = limit
          if (error.reason._tag === "Refused" && setting === "") {
            silent.add(key)
            return Effect.void
          }
          const problem = reasonOf(error)
          if (error.reason._tag === "Refused") {
            const { message } = error.reason
            return Effect.flatMap(monotonicMillis, (now) => {
              const kept = keptFigure(key, old, now)
              known(limit, kept ?? Number.POSITIVE_INFINITY)
              return Effect.andThen(
                kept === undefined ? sayUntold(limit, message) : sayKept(limit, message, kept),
                save(limit, at, shareable(kept ?? Number.POSITIVE_INFINITY), ""),
              )
            })
          }
          problems.set(key, problem)
          return Effect.andThen(
            Effect.logWarning(
              `The platform's concurrency for campaign ${campaign.name} cannot be read (${error.reason.message}); ` +
                (figures.has(key) || setting === ""
                  ? "the last known figure stays in use. Trying again."
                  : "no caller is called until then. Trying again."),
            ),
            save(limit, at, undefined, problem),
          )
        },
      })

    const read = Effect.fnUntraced(function* (limit: Limit, live: number | undefined) {
      const { key } = limit
      if (silent.has(key)) return
      const now = yield* store.now
      const how = { period: CAPACITY_MILLIS, starts: live === undefined }
      const result = yield* Effect.result(shared.read(key, now, how))
      if (Result.isFailure(result)) {
        const time = yield* Clock.currentTimeMillis
        if (ageOf(askedAloneAt.get(key) ?? 0, time) < CAPACITY_MILLIS) return
        askedAloneAt.set(key, time)
        return yield* ask(limit, now, live, undefined)
      }
      const { mayAsk, problem, slots } = result.success
      if (slots !== undefined) known(limit, slots)
      else if (!mayAsk) problems.set(key, problem)
      if (mayAsk) yield* ask(limit, now, live, slots)
    })

    const refresh = (counted: boolean): Effect.Effect<void> =>
      Effect.forEach(
        asked,
        (limit) => read(limit, counted ? running.ofAll(limit.members) : undefined),
        // a platform that answers slowly must not leave the other campaigns with old figures
        { concurrency: "unbounded", discard: true },
      )
    // before any caller is served; the calls that were started here are not counted yet
    yield* refresh(false)

    const capOf = (account: SharedAccount): number =>
      Math.min(account.limit ?? Number.POSITIVE_INFINITY, figures.get(ofAccount(account).key) ?? account.limit ?? 0)
    const account: Capacity["Service"]["account"] = ({ Account }) => {
      const found = Account && accounts.find(({ name }) => name === Account.Name)
      return found && capacityOf(found, capOf(found))
    }

    return {
      account,
      slots: (campaign) => {
        const shared = account(campaign)
        const own = campaign.MaxConcurrency
        if (shared !== undefined) return fromShared(Math.min(own ?? shared.cap, shared.cap))
        return own ?? figures.get(campaigns.key(campaign)) ?? 0
      },
      problem: () => {
        const unknown = asked.find(({ key, setting }) => setting !== "" && !figures.has(key))
        if (unknown === undefined) return undefined
        const why = problems.get(unknown.key)
        return (
          `The slots of campaign ${unknown.campaign.name} are not known: the platform's concurrency could not be read yet` +
          `${why ? ` (${why})` : ""}.`
        )
      },
      refresh: refresh(true),
    }
  }),
)

export const poll = Layer.effectDiscard(
  Effect.flatMap(Capacity, ({ refresh }) => runEvery(POLL_MILLIS, "reading of the platform's concurrency", refresh)),
)
