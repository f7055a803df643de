/**
 * The other gates on this store. Each sends a heartbeat to the store, with its settings and campaigns. Instances whose settings
 * differ are logged, once, if the difference persists. Campaigns that no gate serves any more are drained
 * (`RemovedCampaigns.ts`).
 */

import { createHash, randomBytes } from "node:crypto"
import { Effect, type Scope } from "effect"
import type { FifoQueue } from "../../fifo-queue/FifoQueue.ts"
import { UNKNOWN_SLOTS } from "../../fifo-queue/rules/shared/platform-limit.ts"
import { ageOf } from "../../lib/age.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import type { PushChannel } from "../../push-channel/PushChannel.ts"
import type { SettingsTree } from "../../settings/Settings.ts"
import { Store } from "../../store/Store.ts"
import { runEvery } from "../background/run-every.ts"
import type { Campaigns } from "../Campaigns.ts"
import type { Capacity } from "../capacity/Capacity.ts"
import type { Steps } from "../Steps.ts"
import { makeDebounce, type Observed } from "./debounce.ts"
import { type Instance, shown } from "./Instance.ts"
import { ANNOUNCE_MILLIS, makeOtherDatabases } from "./other-databases.ts"
import { type HeartbeatAnswer, makeGatesShared } from "./PeersHeartbeat.ts"
import { type About, makeRemovedCampaigns, type RemovedCampaigns } from "./RemovedCampaigns.ts"
import { differenceOf, readSharedSettings, sharedSettingsOf } from "./settings-diff.ts"

/** The interval of a gate's heartbeat, whose answer names the others (ms). */
export const HEARTBEAT_MILLIS = 2_000
/** How many instances a log line names. */
const MAX_NAMED = 5

/** What this gate knows about the others. Times in ms. */
export interface GatesStatus {
  /** the time of the last heartbeat; undefined before the first */
  readonly at: number | undefined
  /** gates on this store, this one included */
  readonly gates: number
  /** conflicts between them, as messages */
  readonly trouble: ReadonlyArray<string>
}

export interface Gates {
  readonly removed: RemovedCampaigns
  readonly status: () => GatesStatus
  /** Starts the heartbeat in the background, beginning at once. */
  readonly start: Effect.Effect<void, never, Scope.Scope>
}

const listOf = (instances: ReadonlyArray<string>): string => {
  const more = instances.length - MAX_NAMED
  return more > 0 ? `${instances.slice(0, MAX_NAMED).join(", ")} and ${more} more` : instances.join(", ")
}

export const makeGates = (
  settings: SettingsTree,
  campaigns: Campaigns,
  capacity: Capacity,
  steps: Steps,
  own: Instance,
): Effect.Effect<Gates, never, Store | FifoQueue | PushChannel | Scope.Scope> =>
  Effect.gen(function* () {
    const store = yield* Store
    const shared = makeGatesShared(store)
    const databases = yield* makeOtherDatabases(campaigns, own)
    const offered = randomBytes(12).toString("base64url")
    const ownSettings = sharedSettingsOf(settings, campaigns)
    const serialised = JSON.stringify(ownSettings)
    const digest = createHash("sha256").update(serialised).digest("base64url").slice(0, 22)
    const [settingsDiffer, elsewhere] = [makeDebounce(), makeDebounce()]
    let latest: HeartbeatAnswer | undefined
    let latestAt = 0
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

    const heartbeat: Effect.Effect<HeartbeatAnswer, StoreUnavailable> = Effect.gen(function* () {
      const now = yield* store.now
      const announces = ageOf(announcedAt, now) >= ANNOUNCE_MILLIS
      const announcement = announces ? databases.announcement : ""
      const request = { ...own, settings: serialised, digest, campaigns: servedCampaigns(), announcement }
      const answer = yield* shared.heartbeat(request, offered, now)
      if (announces) announcedAt = now
      latest = answer
      latestAt = now
      removed.update(answer.removed, now)
      return answer
    })
    const removed = yield* makeRemovedCampaigns(
      steps,
      shared,
      Effect.suspend(() => (latest === undefined ? Effect.asVoid(heartbeat) : Effect.void)),
    )

    const settingsDifferences = ({ others }: HeartbeatAnswer): Observed => {
      const seen = new Map<string, ReadonlyArray<string>>()
      for (const { host, id, settings } of others) {
        const difference = differenceOf(ownSettings, readSharedSettings(settings), campaigns)
        if (difference !== "") seen.set(difference, [...(seen.get(difference) ?? []), shown({ id, host })])
      }
      return seen
    }
    const report = Effect.fnUntraced(function* (answer: HeartbeatAnswer, now: number) {
      const settings = settingsDifferences(answer)
      const { raised, cleared } = settingsDiffer.update(now, settings)
      for (const difference of raised) {
        yield* Effect.logWarning(
          `This instance, ${shown(own)}, and ${listOf(settings.get(difference) ?? [])} on the same store have different settings: ` +
            `${difference}. Each instance uses its own until they are the same.`,
        )
      }
      if (cleared > 0 && settingsDiffer.active().length === 0) {
        yield* Effect.logInfo("All instances on the store have the same settings again.")
      }
      const others = databases.seen(answer.store, now)
      for (const names of elsewhere.update(now, others).raised) {
        yield* Effect.logWarning(
          `This instance, ${shown(own)}, serves the same campaign as ${listOf(others.get(names) ?? [])} with another database of the same ` +
            `Redis server: ${names}. Each counts its slots separately, so there may be more calls than slots. Use the same database ` +
            "in StoreConnectionString.",
        )
      }
    })

    return {
      removed,
      status: () => ({
        at: latest === undefined ? undefined : latestAt,
        gates: latest?.alive ?? 0,
        trouble: [
          ...settingsDiffer.active().map((difference) => `Other instances have different settings: ${difference}.`),
          ...elsewhere.active().map((names) => `Gates on another database of the Redis server serve ${names} too.`),
        ],
      }),
      start: Effect.gen(function* () {
        yield* Effect.forkScoped(Effect.ignore(heartbeat), { startImmediately: true })
        const reported = Effect.flatMap(heartbeat, (answer) => report(answer, latestAt))
        yield* runEvery(HEARTBEAT_MILLIS, "heartbeat of the gate", reported)
        // a separate task: draining thousands of tickets must not delay the heartbeat, or others would consider this gate gone
        yield* runEvery(HEARTBEAT_MILLIS, "draining of removed campaigns", removed.drain)
      }),
    }
  })
