/**
 * The other gates on this store, and conflicts with them. Instances whose settings differ are logged, once, if the difference persists;
 * so are gates that serve the same campaign with another database.
 */
import { Context, Effect, Layer } from "effect"
import { Settings } from "../../settings/Settings.ts"
import { runEvery } from "../background/run-every.ts"
import { Campaigns } from "../Campaigns.ts"
import { makeDebounce, type Observed } from "./debounce.ts"
import { Instance, shown } from "./Instance.ts"
import { MEMBERSHIP_MILLIS, Membership, type Renewed } from "./Membership.ts"
import { OtherDatabases } from "./OtherDatabases.ts"
import { differenceOf, readSharedSettings, sharedSettingsOf } from "./settings-diff.ts"

/** How many instances a log line names. */
const MAX_NAMED = 5

/** What this gate knows about the others. Times in ms. */
export interface PeersStatus {
  /** the time of the last renewal; undefined before the first */
  readonly at: number | undefined
  /** gates on this store, this one included */
  readonly gates: number
  /** conflicts between them, as messages */
  readonly trouble: ReadonlyArray<string>
}

export class Peers extends Context.Service<
  Peers,
  {
    readonly status: () => PeersStatus
    /** Logs the conflicts that an answer to a renewal shows. */
    readonly report: (heard: Renewed) => Effect.Effect<void>
  }
>()("voicegate/gatekeeper/Peers") {}

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
      const [settingsDiffer, elsewhere] = [makeDebounce(), makeDebounce()]

      const settingsDifferences = ({ others }: Renewed): Observed => {
        const seen = new Map<string, ReadonlyArray<string>>()
        for (const { host, id, settings } of others) {
          const difference = differenceOf(ownSettings, readSharedSettings(settings), campaigns)
          if (difference !== "") seen.set(difference, [...(seen.get(difference) ?? []), shown({ id, host })])
        }
        return seen
      }

      return {
        status: () => ({
          at: latest()?.at,
          gates: latest()?.alive ?? 0,
          trouble: [
            ...settingsDiffer.active().map((difference) => `Other instances have different settings: ${difference}.`),
            ...elsewhere.active().map((names) => `Gates on another database of the Redis server serve ${names} too.`),
          ],
        }),
        report: Effect.fnUntraced(function* (heard) {
          const settings = settingsDifferences(heard)
          const { raised, cleared } = settingsDiffer.update(heard.at, settings)
          for (const difference of raised) {
            yield* Effect.logWarning(
              `This instance, ${shown(own)}, and ${listOf(settings.get(difference) ?? [])} on the same store have different settings: ` +
                `${difference}. Each instance uses its own until they are the same.`,
            )
          }
          if (cleared > 0 && settingsDiffer.active().length === 0) {
            yield* Effect.logInfo("All instances on the store have the same settings again.")
          }
          const others = databases.seen(heard.store, heard.at)
          for (const names of elsewhere.update(heard.at, others).raised) {
            yield* Effect.logWarning(
              `This instance, ${shown(own)}, serves the same campaign as ${listOf(others.get(names) ?? [])} with another database of the same ` +
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
