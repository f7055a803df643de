/**
 * The event log of each campaign: what happened to its calls, for the host's own programs. Steps of the queue append to it; this service
 * reads it, has it delivered, and forgets it after a while. A host's own queue appends nothing.
 *
 * An event is delivered at least once, and those of one ticket in their order, one at a time. It has the same id each time.
 */
import { Context, Effect, Layer } from "effect"
import { keyOfCampaign, keysOf as queueKeysOf } from "../fifo-queue/keys.ts"
import type { Forgotten } from "../fifo-queue/rules/operator/forget.ts"
import { queueKeys } from "../fifo-queue/rules/shared/keys.ts"
import type { HostEvent } from "../protocol/host-events.ts"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import type { Campaign } from "../settings/Settings.ts"
import { NO_CONTEXT } from "../store/rule.ts"
import { type Rule, Store } from "../store/Store.ts"
import { aheadOf } from "../store/time-of-day.ts"
import type { DeliveryRow, ForgottenEvents, SettledEvent, Ticked } from "./answers.ts"
import { firstsBySeq, hostEventOf } from "./host-event.ts"
import { eventKeysOf } from "./keys.ts"
import type { DeliveryPage, Redelivery } from "./rules/deliveries.ts"
import type { Outcome } from "./rules/settle.ts"
import { rules } from "./rules.ts"

/** The most events of one page. */
export const MAX_EVENTS_PER_PAGE = 100
/** The most deliveries of one page. */
const MAX_DELIVERIES_PER_PAGE = 100

/** `gone`: events after the cursor were dropped, or the log does not have as many: `next` is a cursor from which it can be read. */
export type EventPage =
  | { readonly _tag: "page"; readonly events: ReadonlyArray<HostEvent>; readonly next: number; readonly more: boolean }
  | { readonly _tag: "gone"; readonly next: number }

/** An event that this gate is to send now. */
export interface Claimed {
  readonly event: HostEvent
  readonly chain: string
  readonly attempt: number
}

/** What this gate has claimed, and cannot read: another program has written it. */
export type Unreadable = Pick<Claimed, "chain" | "attempt"> & { readonly event: { readonly seq: number } }

export interface Delivery extends Omit<DeliveryRow, "event" | "first"> {
  readonly event: HostEvent
}

export interface Deliveries {
  readonly rows: ReadonlyArray<Delivery>
  /** there are older ones */
  readonly more: boolean
  readonly pending: number
  /** when the oldest pending event happened, when one was delivered last, and until when the receiver wants none (ms since 1970) */
  readonly oldestAt?: number
  readonly lastDeliveredAt?: number
  readonly stoppedUntil?: number
  readonly failed: number
  readonly stored: number
  readonly lost: number
}

export class EventLog extends Context.Service<
  EventLog,
  {
    /** The events after this one, oldest first, at most `MAX_EVENTS_PER_PAGE`; all that are kept when `after` is undefined. */
    readonly read: (
      campaign: Campaign,
      after: number | undefined,
      limit: number,
    ) => Effect.Effect<EventPage, StoreUnavailable>
    /** Once a tick: drops what is too old, and claims at most `claim` events for `leaseMillis`; none when undefined. */
    readonly tick: (
      campaign: Campaign,
      claim: number | undefined,
      leaseMillis: number,
    ) => Effect.Effect<
      Omit<Ticked, "claimed"> & {
        readonly claimed: ReadonlyArray<Claimed>
        readonly unreadable: ReadonlyArray<Unreadable>
      },
      StoreUnavailable
    >
    readonly settle: (campaign: Campaign, outcome: Outcome) => Effect.Effect<SettledEvent, StoreUnavailable>
    /** A page of deliveries, newest event first. */
    readonly deliveries: (campaign: Campaign, page: DeliveryPage) => Effect.Effect<Deliveries, StoreUnavailable>
    /** Queues one event again; false when it is not kept any more. */
    readonly redeliver: (
      campaign: Campaign,
      seq: number,
    ) => Effect.Effect<"queued" | "pending" | "gone", StoreUnavailable>
    /** Queues again what was given up, of events between these times (ms). Returns how many. Idempotent. */
    readonly redeliverFailed: (campaign: Campaign, from: number, to: number) => Effect.Effect<number, StoreUnavailable>
    /**
     * Drops old events of a campaign that has no `Events` in this gate's settings; returns how many are left. With `unservedMillis` only while no
     * gate has served it for so long. `key`: the campaign's.
     */
    readonly fade: (key: string, unservedMillis?: number) => Effect.Effect<number, StoreUnavailable>
    /** Removes the events of a caller in a page of those before the number `below`, or counts them; 0 for the newest page. `key`: the campaign's. */
    readonly forget: (key: string, who: Forgotten, below: number) => Effect.Effect<ForgottenEvents, StoreUnavailable>
  }
>()("voicegate/EventLog") {}

/** How long events are kept whose campaign has no `Events` in the settings any more (ms), and how many. */
const FADING = { retentionMillis: 72 * 3_600_000, maxStored: 100_000 }

