/** The sweep of each campaign: enforces deadlines, recovers lost wake-ups, and tells of what it has found. */
import { Effect, Exit, Layer, type Scope } from "effect"
import { FifoQueue, type Swept } from "../../fifo-queue/FifoQueue.ts"
import { PlatformApi } from "../../platform-api/PlatformApi.ts"
import { ReadsSettings } from "../../platform-api/shared/vendor.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import type { Campaign } from "../../settings/Settings.ts"
import { Store } from "../../store/Store.ts"
import { FullQueues } from "../checks/FullQueues.ts"
import { ExpectedWaits } from "../ExpectedWaits.ts"
import { Hours } from "../Hours.ts"
import * as metrics from "../metrics.ts"
import { PlatformStates } from "../PlatformStates.ts"
import { Peers } from "../peers/Peers.ts"
import { Running } from "../Running.ts"
import { Steps } from "../Steps.ts"
import { ClosedQueues } from "./ClosedQueues.ts"
import { logQuarantined } from "./quarantined.ts"
import { runForEachCampaign } from "./run-every.ts"
import { StoreOutage } from "./StoreOutage.ts"

/** A waiting ticket is called to a free slot within this time, even if a wake-up was lost. */
export const SWEEP_MILLIS = 1_000
/** How many sweeps may follow each other at once while work remains; then the next interval continues. */
const SWEEPS_AT_ONCE = 100

/** Whether the store answered, even with an error. */
const wasReached = (exit: Exit.Exit<void, StoreUnavailable>): boolean =>
  Exit.isSuccess(exit) ||
  !exit.cause.reasons.some((reason) => reason._tag === "Fail" && reason.error.refusal === undefined)

/** Reads a campaign's platform in the background, one read at a time. What it shows goes with the next sweep. */
const platformReads = (platform: PlatformApi["Service"], scope: Scope.Scope) => {
  const reading = new Set<string>()
  return (campaign: string): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (reading.has(campaign)) return Effect.void
      reading.add(campaign)
      return platform
        .verify(campaign)
        .pipe(
          Effect.provideService(ReadsSettings, false),
          Effect.ensuring(Effect.sync(() => void reading.delete(campaign))),
          Effect.forkIn(scope),
          Effect.asVoid,
        )
    })
}

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const queue = yield* FifoQueue
    const hours = yield* Hours
    const { ignoresHours } = yield* Peers
    const steps = yield* Steps
    const waits = yield* ExpectedWaits
    const store = yield* Store
    const running = yield* Running
    const states = yield* PlatformStates
    const fullQueues = yield* FullQueues
    const closedQueues = yield* ClosedQueues
    const storeOutage = yield* StoreOutage
    const readPlatform = platformReads(yield* PlatformApi, yield* Effect.scope)
    const startedAt = yield* store.now
    const noteQuarantined = logQuarantined(startedAt)

    const showFigures = ({ name }: Campaign, swept: Swept, configured: number, readAt: number): Effect.Effect<void> => {
      const slots = Number.isFinite(configured) ? configured : swept.allowed
      return metrics.setGauges(name, {
        waiting: swept.waiting,
        waitingForBudget: swept.resumesAt === undefined ? (swept.unpaid ?? 0) : swept.waiting,
        leases: swept.leases,
        doubts: swept.doubts,
        quarantined: swept.quarantined.count,
        readAt: readAt / 1000,
        ...(slots === undefined ? {} : { slots }),
      })
    }
    const sweep = (campaign: Campaign, left = SWEEPS_AT_ONCE): Effect.Effect<void, StoreUnavailable> =>
      Effect.gen(function* () {
        const at = steps.at(campaign)
        const learned = states.learned(campaign.name)
        const readAt = yield* store.now
        const shownAt = steps.heartbeatAt.get(campaign) ?? startedAt
        const swept = yield* steps.step(
          at,
          queue.sweep(at, shownAt, learned, hours.told(campaign, readAt, ignoresHours(campaign))),
        )
        states.told(campaign.name, learned)
        if (swept.owed.length > 0) yield* steps.settle(at, swept.owed)
        if (swept.uncharged !== undefined && swept.uncharged.length > 0) yield* steps.charge(at, swept.uncharged)
        running.found(campaign, swept)
        fullQueues.swept(campaign, swept.waiting)
        yield* showFigures(campaign, swept, at.slots, readAt)
        waits.swept(campaign, swept, at.slots)
        if (campaign.Hours !== undefined) yield* hours.swept(campaign, swept, readAt)
        yield* noteQuarantined(campaign, at, swept.quarantined, yield* store.now)
        yield* states.note(campaign.name, swept.platform, yield* store.now)
        if (swept.watch === true) yield* readPlatform(campaign.name)
        if (swept.more && left > 0) yield* sweep(campaign, left - 1)
      })

    // the first sweep runs before any request is served, so that the queue knows this instance
    yield* runForEachCampaign(
      SWEEP_MILLIS,
      "sweep",
      (campaign) =>
        Effect.onExit(sweep(campaign), (exit) => {
          running.swept(campaign, Exit.isSuccess(exit))
          return Effect.andThen(closedQueues.swept(campaign.name, exit), storeOutage.record(wasReached(exit)))
        }),
      { atOnce: true },
    )
  }),
)
