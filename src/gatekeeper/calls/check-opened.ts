/**
 * Ends sessions that nobody has opened within `Queue.OpenSeconds`: otherwise a caller could hold a slot with a request alone, without a
 * connection to the platform. Only a platform that says that nobody has joined a session ends it so; whoever joins in the moment of its end
 * comes too late. The store decides, and gives each session to one gate at a time. The session is then ended at the platform like any other
 * (`end-due.ts`), and its slot is free when the platform confirms that.
 */
import { Effect, Layer, Metric } from "effect"
import { FifoQueue } from "../../fifo-queue/FifoQueue.ts"
import { PlatformApi } from "../../platform-api/PlatformApi.ts"
import { type Campaign, Settings } from "../../settings/Settings.ts"
import { runForEachCampaign } from "../background/run-every.ts"
import * as metrics from "../metrics.ts"
import { Running } from "../Running.ts"
import { Steps } from "../Steps.ts"
import { aboutTicket } from "../TicketLog.ts"
import { DUE_CHECK_MILLIS } from "./end-due.ts"

/** How long a gate has to ask about a session before another one may (ms). */
const CLAIM_MILLIS = 20_000
/** Sessions that a gate asks about at once. */
const AT_ONCE = 5

/** Ends each campaign's sessions that nobody has opened. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { at, step } = yield* Steps
    const running = yield* Running
    const queue = yield* FifoQueue
    const { unopened } = queue
    const { end, sessionStatus } = yield* PlatformApi
    const { OpenSeconds } = (yield* Settings).Queue
    // a session that the gate cannot end keeps its slot anyway
    if (OpenSeconds === 0 || unopened === undefined || end === undefined) return

    const checkAll = Effect.fnUntraced(function* (campaign: Campaign) {
      const where = at(campaign)
      const check = Effect.fnUntraced(function* (session: string) {
        const state = yield* sessionStatus(campaign.name, session).pipe(Effect.orElseSucceed(() => undefined))
        // without an answer it is asked again
        if (state === undefined || state.status === "unknown") return
        if (state.status === "over") {
          yield* step(where, queue.end(where, [session]))
          return
        }
        const ticket = yield* step(where, unopened.note(where, session, state.opened !== false))
        if (ticket === "") return
        yield* Metric.update(metrics.unopened.of(campaign.name), 1)
        yield* aboutTicket({ campaign: campaign.name, ticket })(
          Effect.logInfo(`Nobody has opened a session within Queue.OpenSeconds (${OpenSeconds} s): it is ended.`),
        )
      })
      yield* Effect.forEach(yield* unopened.find(where, CLAIM_MILLIS), check, { concurrency: AT_ONCE, discard: true })
    })
    yield* runForEachCampaign(DUE_CHECK_MILLIS, "check of sessions that nobody has opened", (campaign) =>
      (running.of(campaign)?.live ?? 0) === 0 ? Effect.void : checkAll(campaign),
    )
  }),
)
