/**
 * The server's time, as this process knows it: its own monotonic clock plus a measured offset.
 *
 * The monotonic clock stops while the machine is suspended, which makes the offset wrong. So the offset is measured
 * periodically, and also before the time is used whenever the wall clock and the monotonic clock have drifted apart: one of
 * them stopped or was set.
 */
import { type Clock, Effect, Exit } from "effect"

/** How often the server's time is measured: when both clocks of a machine stopped, nothing else reveals it. */
export const MEASURE_EVERY_MILLIS = 1_000

/** The two clocks do not drift apart by more than this between two measurements (ms) unless one stopped or was set. */
export const MAX_DRIFT_MILLIS = 100

export interface ServerClock<E> {
  /**
   * Reads the server's time and returns how far it is ahead of this process's wall clock (ms). A slow reply is imprecise: an
   * offset within its bounds is kept.
   */
  readonly measure: Effect.Effect<number, E>
  readonly isMeasured: () => boolean
  /** Discards the measurement, for instance when the connection is lost. */
  readonly forget: () => void
  /**
   * The server's time (ms since 1970), measured again first when the offset may be wrong; this process's own time without a
   * measurement. A failed measurement discards the old one.
   */
  readonly now: Effect.Effect<number>
}

/** @param ask reads the server's time (ms since 1970), with a timeout */
export const makeServerClock = <E>(clock: Clock.Clock, ask: Effect.Effect<number, E>): ServerClock<E> => {
  const steady = (): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
  /** the server's time minus the monotonic time */
  let offset: number | undefined
  /** the wall clock minus the monotonic time, at the last measurement */
  let wallOffset = 0
  /** counts calls of `forget`, so that a measurement in flight is then discarded */
  let generation = 0

  const forget = (): void => {
    offset = undefined
    generation++
  }
  const hasDrifted = (): boolean => Math.abs(clock.currentTimeMillisUnsafe() - steady() - wallOffset) > MAX_DRIFT_MILLIS

  const measure = Effect.suspend(() => {
    const sentAt = steady()
    // from before the request, so that a clock that stops during it is detected later
    const wallOffsetBefore = clock.currentTimeMillisUnsafe() - sentAt
    const startGeneration = generation
    return Effect.map(ask, (time) => {
      const receivedAt = steady()
      const [earliest, latest] = [time - receivedAt, time - sentAt]
      if (startGeneration === generation) {
        wallOffset = wallOffsetBefore
        if (offset === undefined || offset < earliest || offset > latest) offset = Math.round((earliest + latest) / 2)
      }
      return Math.round((earliest + latest) / 2) + receivedAt - clock.currentTimeMillisUnsafe()
    })
  })

  return {
    measure,
    isMeasured: () => offset !== undefined,
    forget,
    now: Effect.suspend(() => {
      if (offset === undefined) return Effect.succeed(clock.currentTimeMillisUnsafe())
      if (!hasDrifted()) return Effect.succeed(steady() + offset)
      return Effect.flatMap(Effect.exit(measure), (exit) => {
        if (Exit.isFailure(exit)) forget()
        return Effect.succeed(offset === undefined ? clock.currentTimeMillisUnsafe() : steady() + offset)
      })
    }),
  }
}
