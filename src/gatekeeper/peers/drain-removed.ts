/**
 * Drains removed campaigns. When no gate has served one for `UNSERVED_MILLIS`, its waiting and called tickets end as `removed` and get their
 * quota back. Live sessions run until they end or reach the maximum call length: this gate has no key with which it could end them. They
 * count on in the budgets in which they began. When nothing is left, the campaign is deleted from the store's list. Its events are kept for as
 * long as others are, and dropped then.
 */
import { Effect, Layer } from "effect"
import { Budgets } from "../../budgets/Budgets.ts"
import { EventLog } from "../../events/EventLog.ts"
import { FifoQueue } from "../../fifo-queue/FifoQueue.ts"
import { runEvery } from "../background/run-every.ts"
import { makeHoldDue } from "../calls/hold-due.ts"
import * as metrics from "../metrics.ts"
import { Steps } from "../Steps.ts"
import { MEMBERSHIP_MILLIS, Membership } from "./Membership.ts"
import { type RemovedCampaign, RemovedCampaigns } from "./RemovedCampaigns.ts"

/** A campaign that no gate has served for this time is drained (ms). Longer than a gate takes to restart. */
export const UNSERVED_MILLIS = 60_000

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const budgets = yield* Budgets
    const events = yield* EventLog
    const queue = yield* FifoQueue
    const { forget, latest } = yield* Membership
    const removed = yield* RemovedCampaigns
    const { charge, settle, step } = yield* Steps
    /** campaigns whose draining was logged, and the number of tickets ended in each */
    const logged = new Set<string>()
    const endedTickets = new Map<string, number>()

    const holdDue = yield* makeHoldDue
    const clear = Effect.fnUntraced(function* ({ at, key }: RemovedCampaign) {
      while (true) {
        const cleared = yield* step(at, queue.clear(at, UNSERVED_MILLIS))
        if (cleared._tag === "served") return undefined
        if (cleared.owed.length > 0) yield* settle(at, cleared.owed)
        if (cleared.uncharged !== undefined && cleared.uncharged.length > 0) yield* charge(at, cleared.uncharged)
        endedTickets.set(key, (endedTickets.get(key) ?? 0) + cleared.sent)
        yield* metrics.setGauges(key, { waiting: cleared.waiting, leases: cleared.leases })
        if (!cleared.more) return cleared
      }
    })
    const drainOne = Effect.fnUntraced(function* (campaign: RemovedCampaign) {
      const { key, name, seenAt } = campaign
      const cleared = yield* clear(campaign)
      if (cleared === undefined) return
      yield* holdDue(campaign.at, (call, since) => budgets.countOn(key, call, since))
      const kept = yield* events.fade(key, UNSERVED_MILLIS)
      if (cleared.left || kept > 0) {
        if (logged.has(key)) return
        logged.add(key)
        yield* Effect.logWarning(
          `Campaign ${name} (${key}) is no longer in any gate's settings. Waiting tickets ended by this instance: ${endedTickets.get(key)}. ` +
            `Calls still running: ${cleared.live}.${kept === 0 ? "" : ` Its ${kept} events are kept for three days.`}`,
        )
      } else if (yield* forget(key, seenAt)) {
        yield* Effect.logInfo(
          `Campaign ${name} (${key}), which is no longer in any gate's settings, has ended completely.`,
        )
      }
    })
    const drain = Effect.suspend(() => {
      const known = removed.known()
      for (const key of endedTickets.keys()) {
        if (known.some((each) => each.key === key)) continue
        endedTickets.delete(key)
        logged.delete(key)
      }
      const { at = 0, since = 0 } = latest() ?? {}
      return Effect.forEach(
        known.filter(({ seenAt }) => at - Math.max(seenAt, since) > UNSERVED_MILLIS),
        (campaign) =>
          drainOne(campaign).pipe(
            Effect.catchTag("StoreUnavailable", () => Effect.void),
            // one campaign at a time: invalid records of one must not stop the draining of the others
            Effect.catchCause((cause) => Effect.logError(`Draining of campaign ${campaign.key} failed`, cause)),
          ),
        { discard: true },
      )
    })
    // a task of its own: draining thousands of tickets must not delay the renewal, or others would consider this gate gone
    yield* runEvery(MEMBERSHIP_MILLIS, "draining of removed campaigns", drain)
  }),
)
