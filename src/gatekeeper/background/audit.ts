/** The audit: asks the platform about sessions whose webhook may be lost, and frees the slots of those that are over. */

import { Effect, Layer } from "effect"
import { FifoQueue } from "../../fifo-queue/FifoQueue.ts"
import type { EndReporter } from "../../fifo-queue/inputs.ts"
import { boundedCache } from "../../lib/bounded-cache.ts"
import type { SessionState } from "../../platform-api/model.ts"
import { PlatformApi } from "../../platform-api/PlatformApi.ts"
import type { Campaign } from "../../settings/Settings.ts"
import { SessionIds } from "../calls/SessionIds.ts"
import { WatchCall } from "../calls/WatchCall.ts"
import { Steps } from "../Steps.ts"
import { runForEachCampaign } from "./run-every.ts"

/** Live leases older than this are checked at the platform, at this interval. */
export const AUDIT_AGE_MILLIS = 3 * 60_000
export const AUDIT_MILLIS = 60_000
const MAX_SEEN_RUNNING = 10_000

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const queue = yield* FifoQueue
    const platform = yield* PlatformApi
    const ids = yield* SessionIds
    const { at, step } = yield* Steps
    const watchCall = yield* WatchCall
    /** sessions that an audit here has seen running */
    const seenRunning = boundedCache<true>(MAX_SEEN_RUNNING)

    /** What an end that only the audit has found tells of the platform's webhooks: none need come for a session that nobody has opened. */
    const reporterOf = ({ name }: Campaign, session: string, opened: boolean | undefined): EndReporter | undefined => {
      const wasSeen = seenRunning.delete(session)
      if (platform.reportsEnds?.(name) !== true) return "audit_alone"
      return opened === false && !wasSeen ? undefined : "audit"
    }
    const audit = Effect.fnUntraced(function* (campaign: Campaign) {
      const where = at(campaign)
      const old = yield* queue.audit(where, AUDIT_AGE_MILLIS, AUDIT_MILLIS)
      for (const session of old) {
        const { opened, sessionIds, status } = yield* Effect.catch(platform.sessionStatus(campaign.name, session), () =>
          Effect.succeed<SessionState>({ status: "unknown", sessionIds: [] }),
        )
        if (status === "running") {
          if (opened !== false) seenRunning.set(session, true)
          yield* ids.keep(where, session, sessionIds)
          yield* watchCall(where, campaign.name, session)
        }
        if (status !== "over") continue
        yield* Effect.logWarning("A session has ended without a webhook from the platform; its slot is freed.")
        yield* step(where, queue.end(where, [session], reporterOf(campaign, session, opened)))
      }
    })
    yield* runForEachCampaign(AUDIT_MILLIS, "audit", audit)
  }),
)
