/**
 * Delivers the events of each campaign that has `Events.Url`, until its scope closes. Any gate does: an event is claimed by one for longer
 * than an attempt takes, and when that gate dies, another repeats it. So an event arrives at least once, and those of one ticket in order.
 *
 * At most `MAX_IN_FLIGHT` are under way for a campaign, so a receiver that is slow costs bounded memory; the others wait in the store.
 * Calls never wait for any of it. While nothing happens, this costs one step of the store a second and campaign.
 */
import { Clock, Effect, Latch, Layer, Metric } from "effect"
import { HttpClient } from "effect/http"
import { keyOfCampaign } from "../fifo-queue/keys.ts"
import { onceAMinute } from "../lib/throttled-log.ts"
import type { CampaignEvents } from "../settings/groups/events.ts"
import { type Campaign, Settings } from "../settings/Settings.ts"
import { Store } from "../store/Store.ts"
import { type Claimed, EventLog } from "./EventLog.ts"
import * as metrics from "./metrics.ts"
import type { Outcome } from "./rules/settle.ts"
import { type Answer, RECEIVER_MILLIS, sendEvent } from "./send.ts"

/** The most events of a campaign that this process sends at once. */
export const MAX_IN_FLIGHT = 16
/** How long an event belongs to the gate that sends it (ms): far longer than an attempt. */
export const LEASE_MILLIS: number = 3 * RECEIVER_MILLIS
/** How often a campaign is looked at while nothing happens (ms). */
export const TICK_MILLIS = 1_000
/** The same while it sends no events: old ones are dropped. */
const KEEP_MILLIS = 10_000
/** How often campaigns without events are looked at: they may have had some before a reload (ms). */
const FADE_MILLIS = 10 * 60_000
/** Outcomes that come close together are followed by one step, not by one each (ms). */
const GATHER_MILLIS = 10

/** How long a gate that stops waits for the store (ms). */
const GIVE_BACK_MILLIS = 1_000

/** The delay before the second attempt (ms); doubled each time, up to `MAX_RETRY_MILLIS`. */
export const FIRST_RETRY_MILLIS = 1_000
export const MAX_RETRY_MILLIS: number = 60 * 60_000
/** Then an event is given up: after about a day. */
export const MAX_ATTEMPTS = 34
/** How long nothing is sent after the receiver has said that it wants no more (ms). */
export const GONE_MILLIS: number = 60 * 60_000

const GONE = 410
const TOO_MANY = 429

/** The pause after this many attempts (ms). */
export const pauseAfter = (attempts: number): number =>
  Math.min(FIRST_RETRY_MILLIS * 2 ** Math.min(attempts - 1, 30), MAX_RETRY_MILLIS)

/** What becomes of an event after an attempt. `now` in the store's time. */
export const outcomeOf = (
  { attempt, chain, event }: Pick<Claimed, "attempt" | "chain"> & { readonly event: { readonly seq: number } },
  { error, status, waitMillis }: Answer,
  now: number,
): Outcome => {
  const tried = {
    chain,
    seq: event.seq,
    attempt,
    ...(status === undefined ? {} : { status }),
    ...(error === undefined ? {} : { error }),
  }
  if (error === undefined) return { ...tried, outcome: "delivered", at: now }
  const asked = Math.min(waitMillis, MAX_RETRY_MILLIS)
  const at = now + (status === GONE ? GONE_MILLIS : Math.max(pauseAfter(attempt), asked))
  // these are of the receiver, not of one event
  const stopped =
    status === GONE || (status === TOO_MANY && asked > 0) ? { stopUntil: status === GONE ? at : now + asked } : {}
  return { ...tried, ...stopped, outcome: attempt >= MAX_ATTEMPTS ? "failed" : "retry", at }
}

const COUNTED = { delivered: "delivered", retry: "retried", failed: "failed" } as const

