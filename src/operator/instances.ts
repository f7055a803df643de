/** The instances on this store, and what they counted in the last hour, for the charts of the console. */
import { Effect, Schema } from "effect"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import { NO_CONTEXT, ruleOf } from "../store/rule.ts"
import { runPlain } from "../store/rules/run.ts"
import type { Store } from "../store/Store.ts"
import { activity, BUCKET_MILLIS, type Counts, leaveActivity, refusals, reportActivity } from "./rules/activity.ts"

const keys: ReadonlyArray<string> = ["instances", "about", "counts", "refusals"].map((name) => `vg:2:{console}:${name}`)

const { Array: List, Finite, Record, String: Text, Struct, optionalKey } = Schema

const reportRule = ruleOf("operator.heartbeat", runPlain(reportActivity), Finite)
const leaveRule = ruleOf("operator.leave", runPlain(leaveActivity), Schema.Boolean)
const activityRule = ruleOf(
  "operator.activity",
  runPlain(activity),
  Struct({
    instances: optionalKey(List(Struct({ id: Text, seenAt: Finite, about: Text }))),
    buckets: optionalKey(List(Struct({ bucket: Finite, counts: Record(Text, Finite) }))),
  }),
)

const refusalsRule = ruleOf(
  "operator.refusals",
  runPlain(refusals),
  Struct({ counts: optionalKey(Record(Text, Finite)) }),
)

export interface Activity {
  readonly instances: ReadonlyArray<{ readonly id: string; readonly seenAt: number; readonly about: string }>
  /** `at`: when the bucket begins (ms since 1970) */
  readonly buckets: ReadonlyArray<{ readonly at: number; readonly counts: Counts }>
}

export interface Instances {
  /** `refusals`: refused requests by `<reason> <campaign>` */
  readonly report: (
    id: string,
    about: string,
    counts: Counts,
    refusals?: Counts,
  ) => Effect.Effect<void, StoreUnavailable>
  /** Takes an instance that stops off the list; one that dies stays there for a while. */
  readonly leave: (id: string) => Effect.Effect<void, StoreUnavailable>
  /** The instances, and the buckets since a time (ms since 1970), at most one hour. */
  readonly activity: (since: number) => Effect.Effect<Activity, StoreUnavailable>
  /** The refused requests of the last hour (55 to 60 minutes), by `<reason> <campaign>`. */
  readonly refusals: Effect.Effect<Counts, StoreUnavailable>
}

export const makeInstances = (store: Store["Service"]): Instances => ({
  report: (id, about, counts, refusals = {}) =>
    Effect.flatMap(store.now, (now) =>
      Effect.asVoid(store.run(reportRule, { keys, now, context: NO_CONTEXT, call: { id, about, counts, refusals } })),
    ),
  leave: (id) =>
    Effect.flatMap(store.now, (now) =>
      Effect.asVoid(store.run(leaveRule, { keys, now, context: NO_CONTEXT, call: { id } })),
    ),
  refusals: Effect.flatMap(store.now, (now) =>
    Effect.map(store.run(refusalsRule, { keys, now, context: NO_CONTEXT, call: {} }), ({ counts = {} }) => counts),
  ),
  activity: (since) =>
    Effect.flatMap(store.now, (now) =>
      Effect.map(
        store.run(activityRule, { keys, now, context: NO_CONTEXT, call: { since } }),
        ({ buckets = [], instances = [] }) => ({
          instances,
          buckets: buckets.map(({ bucket, counts }) => ({ at: bucket * BUCKET_MILLIS, counts })),
        }),
      ),
    ),
})
