/**
 * The server's time, as this process knows it: its own steady clock and the difference that was measured.
 *
 * Steady time stands still while the machine is suspended, and then the difference is wrong by as long. So it is measured again and
 * again, and at once, before the time is used, where the wall clock and the steady one no longer agree: one of them stood still or
 * was set.
 */
import { type Clock, Effect, Exit } from "effect"

/** How often the server's time is measured again: where both clocks of a machine stood still, nothing else shows it. */
export const MEASURE_EVERY_MILLIS = 1_000

/** Clocks that drift apart by more than this between two measurements (ms) do not do so by themselves. */
export const APART_MILLIS = 100

export interface ServerClock<E> {
  /**
   * Asks for the server's time, and answers how far it is ahead of this process's wall clock (ms). A question that takes long says
   * little: what fits its answer is kept.
   */
  readonly measure: Effect.Effect<number, E>
  readonly isMeasured: () => boolean
  /** What was measured holds no longer, as with a lost connection. */
  readonly forget: () => void
  /**
   * The server's time (ms since 1970), measured first where it may be wrong; this process's own while nothing is measured. Where
   * measuring fails, nothing is measured any more.
   */
  readonly now: Effect.Effect<number>
}

/** @param ask the server's time (ms since 1970), bounded in time */
export const makeServerClock = <E>(clock: Clock.Clock, ask: Effect.Effect<number, E>): ServerClock<E> => {
  const steady = (): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
  /** added to the steady time it is the server's */
  let offset: number | undefined
  /** added to the steady time it is the wall clock's, as when the server was asked last */
  let apart = 0
  /** counts what is forgotten: a measurement that was under way then is of no use */
  let forgotten = 0

  const forget = (): void => {
    offset = undefined
    forgotten++
  }
  const isApart = (): boolean => Math.abs(clock.currentTimeMillisUnsafe() - steady() - apart) > APART_MILLIS

  const measure = Effect.suspend(() => {
    const asked = steady()
    // from before the question: what stands still while it is under way shows afterwards
    const apartThen = clock.currentTimeMillisUnsafe() - asked
    const epoch = forgotten
    return Effect.map(ask, (time) => {
      const answered = steady()
      const [least, most] = [time - answered, time - asked]
      if (epoch === forgotten) {
        apart = apartThen
        if (offset === undefined || offset < least || offset > most) offset = Math.round((least + most) / 2)
      }
      return Math.round((least + most) / 2) + answered - clock.currentTimeMillisUnsafe()
    })
  })

  return {
    measure,
    isMeasured: () => offset !== undefined,
    forget,
    now: Effect.suspend(() => {
      if (offset === undefined) return Effect.succeed(clock.currentTimeMillisUnsafe())
      if (!isApart()) return Effect.succeed(steady() + offset)
      return Effect.flatMap(Effect.exit(measure), (exit) => {
        if (Exit.isFailure(exit)) forget()
        return Effect.succeed(offset === undefined ? clock.currentTimeMillisUnsafe() : steady() + offset)
      })
    }),
  }
}
