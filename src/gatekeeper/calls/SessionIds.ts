/**
 * The ids of running sessions. If the platform's answer to a start contains only one id, its webhook may use another. So the
 * platform's history is read soon after the start and further ids are stored, so that the webhook finds its slot.
 */

import { Clock, Context, Effect, Layer } from "effect"
import { FifoQueue } from "../../fifo-queue/FifoQueue.ts"
import type { CampaignContext } from "../../fifo-queue/step.ts"
import { isOpen } from "../../lib/age.ts"
import { PlatformApi } from "../../platform-api/PlatformApi.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import { Steps } from "../Steps.ts"

/** Delays before reading the history after a start (ms, each after the one before). */
const ASK_AFTER_MILLIS: ReadonlyArray<number> = [1_000, 5_000]
/** How long a campaign's history is not read after it had no further id (ms): each read counts against the key's request limit. */
export const QUIET_MILLIS = 10 * 60_000
/** A session has two ids; ids beyond this number are ignored. */
const MAX_IDS = 4

export class SessionIds extends Context.Service<
  SessionIds,
  {
    /** Stores further ids of a running session. True if a session with one of them had already ended. */
    readonly keep: (
      at: CampaignContext,
      sessionId: string,
      named: ReadonlyArray<string>,
    ) => Effect.Effect<boolean, StoreUnavailable>
    /** Reads further ids of a session that has just started from the platform's history. */
    readonly learn: (at: CampaignContext, campaign: string, sessionId: string) => Effect.Effect<void>
  }
>()("voicegate/gatekeeper/SessionIds") {}

export const layer: Layer.Layer<SessionIds, never, FifoQueue | PlatformApi | Steps> = Layer.effect(
  SessionIds,
  Effect.gen(function* () {
    const { step } = yield* Steps
    const queue = yield* FifoQueue
    const platform = yield* PlatformApi
    const quietUntil = new Map<string, number>()

    const keep: SessionIds["Service"]["keep"] = (at, sessionId, named) => {
      const further = named.filter((id) => id !== sessionId).slice(0, MAX_IDS)
      return further.length === 0
        ? Effect.succeed(false)
        : Effect.map(step(at, queue.alias(at, sessionId, further)), (result) => result === "ended")
    }

    const learn = Effect.fnUntraced(function* (at: CampaignContext, campaign: string, sessionId: string) {
      if (isOpen(quietUntil.get(campaign) ?? 0, QUIET_MILLIS, yield* Clock.currentTimeMillis)) return
      for (const millis of ASK_AFTER_MILLIS) {
        yield* Effect.sleep(millis)
        const { sessionIds } = yield* platform.sessionStatus(campaign, sessionId)
        if (!sessionIds.some((id) => id !== sessionId)) continue
        if (yield* keep(at, sessionId, sessionIds)) {
          yield* Effect.logInfo(
            "A session had already ended under an id that was not known until now; its slot is freed.",
          )
        }
        return
      }
      quietUntil.set(campaign, (yield* Clock.currentTimeMillis) + QUIET_MILLIS)
    })

    return {
      keep,
      // the audit reads it again, minutes later
      learn: (at, campaign, sessionId) =>
        Effect.catchCause(learn(at, campaign, sessionId), (cause) =>
          Effect.logDebug("A session's history could not be read", cause),
        ),
    }
  }),
)
