/**
 * Gates in process whose process dies: a step that was sent to the store is carried out or not, and afterwards nothing is sent, answered, heard or
 * closed.
 */
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { Store } from "../../src/store/Store.ts"
import type { SharedStore } from "../harness/stores.ts"
import type { Given, World } from "./gate.ts"
import { type RunningGate, startGate } from "./gates.ts"

/** A gate's path to the store. */
export interface DyingPath {
  readonly store: Store["Service"]
  /** Ends the path at the first step from now on that `isLast` names: it is lost, or with `arrives` carried out and not answered. */
  readonly kill: (arrives?: boolean, isLast?: (rule: string) => boolean) => void
  /** Ends the path at the first step with such an answer, which the gate does not get. */
  readonly killAfter: (isLast: (rule: string, answer: unknown) => boolean) => void
  readonly isDead: () => boolean
  /** it is dead, or will be at one of its next steps */
  readonly isDying: () => boolean
  /** steps that are not answered yet */
  readonly inFlight: () => number
}

const NEVER = () => false

export const dyingPath = (shared: Store["Service"]): DyingPath => {
  let arrives = false
  let isLastStep: (rule: string) => boolean = NEVER
  let isLastAnswer: (rule: string, answer: unknown) => boolean = NEVER
  let dead = false
  let inFlight = 0
  /** Answers nobody who is dead. */
  const answered = <A, E>(step: Effect.Effect<A, E>, name: string): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      inFlight++
      const counted = Effect.ensuring(
        step,
        Effect.sync(() => inFlight--),
      )
      return Effect.flatMap(counted, (answer) => {
        dead ||= isLastAnswer(name, answer)
        return dead ? Effect.never : Effect.succeed(answer)
      })
    })
  const unlessDead = <A, E>(step: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.suspend(() => (dead ? Effect.never : answered(step, "")))
  return {
    store: {
      ...shared,
      run: (rule, ask) =>
        Effect.suspend(() => {
          if (dead) return Effect.never
          dead = isLastStep(rule.name)
          return dead && !arrives ? Effect.never : answered(shared.run(rule, ask), rule.name)
        }),
      get: (key) => unlessDead(shared.get(key)),
      set: (key, value, ttlMillis) => unlessDead(shared.set(key, value, ttlMillis)),
      publish: (channel, message) => unlessDead(shared.publish(channel, message)),
      subscribe: (channel, onMessage, onGap) =>
        shared.subscribe(
          channel,
          (message) => {
            if (!dead) onMessage(message)
          },
          onGap,
        ),
      ping: unlessDead(shared.ping),
    },
    kill: (last = false, isLast = () => true) => {
      arrives = last
      isLastStep = isLast
    },
    killAfter: (isLast) => {
      isLastAnswer = isLast
    },
    isDead: () => dead,
    isDying: () => dead || isLastStep !== NEVER || isLastAnswer !== NEVER,
    inFlight: () => inFlight,
  }
}

/** Waits, in real time, until nothing is on its way from these gates to a store on another server. */
export const untilAnswered = (paths: () => ReadonlyArray<DyingPath>): Effect.Effect<void> =>
  Effect.promise(async () => {
    for (let still = 0; still < 3; ) {
      await new Promise((resolve) => setTimeout(resolve, 1))
      still = paths().some((path) => !path.isDead() && path.inFlight() > 0) ? 0 : still + 1
    }
  })

export interface DyingGate extends Pick<RunningGate, "on"> {
  readonly path: DyingPath
}

/** Starts a gate with a connection of its own to the store. It stops at the end of the scope, unless it was killed. */
export const startDyingGate = (
  world: World,
  connect: SharedStore["connect"],
  given: Given,
): Effect.Effect<DyingGate, never, Scope.Scope> =>
  Effect.gen(function* () {
    const path = dyingPath(Context.get(yield* Layer.build(connect()), Store))
    const scope = yield* Scope.make()
    yield* Effect.addFinalizer(() => (path.isDying() ? Effect.void : Scope.close(scope, Exit.void)))
    const { on } = yield* Effect.provideService(startGate(world, path.store, given), Scope.Scope, scope)
    return { on, path }
  })
