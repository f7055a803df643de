/**
 * Signals to stop. The first begins the shutdown (`NodeRuntime.runMain`). A further one of an operator who does not want to wait ends the
 * drain at once.
 *
 * One that comes within a second of the first is not from an operator who has waited: systemd, and a terminal's Ctrl-C, signal every
 * process of a gate with `--processes`, and the first process signals its workers too.
 */
import { Clock, Effect, Latch, Layer, type Scope } from "effect"
import { Hurry } from "../../http/Listeners.ts"

const SIGNALS = ["SIGTERM", "SIGINT"] as const

/** For how long after the first signal others count as the same (ms). */
const SAME_MILLIS = 1_000

/** Runs `next` at a further signal to stop, until the scope closes. */
export const onFurtherStop = (next: () => void): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const now = (): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
    let first: number | undefined
    const onSignal = (): void => {
      first ??= now()
      if (now() - first >= SAME_MILLIS) next()
    }
    for (const signal of SIGNALS) process.on(signal, onSignal)
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        for (const signal of SIGNALS) process.off(signal, onSignal)
      }),
    )
  })

/** A further signal ends the drain of the server. */
export const hurry: Layer.Layer<never> = Layer.effect(
  Hurry,
  Effect.gen(function* () {
    const latch = Latch.makeUnsafe(false)
    yield* onFurtherStop(() => latch.openUnsafe())
    return latch.await
  }),
)
