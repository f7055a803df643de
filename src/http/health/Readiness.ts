/** Whether this instance accepts callers, and the endpoints that tell it to load balancers. */
import { Context, Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Gatekeeper } from "../../gatekeeper/Gatekeeper.ts"
import { cachedFor } from "../../lib/cached-for.ts"
import { problems } from "../../protocol/problems.ts"
import { Store } from "../../store/Store.ts"
import { Routed } from "../Api.ts"
import { answered, refuse } from "../answers/respond.ts"

const PING_EVERY_MILLIS = 1_000

export class Readiness extends Context.Service<
  Readiness,
  {
    /** Why the gate is not ready; undefined if it is. */
    readonly notReady: Effect.Effect<string | undefined>
    /** Turns readiness false before the server stops. */
    readonly drain: Effect.Effect<void>
  }
>()("voicegate/http/Readiness") {}

export const layer: Layer.Layer<Readiness, never, Gatekeeper | Store> = Layer.effect(
  Readiness,
  Effect.gen(function* () {
    const gatekeeper = yield* Gatekeeper
    const store = yield* Store
    let draining = false
    /** Whether the store accepts writes; cached for a second, so that readiness probes do not add up. */
    const isStoreReady = yield* cachedFor(
      Effect.match(store.ping, { onFailure: () => false, onSuccess: () => true }),
      PING_EVERY_MILLIS,
    )
    return Readiness.of({
      notReady: Effect.gen(function* () {
        if (draining) return "The gate is shutting down."
        if (!(yield* isStoreReady)) return "The store cannot be reached or does not accept writes."
        return (yield* gatekeeper.queueProblem) ?? (yield* gatekeeper.capacityProblem)
      }),
      drain: Effect.sync(() => {
        draining = true
      }),
    })
  }),
)

export const operations = HttpApiBuilder.group(
  Routed,
  "Operations",
  Effect.fnUntraced(function* (handlers) {
    const { notReady } = yield* Readiness
    const { platformStates } = yield* Gatekeeper
    return handlers
      .handle("live", () => answered("ok", { status: "ok" as const }))
      .handle("ready", () =>
        Effect.gen(function* () {
          const problem = yield* notReady
          if (problem !== undefined) {
            return yield* refuse(problems.notReady.make("not_ready", problem, {}, { "retry-after": "1" }))
          }
          const platforms = yield* platformStates
          const troubled = Object.keys(platforms).length > 0
          return yield* answered("ready", { status: "ready" as const, ...(troubled ? { platforms } : {}) })
        }),
      )
  }),
)
