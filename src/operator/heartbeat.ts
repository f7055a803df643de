/** The heartbeat of an instance for the console: every two seconds it lists the instance and adds its counts to the shared charts. */
import { Context, Effect, Option, Schema, type Scope } from "effect"
import { runEvery } from "../gatekeeper/background-task.ts"
import type { Instance as OwnInstance } from "../gatekeeper/instance.ts"
import { PushChannel } from "../PushChannel.ts"
import { Store } from "../Store.ts"
import { type Counts, makeCounts } from "./counts.ts"
import type { Activity, Registry } from "./registry.ts"
import type { Instance } from "./shapes.ts"

const HEARTBEAT_MILLIS = 2_000

const About = Schema.fromJsonString(
  Schema.Struct({ host: Schema.String, startedAt: Schema.Finite, connections: Schema.Finite }),
)
const encodeAbout = Schema.encodeSync(About)
const decodeAbout = Schema.decodeUnknownOption(About)

/** The listed instances, with the description from their last heartbeat. */
export const instancesOf = ({ instances }: Activity): ReadonlyArray<Instance> =>
  instances.map(({ about, id, seenAt }) => ({
    id,
    seenAt,
    ...Option.getOrElse(decodeAbout(about), () => ({ host: "", startedAt: 0, connections: 0 })),
  }))

/** What heartbeats tell of this process, since its start. */
export interface ProcessActivity {
  readonly counts: Counts
  /** ms since 1970 */
  readonly startedAt: number
}

export const makeProcessActivity: Effect.Effect<ProcessActivity, never, Store> = Effect.gen(function* () {
  return { counts: yield* makeCounts, startedAt: yield* (yield* Store).now }
})

/** The activity of the process where an operator may replace another, so that nothing is counted twice or not at all. */
export const SharedActivity = Context.Reference<ProcessActivity | undefined>("voicegate/operator/SharedActivity", {
  defaultValue: () => undefined,
})

/** Sends heartbeats until the scope closes. Counts that the store has not accepted are sent again with the next heartbeat. */
export const sendHeartbeats = (
  registry: Registry,
  { host, id }: OwnInstance,
): Effect.Effect<void, never, PushChannel | Store | Scope.Scope> =>
  Effect.gen(function* () {
    const push = yield* PushChannel
    const { counts, startedAt } = (yield* SharedActivity) ?? (yield* makeProcessActivity)
    const heartbeat = Effect.gen(function* () {
      const connections = (yield* push.tickets).length
      const pending = yield* counts.pending
      yield* registry.heartbeat(id, encodeAbout({ host, startedAt, connections }), pending)
      counts.acknowledge(pending)
    })
    yield* runEvery(HEARTBEAT_MILLIS, "heartbeat of the console", heartbeat, { atOnce: true })
  })
