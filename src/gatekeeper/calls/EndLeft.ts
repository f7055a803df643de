/**
 * Ends the session of a caller who has left: the page was closed, or its connection broke. The platform may not know that yet.
 *
 * The slot is freed as soon as the platform has ended the session, or says that it is over. The caller's report alone frees nothing:
 * otherwise a caller who keeps talking would have a call without a slot. If the platform can do neither, the webhook or the audit frees
 * the slot, as after any other call. If nothing else can tell that the session is over, the caller's report is trusted, once the
 * credential opens nothing more. If this gate stops before that, the slot stays held until the maximum length of a call has passed.
 *
 * The platform is asked at most once in `AGAIN_MILLIS` for each ticket, so a caller who repeats the request cannot use up the key's request
 * limit.
 */

import { Context, Effect, Layer, Schedule } from "effect"
import { FifoQueue } from "../../fifo-queue/FifoQueue.ts"
import type { CampaignContext } from "../../fifo-queue/step.ts"
import { ageOf } from "../../lib/age.ts"
import { boundedCache } from "../../lib/bounded-cache.ts"
import type { WebSession } from "../../platform-api/model.ts"
import { PlatformApi } from "../../platform-api/PlatformApi.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import { Store } from "../../store/Store.ts"
import { aheadOf } from "../../store/time-of-day.ts"
import { boundSessionOf } from "../outcomes.ts"
import { Steps } from "../Steps.ts"
import { endOrFindOver } from "./end-session.ts"

/** How long a ticket's session is not asked about again (ms). */
const AGAIN_MILLIS = 30_000
/** How often the end of such a session is retried while the store is unavailable. */
const END_RETRIES = 10
/** The number of tickets that are remembered; beyond it the oldest are forgotten, and may be asked about again. */
const MAX_REMEMBERED = 10_000

/** Ends the session of a live ticket. Does nothing for any other; `starting` says that there may be a session later. */
export class EndLeft extends Context.Service<
  EndLeft,
  (where: CampaignContext, campaign: string, ticket: string) => Effect.Effect<"starting" | undefined, StoreUnavailable>
>()("voicegate/gatekeeper/EndLeft") {}

export const layer: Layer.Layer<EndLeft, never, FifoQueue | PlatformApi | Steps | Store> = Layer.effect(
  EndLeft,
  Effect.gen(function* () {
    const { step } = yield* Steps
    const queue = yield* FifoQueue
    const platform = yield* PlatformApi
    const store = yield* Store
    const scope = yield* Effect.scope
    const asked = boundedCache<number>(MAX_REMEMBERED)
    /** ids of the sessions that end when their credential opens nothing more */
    const closing = new Set<string>()

    /** The time of day from which on the caller's report is trusted (ms since 1970); undefined if the platform can tell that the session is over. */
    const takenFrom = (campaign: string, session: WebSession): Effect.Effect<number | undefined> =>
      Effect.orElseSucceed(platform.pageEnds?.(campaign, session) ?? Effect.undefined, () => undefined)

    const endAfter = (where: CampaignContext, sessionIds: ReadonlyArray<string>, millis: number): Effect.Effect<void> =>
      Effect.suspend(() => {
        const [id = ""] = sessionIds
        if (closing.has(id)) return Effect.void
        closing.add(id)
        return Effect.sleep(millis).pipe(
          Effect.andThen(
            Effect.retry(step(where, queue.end(where, sessionIds)), {
              schedule: Schedule.spaced(AGAIN_MILLIS),
              times: END_RETRIES,
            }),
          ),
          Effect.ignore,
          Effect.ensuring(Effect.sync(() => void closing.delete(id))),
          Effect.forkIn(scope),
          Effect.asVoid,
        )
      })

    return Effect.fnUntraced(function* (where, campaign, ticket) {
      const found = yield* step(where, queue.attach(where, ticket, false))
      if (found._tag === "starting") return found._tag
      if (found._tag !== "live") return undefined
      const now = yield* store.now
      if (ageOf(asked.get(ticket) ?? Number.NEGATIVE_INFINITY, now) < AGAIN_MILLIS) return undefined
      asked.set(ticket, now)
      const session = boundSessionOf(found.data)
      const from = yield* takenFrom(campaign, session)
      const left = from === undefined ? 0 : from - (now + aheadOf(store))
      if (left > 0) {
        yield* endAfter(where, session.sessionIds, left)
        return undefined
      }
      if (from === undefined) {
        const ending = yield* endOrFindOver(platform, campaign, session, "A session that its caller has left")
        if (ending !== "over") return undefined
      }
      // The end names the session, so that an end that was reported meanwhile is not counted twice.
      yield* step(where, queue.end(where, session.sessionIds))
      return undefined
    })
  }),
)