export const layer: Layer.Layer<never, never, EventLog | HttpClient.HttpClient | Settings | Store> =
  Layer.effectDiscard(
    Effect.gen(function* () {
      const log = yield* EventLog
      const client = yield* HttpClient.HttpClient
      const store = yield* Store
      const { Campaigns } = yield* Settings
      const scope = yield* Effect.scope

      const run = Effect.fnUntraced(function* (campaign: Campaign, events: CampaignEvents) {
        const { name } = campaign
        const { Url: url } = events
        const wake = yield* Latch.make()
        let inFlight = 0
        /** the last step has left something to do */
        let more = false
        let lost: number | undefined

        const warn = onceAMinute((what: string, others: number) =>
          Effect.logWarning(`${what}${others === 0 ? "" : ` (and ${others} more since the last line)`}`).pipe(
            Effect.annotateLogs({ campaign: name }),
          ),
        )

        const deliver = Effect.fnUntraced(function* (claimed: Claimed, to: string) {
          const answer = yield* sendEvent(client, to, events, claimed.event)
          const outcome = outcomeOf(claimed, answer, yield* store.now)
          // if the store cannot be reached, the lease ends and the event is sent again
          const { counted, next } = yield* log.settle(campaign, outcome)
          if (next) more = true
          if (!counted) return
          yield* Metric.update(metrics.attempts(name, COUNTED[outcome.outcome]), 1)
          if (answer.status === GONE) {
            yield* warn(
              `The receiver of Events.Url wants no more events (HTTP 410). Nothing is sent for ${GONE_MILLIS / 60_000} minutes.`,
            )
          } else if (outcome.outcome === "failed") {
            yield* warn(`Event ${claimed.event.id} was given up after ${claimed.attempt} attempts: ${answer.error}.`)
          } else if (outcome.outcome === "retry") {
            yield* warn(
              `Event ${claimed.event.id} was not taken by the receiver of Events.Url: ${answer.error}. It is sent again.`,
            )
          }
        })

        /** This gate stops: another one sends the event at once, not only after the lease. */
        const giveBack = ({ attempt, chain, event }: Claimed) =>
          Effect.flatMap(store.now, (now) =>
            log.settle(campaign, {
              chain,
              seq: event.seq,
              attempt,
              outcome: "retry",
              at: now,
              error: "the gate stopped",
            }),
          ).pipe(Effect.timeoutOption(GIVE_BACK_MILLIS), Effect.ignore)

        const noteLost = (total: number): Effect.Effect<void> => {
          const dropped = total - (lost ?? total)
          lost = total
          return dropped <= 0
            ? Effect.void
            : warn(
                `Events were dropped before they were delivered, or because there are more than Events.MaxStored: ${dropped}.`,
              )
        }

        const step = Effect.gen(function* () {
          more = false
          const ticked = yield* log.tick(
            campaign,
            url === undefined ? undefined : MAX_IN_FLIGHT - inFlight,
            LEASE_MILLIS,
          )
          if (ticked.more) more = true
          const now = yield* store.now
          yield* metrics.setGauges(name, {
            pending: ticked.pending,
            failed: ticked.failed,
            lost: ticked.lost,
            oldestSeconds: ticked.oldestAt === undefined ? 0 : Math.max(0, (now - ticked.oldestAt) / 1000),
          })
          yield* noteLost(ticked.lost)
          for (const unreadable of ticked.unreadable) {
            // a newer gate may be able to
            const answer: Answer = { status: undefined, error: "this gate cannot read it", waitMillis: 0 }
            yield* log.settle(campaign, outcomeOf(unreadable, answer, now))
            yield* warn(`Event ${unreadable.event.seq} cannot be read: another program has written it.`)
          }
          for (const claimed of ticked.claimed) {
            inFlight++
            yield* deliver(claimed, url ?? "").pipe(
              Effect.onInterrupt(() => giveBack(claimed)),
              Effect.catchTag("StoreUnavailable", () => Effect.void),
              Effect.catchCause((cause) => Effect.logError("An event could not be sent", cause)),
              Effect.ensuring(
                Effect.suspend(() => {
                  inFlight--
                  return wake.open
                }),
              ),
              Effect.forkIn(scope),
            )
          }
        })

        const pause = url === undefined ? KEEP_MILLIS : TICK_MILLIS
        yield* Effect.gen(function* () {
          yield* wake.close
          yield* Effect.catchTag(step, "StoreUnavailable", () => Effect.void)
          if (more && inFlight < MAX_IN_FLIGHT) return yield* Effect.sleep(GATHER_MILLIS)
          const until = (yield* Clock.currentTimeMillis) + pause
          // an outcome ends the pause only where it leaves something to do
          for (;;) {
            const left = until - (yield* Clock.currentTimeMillis)
            if (left <= 0) return
            yield* Effect.raceFirst(wake.await, Effect.sleep(left))
            yield* wake.close
            if (more && inFlight < MAX_IN_FLIGHT) return yield* Effect.sleep(GATHER_MILLIS)
          }
        }).pipe(
          Effect.catchCause((cause) =>
            Effect.andThen(Effect.logError("The delivery of events failed", cause), Effect.sleep(pause)),
          ),
          Effect.forever,
          Effect.forkScoped,
        )
      })

      const without = Campaigns.filter(({ Events }) => Events === undefined)
      // a reload may have removed `Events` of a campaign that has some in the store
      const fade = Effect.forEach(without, (campaign) => Effect.ignore(log.fade(keyOfCampaign(campaign))), {
        discard: true,
      })
      yield* Effect.andThen(Effect.sleep(FADE_MILLIS), fade).pipe(
        Effect.catchCause((cause) => Effect.logError("Old events could not be dropped", cause)),
        Effect.forever,
        Effect.forkScoped,
      )
      for (const campaign of Campaigns) if (campaign.Events !== undefined) yield* run(campaign, campaign.Events)
    }),
  )
