/** The history of the campaigns in the store: what all instances have counted, by the time of day, for the charts of the console. */
import { Effect, Option, Schema } from "effect"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import { NO_CONTEXT, ruleOf } from "../store/rule.ts"
import { runPlain } from "../store/rules/run.ts"
import type { Store } from "../store/Store.ts"
import { timeOfDay } from "../store/time-of-day.ts"
import { addHistory, HISTORY_RINGS, type HistoryCounts, historyOf, type Ring } from "./rules/history.ts"
import type { HistoryRange } from "./shapes.ts"

const { Array: List, Boolean: Flag, Finite, Record, String: Text, Struct, optionalKey } = Schema

const addRule = ruleOf("operator.addHistory", runPlain(addHistory), Flag)
const historyRule = ruleOf("operator.history", runPlain(historyOf), Struct({ stored: optionalKey(List(Text)) }))

const decodeBucket = Schema.decodeUnknownOption(
  Schema.fromJsonString(Struct({ bucket: Finite, counts: Record(Text, Finite) })),
)

/** How many campaigns one step of the store adds to. */
export const CAMPAIGNS_PER_STEP = 20

const HOUR_MILLIS = 3_600_000
const [MINUTES, TENS, HOURS] = HISTORY_RINGS
/** The ring of each range, and how long the range is (ms). */
const ranges: Readonly<Record<HistoryRange, { readonly ring: Ring | undefined; readonly millis: number }>> = {
  hour: { ring: MINUTES, millis: HOUR_MILLIS },
  day: { ring: TENS, millis: 24 * HOUR_MILLIS },
  week: { ring: HOURS, millis: 7 * 24 * HOUR_MILLIS },
}

const keyOf = (campaign: string): string => `vg:2:{console}:history:${campaign}`

export interface CampaignCounts {
  readonly campaign: string
  readonly counts: HistoryCounts
}

/** Part of what an instance has counted. It keeps its number when it is sent again. */
export interface HistoryPart {
  readonly number: number
  /** the time of day (ms since 1970) */
  readonly at: number
  /** at most `CAMPAIGNS_PER_STEP` */
  readonly campaigns: ReadonlyArray<CampaignCounts>
}

export interface History {
  readonly add: (instance: string, part: HistoryPart) => Effect.Effect<void, StoreUnavailable>
  /** The buckets of a range, oldest first; those in which nobody reported are absent. */
  readonly read: (
    campaign: string,
    range: HistoryRange,
  ) => Effect.Effect<
    {
      readonly stepMillis: number
      readonly from: number
      readonly to: number
      readonly buckets: ReadonlyArray<{ readonly at: number; readonly counts: HistoryCounts }>
    },
    StoreUnavailable
  >
}

export const makeHistory = (store: Store["Service"]): History => ({
  add: (instance, { at, campaigns, number }) =>
    Effect.flatMap(timeOfDay(store), (now) =>
      Effect.asVoid(
        store.run(addRule, {
          keys: [`vg:2:{console}:reported:${instance}`, ...campaigns.map(({ campaign }) => keyOf(campaign))],
          now,
          context: NO_CONTEXT,
          call: { number, at, counts: campaigns.map(({ counts }) => counts) },
        }),
      ),
    ),
  read: Effect.fnUntraced(function* (campaign, range) {
    const { millis, ring = { name: "", millis: HOUR_MILLIS, buckets: 0 } } = ranges[range]
    const now = yield* timeOfDay(store)
    const { stored = [] } = yield* store.run(historyRule, {
      keys: [keyOf(campaign)],
      now,
      context: NO_CONTEXT,
      call: { name: ring.name, buckets: ring.buckets },
    })
    // the bucket that is not over is the last
    const to = Math.floor(now / ring.millis) * ring.millis
    const from = to - millis + ring.millis
    const buckets = stored
      .flatMap((text) => Option.toArray(decodeBucket(text)))
      .map(({ bucket, counts }) => ({ at: bucket * ring.millis, counts }))
      .filter(({ at }) => at >= from && at <= to)
      .toSorted((a, b) => a.at - b.at)
    return { stepMillis: ring.millis, from, to, buckets }
  }),
})
