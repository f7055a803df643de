/** Effects of which one runs at a time for each key; the others of that key wait for their turn. */
import { Effect, Semaphore } from "effect"

interface Lock {
  readonly turn: Semaphore.Semaphore
  /** who runs or waits */
  users: number
}

export const makeOneAtATime = (): ((
  key: string,
) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>) => {
  const locks = new Map<string, Lock>()
  return (key) => (effect) =>
    Effect.suspend(() => {
      const lock = locks.get(key) ?? { turn: Semaphore.makeUnsafe(1), users: 0 }
      locks.set(key, lock)
      lock.users++
      const leave = Effect.sync(() => {
        lock.users--
        if (lock.users === 0) locks.delete(key)
      })
      return Effect.ensuring(lock.turn.withPermits(1)(effect), leave)
    })
}
