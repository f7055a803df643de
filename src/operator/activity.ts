/**
 * The activity of the last hour, over all instances: each says every two seconds that it is there, and adds what its metrics
 * counted meanwhile to the series in the store, which outlives it.
 */
import { Effect, Option, Schema, type Scope } from "effect"
import { runEvery } from "../gatekeeper/background-task.ts"
import type { Instance as OwnInstance } from "../gatekeeper/instance.ts"
import { PushChannel } from "../PushChannel.ts"
import { Store } from "../Store.ts"
import { makeFigures } from "./figures.ts"
import type { Registry, Survey } from "./registry.ts"
import type { Instance } from "./shapes.ts"

/** How often an instance says that it is there. */
const HEARTBEAT_MILLIS = 2_000

const About = Schema.fromJsonString(
  Schema.Struct({ host: Schema.String, startedAt: Schema.Finite, connections: Schema.Finite }),
)
const encodeAbout = Schema.encodeSync(About)
const decodeAbout = Schema.decodeUnknownOption(About)

/** The instances that were there lately, with what each said of itself. */
export const instancesOf = ({ instances }: Survey): ReadonlyArray<Instance> =>
  instances.map(({ about, id, seenAt }) => ({
    id,
    seenAt,
    ...Option.getOrElse(decodeAbout(about), () => ({ host: "", startedAt: 0, connections: 0 })),
  }))

/** Beats for as long as the scope is open. What could not be handed over is handed over with the next beat. */
export const beats = (
  registry: Registry,
  { host, id }: OwnInstance,
): Effect.Effect<void, never, PushChannel | Store | Scope.Scope> =>
  Effect.gen(function* () {
    const push = yield* PushChannel
    const figures = yield* makeFigures
    const startedAt = yield* (yield* Store).now
    const beat = Effect.gen(function* () {
      const connections = (yield* push.tickets).length
      const counts = yield* figures.since
      yield* registry.beat(id, encodeAbout({ host, startedAt, connections }), counts)
      figures.keep(counts)
    })
    yield* runEvery(HEARTBEAT_MILLIS, "heartbeat of the console", beat, { atOnce: true })
  })
