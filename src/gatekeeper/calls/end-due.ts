/**
 * Ends running sessions at the platform: those whose lease is about to end, unless the platform itself ends calls at the maximum length;
 * those in which nobody has spoken for `SilenceSeconds`; those without a caller; and those that an operator ended when the platform did not answer (`operator/end-call.ts`). Afterwards their
 * slots are free. If the platform cannot be reached, or does not confirm the end, it is asked again until the lease ends; then the slot is
 * freed anyway, and the call may continue without one.
 *
 * The store gives a session to one gate at a time. If that gate dies, another one is given it after `CLAIM_MILLIS`.
 */
import { Effect, Layer } from "effect"
import { FifoQueue } from "../../fifo-queue/FifoQueue.ts"
import { PlatformApi } from "../../platform-api/PlatformApi.ts"
import type { Campaign } from "../../settings/Settings.ts"
import { runForEachCampaign } from "../background/run-every.ts"
import { boundSessionOf } from "../outcomes.ts"
import { Running } from "../Running.ts"
import { Steps } from "../Steps.ts"

export const DUE_CHECK_MILLIS = 5_000
/** How long a gate has to end a session before another one may try (ms); an `end` is at most two requests, each sent at most twice. */
export const CLAIM_MILLIS = 20_000
/** Sessions that a gate ends at once. */
const AT_ONCE = 10

/** Ends each campaign's sessions that are due. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { at, step } = yield* Steps
    const running = yield* Running
    const queue = yield* FifoQueue
    const platform = yield* PlatformApi
    const { end } = platform
    // this platform cannot be asked to end a session
    if (end === undefined) return

    const endOne = Effect.fnUntraced(function* (campaign: Campaign, data: string) {
      const session = boundSessionOf(data)
      const isOver = yield* Effect.catch(end(campaign.name, session), ({ message }) =>
        Effect.as(
          Effect.logWarning(
            `A call that reached Queue.MaxCallMinutes, in which nobody speaks, that has no caller, or that an operator ended, could not be ended: ${message}`,
          ),
          false,
        ),
      )
      if (isOver === true) yield* step(at(campaign), queue.end(at(campaign), session.sessionIds))
    })

    const endAll = Effect.fnUntraced(function* (campaign: Campaign) {
      const which = platform.limitsCalls?.(campaign.name) === true ? "at_once" : "all"
      const { SilenceSeconds } = campaign
      const silenceMillis = SilenceSeconds === undefined ? undefined : SilenceSeconds * 1000
      const due = yield* queue.dueEnds(at(campaign), which, CLAIM_MILLIS, silenceMillis)
      yield* Effect.forEach(
        due.filter((data) => data !== ""),
        (data) => endOne(campaign, data),
        { concurrency: AT_ONCE, discard: true },
      )
    })
    yield* runForEachCampaign(DUE_CHECK_MILLIS, "end of calls at their longest length", (campaign) =>
      (running.of(campaign)?.live ?? 0) === 0 ? Effect.void : endAll(campaign),
    )
  }),
)
