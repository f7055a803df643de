/** A combinator of the hot path. Effect has eager forms of `map` and `flatMap`, but none of `matchEffect`. */
import { Cause, Effect, Result } from "effect"

/** `Effect.matchEffect`, which calls its handler at once if the effect is already an exit. Then it costs no operation of the fiber. */
export const matchEffectEager = <A, E, R, B, F, S, C, G, T>(
  effect: Effect.Effect<A, E, R>,
  {
    onFailure,
    onSuccess,
  }: {
    readonly onSuccess: (value: A) => Effect.Effect<B, F, S>
    readonly onFailure: (error: E) => Effect.Effect<C, G, T>
  },
): Effect.Effect<B | C, F | G, R | S | T> =>
  Effect.matchCauseEffectEager(effect, {
    onSuccess,
    onFailure: (cause): Effect.Effect<C, G, T> => {
      const error = Cause.findError(cause)
      return Result.isSuccess(error) ? onFailure(error.success) : Effect.failCause(error.failure)
    },
  })
