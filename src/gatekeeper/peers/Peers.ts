/**
 * The other gates on this store, and conflicts with them. Instances whose settings differ are logged, once, if the difference persists;
 * so are gates that serve the same campaign with another database, and gates of a version that knows no hours.
 */
import { Context, Effect, Layer } from "effect"
import { type Campaign, Settings } from "../../settings/Settings.ts"
import { runEvery } from "../background/run-every.ts"
import { Campaigns } from "../Campaigns.ts"
import { makeDebounce, type Observed } from "./debounce.ts"
import { Instance, shown } from "./Instance.ts"
import { MEMBERSHIP_MILLIS, Membership, type Renewed } from "./Membership.ts"
import { OtherDatabases } from "./OtherDatabases.ts"
import {
  differencesOf,
  ignoresHours,
  inShort,
  readSharedSettings,
  type SharedSettings,
  sharedSettingsOf,
} from "./settings-diff.ts"

/** How many instances a log line names. */
const MAX_NAMED = 5

/** What this gate knows about the others. Times in ms. */
export interface PeersStatus {
  /** the time of the last renewal; undefined before the first */
  readonly at: number | undefined
  /** since when there has been no long gap between renewals, after which the reports of others may be old too */
  readonly since: number
  /** gates on this store, this one included */
  readonly gates: number
  /** conflicts between them, as messages */
  readonly trouble: ReadonlyArray<string>
  /** how the settings of others differ, where they do for long: all differences of each one that differs otherwise */
  readonly differences: ReadonlyArray<ReadonlyArray<string>>
}

export class Peers extends Context.Service<
  Peers,
  {
    readonly status: () => PeersStatus
    /** Whether another gate serves the campaign that knows no hours, so that it takes callers at any time; false before the first renewal. */
    readonly ignoresHours: (campaign: Campaign) => boolean
    /** Logs the conflicts that an answer to a renewal shows. */
    readonly report: (heard: Renewed) => Effect.Effect<void>
  }
>()("voicegate/gatekeeper/Peers") {}

/** A gate with other settings. */
interface Other {
  /** for logs */
  readonly instance: string
  readonly settings: SharedSettings
}

const listOf = (instances: ReadonlyArray<string>): string => {
  const more = instances.length - MAX_NAMED
  return more > 0 ? `${instances.slice(0, MAX_NAMED).join(", ")} and ${more} more` : instances.join(", ")
}

export const layer: Layer.Layer<Peers, never, Campaigns | Instance | OtherDatabases | Membership | Settings> =
  Layer.effect(
    Peers,
    Effect.gen(function* () {
      const campaigns = yield* Campaigns
      const own = yield* Instance
      const databases = yield* OtherDatabases
      const { latest } = yield* Membership
      const ownSettings = sharedSettingsOf(yield* Settings, campaigns)
      const withHours = campaigns.all.filter(({ Hours }) => Hours !== undefined)
      const [settingsDiffer, elsewhere, noHours] = [makeDebounce(), makeDebounce(), makeDebounce()]

      let readFrom: Renewed | undefined
      let others: ReadonlyArray<Other> = []
      /** The gates with other settings, as of the last renewal. Each answer is read once. */
      const othersIn = (heard: Renewed | undefined): ReadonlyArray<Other> => {
        if (heard === undefined || heard === readFrom) return others
        readFrom = heard
        others = heard.others.map(({ host, id, settings }) => ({
          instance: shown({ id, host }),
          settings: readSharedSettings(settings),
        }))
        return others
      }

      /** The instances by what is to be said of them; of which there is nothing to say where that is empty. */
      const observed = (heard: Renewed, whatOf: (settings: SharedSettings) => string): Observed => {
        const seen = new Map<string, ReadonlyArray<string>>()
        for (const { instance, settings } of othersIn(heard)) {
          const what = whatOf(settings)
          if (what !== "") seen.set(what, [...(seen.get(what) ?? []), instance])
        }
        return seen
      }
      const ignored = (settings: SharedSettings): string =>
        withHours.flatMap((each) => (ignoresHours(settings, campaigns.key(each)) ? each.name : [])).join(", ")

      // a condition has all differences, a line each: what is said names some of them
      const linesOf = (condition: string): ReadonlyArray<string> => condition.split("\n")

      return {
        status: () => ({
          at: latest()?.at,
          since: latest()?.since ?? 0,
          gates: latest()?.alive ?? 0,
          differences: settingsDiffer.active().map(linesOf),
          trouble: [
            ...settingsDiffer
              .active()
              .map((condition) => `Other instances have different settings: ${inShort(linesOf(condition))}.`),
            ...elsewhere.active().map((names) => `Gates on another database of the Redis server serve ${names} too.`),
            ...noHours
              .active()
              .map(
                (names) =>
                  `Instances of a version without opening hours serve ${names}: they take callers at any time, and nobody’s wait ends at the close.`,
              ),
          ],
        }),
        ignoresHours: (campaign) =>
          campaign.Hours !== undefined &&
          othersIn(latest()).some(({ settings }) => ignoresHours(settings, campaigns.key(campaign))),
        report: Effect.fnUntraced(function* (heard) {
          const settings = observed(heard, (there) => differencesOf(ownSettings, there, campaigns).join("\n"))
          const { raised, cleared } = settingsDiffer.update(heard.at, settings)
          for (const condition of raised) {
            yield* Effect.logWarning(
              `This instance, ${shown(own)}, and ${listOf(settings.get(condition) ?? [])} on the same store have different settings: ` +
                `${inShort(linesOf(condition))}. Each instance uses its own until they are the same.`,
            )
          }
          if (cleared > 0 && settingsDiffer.active().length === 0) {
            yield* Effect.logInfo("All instances on the store have the same settings again.")
          }
          const older = observed(heard, ignored)
          for (const names of noHours.update(heard.at, older).raised) {
            yield* Effect.logWarning(
              `The version of ${listOf(older.get(names) ?? [])} has no opening hours and takes callers of ${names} at any time. ` +
                "Until it is upgraded, nobody's wait ends at the close.",
            )
          }
          const there = databases.seen(heard.store, heard.at)
          for (const names of elsewhere.update(heard.at, there).raised) {
            yield* Effect.logWarning(
              `This instance, ${shown(own)}, serves the same campaign as ${listOf(there.get(names) ?? [])} with another database of the same ` +
                `Redis server: ${names}. Each counts its slots separately, so there may be more calls than slots. Use the same database ` +
                "in StoreConnectionString.",
            )
          }
        }),
      }
    }),
  )

/** The background task: renews the membership, beginning at once, and reports the conflicts that the answers show. */
export const renewals = Layer.effectDiscard(
  Effect.gen(function* () {
    const { renew } = yield* Membership
    const { report } = yield* Peers
    yield* Effect.forkScoped(Effect.ignore(renew), { startImmediately: true })
    yield* runEvery(MEMBERSHIP_MILLIS, "heartbeat of the gate", Effect.flatMap(renew, report))
  }),
)
