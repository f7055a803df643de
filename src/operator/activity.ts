/** The activity of an instance, for the console: every two seconds it lists the instance and adds its counts to the shared charts. */
import { Context, Effect, Option, Schema, type Scope, Semaphore } from "effect"
import { runEvery } from "../gatekeeper/background/run-every.ts"
import type { Instance as OwnInstance } from "../gatekeeper/peers/Instance.ts"
import { PushChannel } from "../push-channel/PushChannel.ts"
import { Store } from "../store/Store.ts"
import { type Counts, makeCounts, splitCounts } from "./counts.ts"
import type { Activity, Instances } from "./instances.ts"
import type { Instance } from "./shapes.ts"

const REPORT_MILLIS = 2_000

const About = Schema.fromJsonString(
  Schema.Struct({ host: Schema.String, startedAt: Schema.Finite, connections: Schema.Finite }),
)
const encodeAbout = Schema.encodeSync(About)
const decodeAbout = Schema.decodeUnknownOption(About)

/** The listed instances, with the description from their last report. */
export const instancesOf = ({ instances }: Activity): ReadonlyArray<Instance> =>
  instances.map(({ about, id, seenAt }) => ({
    id,
    seenAt,
    ...Option.getOrElse(decodeAbout(about), () => ({ host: "", startedAt: 0, connections: 0 })),
  }))

/** What reports tell of this process, since its start. */
export interface ProcessActivity {
  readonly counts: Counts
  /** ms since 1970 */
  readonly startedAt: number
  /** Runs one effect at a time. */
  readonly alone: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

export const makeProcessActivity: Effect.Effect<ProcessActivity, never, Store> = Effect.gen(function* () {
  const alone = Semaphore.makeUnsafe(1).withPermits(1)
  return { counts: yield* makeCounts, startedAt: yield* (yield* Store).now, alone }
})

/** The activity of a process in which a reload replaces the operator, so that nothing is counted twice or not at all. */
export const SharedActivity = Context.Reference<ProcessActivity | undefined>("voicegate/operator/SharedActivity", {
  defaultValue: () => undefined,
})

/** Sends reports until the scope closes. Counts that the store has not accepted are sent again with the next report. */
export const sendActivity = (
  instances: Instances,
  { host, id }: OwnInstance["Service"],
): Effect.Effect<void, never, PushChannel | Store | Scope.Scope> =>
  Effect.gen(function* () {
    const push = yield* PushChannel
    const { alone, counts, startedAt } = (yield* SharedActivity) ?? (yield* makeProcessActivity)
    const report = Effect.gen(function* () {
      const connections = (yield* push.tickets).length
      const pending = yield* counts.pending
      const split = splitCounts(pending)
      yield* instances.report(id, encodeAbout({ host, startedAt, connections }), split.counts, split.refusals)
      counts.acknowledge(pending)
    })
    // the operator that this one replaces may send one too, and is closed at any moment
    const once = alone(Effect.uninterruptible(report))
    yield* runEvery(REPORT_MILLIS, "heartbeat of the console", once, { atOnce: true })
  })
