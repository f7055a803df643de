/**
 * The caller of a running session has left: a page that goes, or a line that broke. The platform may not know it yet, so it is told.
 *
 * The slot is freed as soon as the platform has ended the session, or says that it is over. The caller's word alone frees nothing: a
 * caller who talks on would otherwise hold a call without a slot. Where the platform can do neither, the slot is freed by the webhook or
 * the audit, as without this.
 *
 * The platform is asked at most once in `AGAIN_MILLIS` for each ticket, so a caller who repeats the request spends nothing of the key's limit.
 */
import { Effect } from "effect"
import { boundedCache } from "../bounded-cache.ts"
import { type CampaignContext, FifoQueue } from "../FifoQueue.ts"
import { PlatformApi } from "../PlatformApi.ts"
import type { StoreUnavailable } from "../Session.ts"
import { Store } from "../Store.ts"
import { boundSessionOf } from "./outcomes.ts"
import type { Steps } from "./steps.ts"

/** How long a ticket's session is not asked about again (ms). */
const AGAIN_MILLIS = 30_000
/** Tickets that are remembered; beyond it the oldest may be asked about again. */
const MAX_REMEMBERED = 10_000

/** Ends the session of a live ticket; does nothing for any other. */
export type EndLeft = (
  where: CampaignContext,
  campaign: string,
  ticket: string,
) => Effect.Effect<void, StoreUnavailable>

export const makeEndLeft = ({ step }: Steps): Effect.Effect<EndLeft, never, FifoQueue | PlatformApi | Store> =>
  Effect.gen(function* () {
    const queue = yield* FifoQueue
    const platform = yield* PlatformApi
    const store = yield* Store
    const asked = boundedCache<number>(MAX_REMEMBERED)

    const isOver = (campaign: string, sessionId: string): Effect.Effect<boolean> =>
      platform.sessionStatus(campaign, sessionId).pipe(
        Effect.map(({ status }) => status === "over"),
        Effect.orElseSucceed(() => false),
      )

    const ended = (campaign: string, session: ReturnType<typeof boundSessionOf>): Effect.Effect<boolean> => {
      const [sessionId] = session.sessionIds
      if (sessionId === undefined) return Effect.succeed(false)
      if (platform.end === undefined) return isOver(campaign, sessionId)
      return platform.end(campaign, session).pipe(
        Effect.tapError((error) =>
          Effect.logInfo(`A session that its caller has left was not ended: ${error.message}`),
        ),
        Effect.orElseSucceed(() => false),
        Effect.flatMap((done) => (done ? Effect.succeed(true) : isOver(campaign, sessionId))),
      )
    }

    return Effect.fnUntraced(function* (where, campaign, ticket) {
      const found = yield* step(where, queue.attach(where, ticket, false))
      if (found._tag !== "live") return
      const now = yield* store.now
      if (now - (asked.get(ticket) ?? Number.NEGATIVE_INFINITY) < AGAIN_MILLIS) return
      asked.set(ticket, now)
      const session = boundSessionOf(found.data)
      if (!(yield* ended(campaign, session))) return
      // By the session, so that an end which was reported meanwhile is not counted twice.
      yield* step(where, queue.end(where, session.sessionIds))
    })
  })