/** How many events one step queues again. */
const REDELIVERED_PER_STEP = 200

export const layer: Layer.Layer<EventLog, never, Store> = Layer.effect(
  EventLog,
  Effect.gen(function* () {
    const store = yield* Store
    const ahead = (): number => aheadOf(store)

    const known = new Map<string, ReadonlyArray<string>>()
    const keysOf = (campaign: Campaign): ReadonlyArray<string> => {
      const key = keyOfCampaign(campaign)
      const keys = known.get(key) ?? eventKeysOf(key)
      known.set(key, keys)
      return keys
    }
    const run = <Call extends object, A>(rule: Rule<object, Call, A>, campaign: Campaign, call: Call) =>
      Effect.flatMap(store.now, (now) => store.run(rule, { keys: keysOf(campaign), now, context: NO_CONTEXT, call }))

    const again = (campaign: Campaign, part: Partial<Redelivery>) =>
      run(rules.redeliver, campaign, { after: 0, from: 0, to: 0, count: REDELIVERED_PER_STEP, ...part })

    return EventLog.of({
      read: (campaign, after, limit) =>
        Effect.map(
          run(rules.read, campaign, { after: after ?? 0, limit: Math.min(limit, MAX_EVENTS_PER_PAGE) }),
          ({ dropped, events = [], firsts = [], last, until }): EventPage => {
            if (after !== undefined && (after < dropped || after > last)) return { _tag: "gone", next: dropped }
            const firstOf = firstsBySeq([...firsts, ...events])
            const read = events.flatMap((text) => hostEventOf(campaign, text, firstOf, ahead()) ?? [])
            return { _tag: "page", events: read, next: until, more: until < last }
          },
        ),
      tick: (campaign, claim, leaseMillis) => {
        const { MaxStored = 0, RetentionHours = 0 } = campaign.Events ?? {}
        return Effect.map(
          run(rules.tick, campaign, {
            retentionMillis: RetentionHours * 3_600_000,
            maxStored: MaxStored,
            leaseMillis,
            ...(claim === undefined ? {} : { claim }),
          }),
          ({ claimed: found = [], ...ticked }) => {
            const claimed: Array<Claimed> = []
            const unreadable: Array<Unreadable> = []
            for (const { attempt, chain, event: text, first, seq } of found) {
              const event = hostEventOf(campaign, text, () => first, ahead())
              if (event === undefined) unreadable.push({ event: { seq }, chain, attempt })
              else claimed.push({ event, chain, attempt })
            }
            return { ...ticked, claimed, unreadable }
          },
        )
      },
      settle: (campaign, outcome) => run(rules.settle, campaign, outcome),
      deliveries: (campaign, page) =>
        Effect.map(
          run(rules.deliveries, campaign, { ...page, count: Math.min(page.count, MAX_DELIVERIES_PER_PAGE) }),
          ({ lastDeliveredAt, oldestAt, rows = [], stoppedUntil, ...figures }) => ({
            ...figures,
            ...(oldestAt === undefined ? {} : { oldestAt: oldestAt + ahead() }),
            ...(lastDeliveredAt === undefined ? {} : { lastDeliveredAt: lastDeliveredAt + ahead() }),
            ...(stoppedUntil === undefined ? {} : { stoppedUntil: stoppedUntil + ahead() }),
            rows: rows.flatMap(({ at, due, event: text, first, ...row }) => {
              const event = hostEventOf(campaign, text, () => first, ahead())
              const times = {
                ...(at === undefined ? {} : { at: at + ahead() }),
                ...(due === undefined ? {} : { due: due + ahead() }),
              }
              return event === undefined ? [] : [{ event, ...row, ...times }]
            }),
          }),
        ),
      redeliver: (campaign, seq) =>
        Effect.map(again(campaign, { seq }), ({ pending, queued }) =>
          queued > 0 ? "queued" : pending === true ? "pending" : "gone",
        ),
      redeliverFailed: Effect.fnUntraced(function* (campaign, from, to) {
        let after = 0
        let queued = 0
        do {
          const step = yield* again(campaign, { after, from: from - ahead(), to: to - ahead() })
          queued += step.queued
          after = step.next
        } while (after > 0)
        return queued
      }),
      fade: (key, unservedMillis) =>
        Effect.gen(function* () {
          const call = { ...FADING, ...(unservedMillis === undefined ? {} : { unservedMillis }) }
          for (;;) {
            const now = yield* store.now
            const { more, stored } = yield* store.run(rules.fade, {
              keys: eventKeysOf(key),
              now,
              context: NO_CONTEXT,
              call,
            })
            if (!more) return stored
          }
        }),
      forget: (key, who, below) =>
        Effect.flatMap(store.now, (now) =>
          store.run(rules.forget, {
            keys: [...eventKeysOf(key), queueKeys(queueKeysOf(key)).tickets],
            now,
            context: NO_CONTEXT,
            call: { ...who, below },
          }),
        ),
    })
  }),
)
