/** The instances on this store, and what they counted in the last hour, for the charts of the console. */
import { Effect, Schema } from "effect"
import { activity, BUCKET_MILLIS, type Counts, instanceHeartbeat } from "../rules/operator/activity.ts"
import { runPlain } from "../rules/run.ts"
import type { StoreUnavailable } from "../Session.ts"
import type { Store } from "../Store.ts"
import { NO_CONTEXT, ruleOf } from "../store/rule.ts"

export { BUCKET_MILLIS, BUCKETS, GONE_MILLIS } from "../rules/operator/activity.ts"

const keys: ReadonlyArray<string> = ["instances", "about", "counts"].map((name) => `vg:2:{console}:${name}`)

const { Array: List, Finite, Record, String: Text, Struct, optionalKey } = Schema

const heartbeatRule = ruleOf("operator.heartbeat", runPlain(instanceHeartbeat), Finite)
const activityRule = ruleOf(
  "operator.activity",
  runPlain(activity),
  Struct({
    instances: optionalKey(List(Struct({ id: Text, seenAt: Finite, about: Text }))),
    buckets: optionalKey(List(Struct({ bucket: Finite, counts: Record(Text, Finite) }))),
  }),
)

export interface Activity {
  readonly instances: ReadonlyArray<{ readonly id: string; readonly seenAt: number; readonly about: string }>
  /** `at`: when the bucket begins (ms since 1970) */
  readonly buckets: ReadonlyArray<{ readonly at: number; readonly counts: Counts }>
}

export interface Registry {
  readonly heartbeat: (id: string, about: string, counts: Counts) => Effect.Effect<void, StoreUnavailable>
  /** The instances, and the buckets since a time (ms since 1970), at most one hour. */
  readonly activity: (since: number) => Effect.Effect<Activity, StoreUnavailable>
}

export const makeRegistry = (store: Store["Service"]): Registry => ({
  heartbeat: (id, about, counts) =>
    Effect.flatMap(store.now, (now) =>
      Effect.asVoid(store.run(heartbeatRule, { keys, now, context: NO_CONTEXT, call: { id, about, counts } })),
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
