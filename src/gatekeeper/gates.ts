/**
 * The gates beside this one: each beats in the store, with its settings and its campaigns. Whoever has other settings is named in the
 * log, once, when it lasts; what nobody serves any more is brought to its end (`removed.ts`).
 */
import { createHash, randomBytes } from "node:crypto"
import { Effect, type Scope } from "effect"
import type { FifoQueue } from "../FifoQueue.ts"
import type { PushChannel } from "../PushChannel.ts"
import type { StoreUnavailable } from "../Session.ts"
import type { SettingsTree } from "../Settings.ts"
import { Store } from "../Store.ts"
import { differenceOf, readValues, valuesOf } from "./agreement.ts"
import type { Campaigns } from "./campaigns.ts"
import type { Capacity } from "./capacity.ts"
import { every } from "./every.ts"
import { type Heard, makeGatesShared } from "./gates-shared.ts"
import { type Instance, shown } from "./instance.ts"
import { makeLasting, type Seen } from "./lasting.ts"
import { ANNOUNCE_MILLIS, makeOtherDatabases } from "./other-databases.ts"
import { type About, makeRemoved, type Removed } from "./removed.ts"
import type { Steps } from "./steps.ts"

/** How often a gate says that it is there, and hears of the others. */
export const GATE_BEAT_MILLIS = 2_000
/** The most instances that a line names. */
const MOST_NAMED = 5

/** How this gate gets on with the others. Times in ms. */
export interface Terms {
  /** when the store was asked last; undefined before */
  readonly at: number | undefined
  /** gates on this store, this one included */
  readonly gates: number
  /** what is wrong between them, in words */
  readonly trouble: ReadonlyArray<string>
}

export interface Gates {
  readonly removed: Removed
  readonly terms: () => Terms
  /** Beats beside the requests, at once and from then on; waits for nothing. */
  readonly begin: Effect.Effect<void, never, Scope.Scope>
}

const named = (instances: ReadonlyArray<string>): string => {
  const more = instances.length - MOST_NAMED
  return more > 0 ? `${instances.slice(0, MOST_NAMED).join(", ")} and ${more} more` : instances.join(", ")
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
    const values = valuesOf(settings, campaigns)
    const written = JSON.stringify(values)
    const digest = createHash("sha256").update(written).digest("base64url").slice(0, 22)
    const [settingsDiffer, elsewhere] = [makeLasting(), makeLasting()]
    let heard: Heard | undefined
    let heardAt = 0
    let announcedAt = Number.NEGATIVE_INFINITY

    const served = () =>
      campaigns.all.map((campaign) => {
        const about: About = { name: campaign.name, tag: campaigns.tag(campaign), slots: capacity.slots(campaign) }
        return { key: campaigns.key(campaign), about: JSON.stringify(about) }
      })

    const beat: Effect.Effect<Heard, StoreUnavailable> = Effect.gen(function* () {
      const now = yield* store.now
      const announces = now - announcedAt >= ANNOUNCE_MILLIS
      const announcement = announces ? databases.announcement : ""
      const says = { ...own, settings: written, digest, campaigns: served(), announcement }
      const answer = yield* shared.beat(says, offered, now)
      if (announces) announcedAt = now
      heard = answer
      heardAt = now
      removed.hear(answer.removed, now)
      return answer
    })
    const removed = yield* makeRemoved(
      steps,
      shared,
      Effect.suspend(() => (heard === undefined ? Effect.asVoid(beat) : Effect.void)),
    )

    const different = ({ others }: Heard): Seen => {
      const seen = new Map<string, ReadonlyArray<string>>()
      for (const { host, id, settings } of others) {
        const difference = differenceOf(values, readValues(settings), campaigns)
        if (difference !== "") seen.set(difference, [...(seen.get(difference) ?? []), shown({ id, host })])
      }
      return seen
    }
    const judge = Effect.fnUntraced(function* (answer: Heard, now: number) {
      const settings = different(answer)
      const { begun, over } = settingsDiffer.look(now, settings)
      for (const difference of begun) {
        yield* Effect.logWarning(
          `This instance, ${shown(own)}, and ${named(settings.get(difference) ?? [])} on the same store have different settings: ` +
            `${difference}. Each keeps to its own until they are alike.`,
        )
      }
      if (over > 0 && settingsDiffer.standing().length === 0) {
        yield* Effect.logInfo("All instances on the store have the same settings again.")
      }
      const others = databases.seen(answer.store, now)
      for (const names of elsewhere.look(now, others).begun) {
        yield* Effect.logWarning(
          `This instance, ${shown(own)}, serves the same campaign as ${named(others.get(names) ?? [])} with another database of the same ` +
            `Redis server: ${names}. Each counts slots of its own, so that calls may be more than there are. Name the same database in ` +
            "StoreConnectionString.",
        )
      }
    })

    return {
      removed,
      terms: () => ({
        at: heard === undefined ? undefined : heardAt,
        gates: heard?.alive ?? 0,
        trouble: [
          ...settingsDiffer.standing().map((difference) => `Other instances have other settings: ${difference}.`),
          ...elsewhere.standing().map((names) => `Another database of the Redis server has gates for ${names}, too.`),
        ],
      }),
      begin: Effect.gen(function* () {
        yield* Effect.forkScoped(Effect.ignore(beat), { startImmediately: true })
        const judged = Effect.flatMap(beat, (answer) => judge(answer, heardAt))
        yield* every(GATE_BEAT_MILLIS, "beat of the gate", judged)
        // apart from the beat, which thousands who are sent away must not hold up: others would take this gate for gone
        yield* every(GATE_BEAT_MILLIS, "end of removed campaigns", removed.drain)
      }),
    }
  })
