/** A platform whose answer the test delays, and times as the wire shows them. */
import { Deferred, Effect } from "effect"
import { BEGIN, session } from "../support/gate.ts"

/** Delays the platform's answer until it is released. */
export const delayedPlatform = Effect.gen(function* () {
  const gate = yield* Deferred.make<void>()
  return {
    initiate: (n: number) => Effect.as(Deferred.await(gate), session(n)),
    release: Deferred.succeed(gate, undefined),
  }
})

export const iso = (millis: number): string => new Date(BEGIN + millis).toISOString()
