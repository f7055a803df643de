/**
 * What the gate knows of each campaign's platform, as one state that all gates of the store share (`fifo-queue/rules/shared/platform-state.ts`). Here is what
 * this gate has learned and not yet told the store, and the state of the last sweep. A change is logged, and the metrics show the state.
 */

import { Context, Effect, Layer } from "effect"
import type { Learned } from "../fifo-queue/inputs.ts"
import type { PlatformState } from "../fifo-queue/operator/schemas.ts"
import { settingPath } from "../platform-api/faults.ts"
import type { Fault } from "../platform-api/model.ts"
import { Store } from "../store/Store.ts"
import * as metrics from "./metrics.ts"

/** A platform that starts nothing for this long (ms), although it answers, is logged. Shorter times are usual when every slot is in use. */
export const LASTING_MILLIS = 10_000

export class PlatformStates extends Context.Service<
  PlatformStates,
  {
    /** The store's time (ms since 1970), to be read before the platform is. */
    readonly now: Effect.Effect<number>
    /** Reading the platform, begun at `at`, has shown this. */
    readonly heard: (campaign: string, verdict: Fault | "ok" | "answers", at: number) => void
    /** A call to the platform has failed, perhaps for its caller alone: the platform is read soon. */
    readonly suspect: (campaign: string) => void
    /** What the store has not been told yet: for the next sweep, which calls `told` with it. */
    readonly learned: (campaign: string) => Learned
    readonly told: (campaign: string, learned: Learned) => void
    /** The state at the last sweep. */
    readonly note: (campaign: string, state: PlatformState | undefined, now: number) => Effect.Effect<void>
    readonly of: (campaign: string) => PlatformState | undefined
  }
>()("voicegate/gatekeeper/PlatformStates") {}

const NOTHING: Learned = {}

const seconds = (millis: number): string => `${Math.max(0, Math.round(millis / 1000))} s`

const MEND_WEBHOOKS =
  "Check the webhook's address and secret at the platform, and Security.WebhookApiToken or the vendor's secret here. Until then slots come free up to 5 minutes late."

const KEEP = "Callers keep their places; one at a time is called to test it."

/** How the beginning of a state is logged. */
const begun = (campaign: string, { code, setting, since, state }: PlatformState, now: number): Effect.Effect<void> => {
  const why = code === "" ? "" : ` (${code})`
  switch (state) {
    case "unavailable":
      return Effect.logWarning(
        `The platform cannot be reached for campaign ${campaign}${why}: "voicegate check" and the console say what fails. ${KEEP}`,
      )
    case "rejected": {
      const check = setting === "" ? "the account at the platform" : setting
      return Effect.logError(`The platform refuses campaign ${campaign}${why}: check ${check}. ${KEEP}`)
    }
    case "webhooks_missing":
      return Effect.logWarning(
        `The platform does not report the ends of calls for campaign ${campaign}: several have ended, and no webhook came. ${MEND_WEBHOOKS}`,
      )
    case "at_capacity":
      return Effect.logWarning(
        `The platform has had no free slot for campaign ${campaign} for ${seconds(now - since)}, so no call starts. ` +
          "Callers keep their places; starts are tried again and again.",
      )
    case "rate_limited":
      return Effect.logWarning(
        `The platform has limited the requests of campaign ${campaign}'s key for ${seconds(now - since)}, so no call starts. ` +
          "Callers keep their places; starts are tried again and again.",
      )
  }
}

const ENDED: Readonly<Record<PlatformState["state"], (campaign: string, after: string) => string>> = {
  unavailable: (campaign, after) => `The platform can be reached again for campaign ${campaign}, after ${after}.`,
  rejected: (campaign, after) => `The platform accepts campaign ${campaign} again, after ${after}.`,
  webhooks_missing: (campaign, after) =>
    `The platform reports the ends of calls again for campaign ${campaign}, after ${after}.`,
  at_capacity: (campaign, after) => `The platform is no longer at capacity for campaign ${campaign}, after ${after}.`,
  rate_limited: (campaign, after) =>
    `The platform takes the requests of campaign ${campaign}'s key again, after ${after}.`,
}

const isSame = (a: PlatformState | undefined, b: PlatformState): boolean =>
  a?.state === b.state && (b.state !== "rejected" || (a.code === b.code && a.setting === b.setting))

export const layer: Layer.Layer<PlatformStates, never, Store> = Layer.effect(
  PlatformStates,
  Effect.gen(function* () {
    const { now } = yield* Store
    const untold = new Map<string, Learned>()
    const states = new Map<string, PlatformState>()
    const logged = new Map<string, PlatformState>()
    /** what the metrics show */
    const shown = new Map<string, PlatformState | undefined>()
    const show = (campaign: string, state: PlatformState | undefined): Effect.Effect<void> => {
      const before = shown.get(campaign)
      if (shown.has(campaign) && (state === undefined ? before === undefined : isSame(before, state)))
        return Effect.void
      shown.set(campaign, state)
      return metrics.setPlatformState(campaign, state)
    }

    const log = (campaign: string, state: PlatformState | undefined, at: number): Effect.Effect<void> => {
      const before = logged.get(campaign)
      if (state === undefined) {
        if (before === undefined) return Effect.void
        logged.delete(campaign)
        return Effect.logInfo(ENDED[before.state](campaign, seconds(at - before.since)))
      }
      if (isSame(before, state)) return Effect.void
      const isFull = state.state === "at_capacity" || state.state === "rate_limited"
      if (isFull && at - state.since < LASTING_MILLIS) return Effect.void
      logged.set(campaign, state)
      return begun(campaign, state, at)
    }

    return {
      now,
      heard: (campaign, verdict, at) => {
        const heard =
          verdict === "ok" || verdict === "answers"
            ? { state: verdict, at }
            : { ...verdict, setting: verdict.setting === "" ? "" : settingPath(campaign, verdict.setting), at }
        untold.set(campaign, { heard })
      },
      suspect: (campaign) => void untold.set(campaign, { ...untold.get(campaign), suspect: true }),
      learned: (campaign) => untold.get(campaign) ?? NOTHING,
      told: (campaign, learned) => {
        if (untold.get(campaign) === learned) untold.delete(campaign)
      },
      note: (campaign, state, at) =>
        Effect.suspend(() => {
          if (state === undefined) states.delete(campaign)
          else states.set(campaign, state)
          return Effect.andThen(show(campaign, state), log(campaign, state, at))
        }),
      of: (campaign) => states.get(campaign),
    }
  }),
)
