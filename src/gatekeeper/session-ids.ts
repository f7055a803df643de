/**
 * The ids of running sessions. Where the platform's answer to a start names one id only, its webhook may name another: the
 * session's history is asked soon after the start, and further ids are kept, so that the webhook finds its slot.
 */
import { Clock, Effect } from "effect"
import { type At, FifoQueue } from "../FifoQueue.ts"
import { PlatformApi } from "../PlatformApi.ts"
import type { StoreUnavailable } from "../Session.ts"
import type { Steps } from "./steps.ts"

/** When the history is asked after a start (ms after the one before). */
export const ASK_AFTER_MILLIS: ReadonlyArray<number> = [1_000, 5_000]
/** How long a campaign's history is not asked after one that told nothing new (ms): it costs the key a request each time. */
export const QUIET_MILLIS = 10 * 60_000
/** A session has two ids; whatever names more is not believed. */
const MOST_IDS = 4

export interface SessionIds {
  /** Keeps further ids of a running session; does nothing when there are none. True when one of them had ended already. */
  readonly keep: (at: At, sessionId: string, named: ReadonlyArray<string>) => Effect.Effect<boolean, StoreUnavailable>
  /** Asks the history for further ids of a session that has just started. */
  readonly learn: (at: At, campaign: string, sessionId: string) => Effect.Effect<void>
}

export const makeSessionIds = ({ step }: Steps): Effect.Effect<SessionIds, never, FifoQueue | PlatformApi> =>
  Effect.gen(function* () {
    const queue = yield* FifoQueue
    const platform = yield* PlatformApi
    const quietUntil = new Map<string, number>()

    const keep: SessionIds["keep"] = (at, sessionId, named) => {
      const further = named.filter((id) => id !== sessionId).slice(0, MOST_IDS)
      return further.length === 0
        ? Effect.succeed(false)
        : Effect.map(step(at, queue.alias(at, sessionId, further)), (result) => result === "ended")
    }

    const learn = Effect.fnUntraced(function* (at: At, campaign: string, sessionId: string) {
      if ((yield* Clock.currentTimeMillis) < (quietUntil.get(campaign) ?? 0)) return
      for (const millis of ASK_AFTER_MILLIS) {
        yield* Effect.sleep(millis)
        const { sessionIds } = yield* platform.sessionStatus(campaign, sessionId)
        if (!sessionIds.some((id) => id !== sessionId)) continue
        if (yield* keep(at, sessionId, sessionIds)) {
          yield* Effect.logInfo("A session had ended under an id that became known only now; its slot is freed.")
        }
        return
      }
      quietUntil.set(campaign, (yield* Clock.currentTimeMillis) + QUIET_MILLIS)
    })

    return {
      keep,
      // the audit asks again, minutes later
      learn: (at, campaign, sessionId) =>
        Effect.catchCause(learn(at, campaign, sessionId), (cause) =>
          Effect.logDebug("A session's history could not be read", cause),
        ),
    }
  })
