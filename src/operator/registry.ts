/** The gates and what they counted in the last hour, for the operator's charts. */
import { Effect, Schema } from "effect"
import { BUCKET_MILLIS } from "../rules/operator/registry.ts"
import { runs } from "../rules/rules.ts"
import type { StoreUnavailable } from "../Session.ts"
import type { Store } from "../Store.ts"
import { NO_CONTEXT, ruleOf } from "../store/rule.ts"

export { BUCKET_MILLIS, BUCKETS, GONE_MILLIS } from "../rules/operator/registry.ts"

const keys: ReadonlyArray<string> = ["instances", "about", "ring"].map((name) => `vg:2:{console}:${name}`)

const { Array: List, Finite, String: Text, Struct, optionalKey } = Schema

const report = ruleOf("operator.report", runs["operator.report"], Finite)
const survey = ruleOf(
  "operator.survey",
  runs["operator.survey"],
  Struct({
    instances: optionalKey(List(Struct({ id: Text, seenAt: Finite, about: Text }))),
    buckets: optionalKey(List(Struct({ bucket: Finite, counts: List(Finite) }))),
  }),
)

export interface Survey {
  readonly instances: ReadonlyArray<{ readonly id: string; readonly seenAt: number; readonly about: string }>
  /** when a bucket begins (ms), and its counts */
  readonly buckets: ReadonlyArray<{ readonly at: number; readonly counts: ReadonlyArray<number> }>
}

export interface Registry {
  readonly beat: (id: string, about: string, counts: ReadonlyArray<number>) => Effect.Effect<void, StoreUnavailable>
  /** Who is there, and the buckets from `since` (ms) on, at most an hour of them. */
  readonly survey: (since: number) => Effect.Effect<Survey, StoreUnavailable>
}

export const makeRegistry = (store: Store["Service"]): Registry => ({
  beat: (id, about, counts) =>
    Effect.flatMap(store.now, (now) =>
      Effect.asVoid(store.run(report, { keys, now, context: NO_CONTEXT, call: { id, about, counts } })),
    ),
  survey: (since) =>
    Effect.flatMap(store.now, (now) =>
      Effect.map(
        store.run(survey, { keys, now, context: NO_CONTEXT, call: { since } }),
        ({ buckets = [], instances = [] }) => ({
          instances,
          buckets: buckets.map(({ bucket, counts }) => ({ at: bucket * BUCKET_MILLIS, counts })),
        }),
      ),
    ),
})
