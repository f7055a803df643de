/**
 * Watches running calls of platforms that report no ends: the gate that began a call watches it, and the gate whose audit finds a
 * running call that it does not watch begins to, in case the other one has died. Two gates that watch one call free its slot once. What the
 * vendor says of who speaks meanwhile is noted (`NoteSpeech.ts`).
 */

import { Context, Effect, Layer, Schedule } from "effect"
import { FifoQueue } from "../../fifo-queue/FifoQueue.ts"
import type { CampaignContext } from "../../fifo-queue/step.ts"
import type { Hears } from "../../platform-api/model.ts"
import { PlatformApi } from "../../platform-api/PlatformApi.ts"
import { Steps } from "../Steps.ts"
import { NoteSpeech } from "./NoteSpeech.ts"

/** How an end is reported to the queue while the store is unavailable; after that, the audit reports it. */
const END_RETRY = { schedule: Schedule.spaced(1_000), times: 60 }

/** Watches the session of this id until it is over or the gatekeeper stops; does nothing if it is watched. */
export class WatchCall extends Context.Service<
  WatchCall,
  (at: CampaignContext, campaign: string, sessionId: string) => Effect.Effect<void>
>()("voicegate/gatekeeper/WatchCall") {}

export const layer: Layer.Layer<WatchCall, never, FifoQueue | NoteSpeech | PlatformApi | Steps> = Layer.effect(
  WatchCall,
  Effect.gen(function* () {
    const { step } = yield* Steps
    const noteSpeech = yield* NoteSpeech
    const queue = yield* FifoQueue
    const { watch } = yield* PlatformApi
    const scope = yield* Effect.scope
    const watched = new Set<string>()
    const run = Effect.runForkWith(yield* Effect.context<never>())

    return (at, campaign, sessionId) =>
      Effect.suspend(() => {
        if (watch === undefined || watched.has(sessionId)) return Effect.void
        watched.add(sessionId)
        const end = Effect.asVoid(Effect.retry(step(at, queue.end(at, [sessionId])), END_RETRY))
        const hears: Hears = (speech) => void run(noteSpeech(campaign, [sessionId], speech))
        return watch(campaign, sessionId, hears).pipe(
          Effect.flatMap((isOver) => (isOver ? end : Effect.void)),
          Effect.catchCause((cause) => Effect.logDebug("Watching a call failed", cause)),
          Effect.ensuring(Effect.sync(() => void watched.delete(sessionId))),
          // a start, which is uninterruptible, begins this
          Effect.interruptible,
          Effect.forkIn(scope),
          Effect.asVoid,
        )
      })
  }),
)
