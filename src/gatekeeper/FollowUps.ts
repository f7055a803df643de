/** What goes on in the background after an answer, and must finish before the gatekeeper stops, unless the process stops. */
import { Context, Effect, Layer } from "effect"

export class FollowUps extends Context.Service<
  FollowUps,
  {
    /** Runs an effect in the background. */
    readonly run: (effect: Effect.Effect<unknown>) => Effect.Effect<void>
    readonly pending: () => number
  }
>()("voicegate/gatekeeper/FollowUps") {}

export const layer: Layer.Layer<FollowUps> = Layer.effect(
  FollowUps,
  Effect.map(Effect.scope, (scope) => {
    let running = 0
    return {
      run: (effect) =>
        Effect.suspend(() => {
          running++
          const counted = Effect.ensuring(
            effect,
            Effect.sync(() => void running--),
          )
          return Effect.asVoid(Effect.forkIn(counted, scope))
        }),
      pending: () => running,
    }
  }),
)
