/**
 * Checks periodically that published messages arrive: publishes to a channel of this instance alone and expects the message
 * back in time. An answered PING would prove the connection, but not the subscription, nor that both lead to the same server.
 *
 * A silent subscription is detected within `DETECTION_MILLIS`. It costs one PUBLISH per second.
 */
import { Deferred, Effect, Schedule } from "effect"

export const PROBE_MILLIS = 1_000
/** A probe that has not returned after this time is lost. */
const PROBE_TIMEOUT_MILLIS = 1_500
/** The limit of that timeout, which doubles with every renewed connection. */
const MAX_PROBE_TIMEOUT_MILLIS = 5_000
/** A process that was suspended runs its timers before it reads its sockets: time for reading before the result counts (ms). */
const READ_GRACE_MILLIS = 50
/** A silent subscription is detected within this time. */
export const DETECTION_MILLIS = PROBE_MILLIS + PROBE_TIMEOUT_MILLIS + READ_GRACE_MILLIS

export interface ProbeOptions<E> {
  /** The connection that is subscribed now; undefined while there is none. */
  readonly connection: () => unknown
  /** Publishes to the channel; false when the server reports no subscriber although this instance has subscribed. */
  readonly publish: (message: string) => Effect.Effect<boolean, E>
  /** Replaces the silent connection. */
  readonly renew: Effect.Effect<void>
  /** Called once when the subscription falls silent and once when it recovers. */
  readonly onChange: (receiving: boolean) => Effect.Effect<void>
}

export interface Probe {
  /** To be called with each message of the channel. */
  readonly received: (message: string) => void
  /** Probes forever. A failure to publish is ignored: it does not show that the subscription is silent. */
  readonly run: Effect.Effect<unknown>
}

export const makeProbe = <E>({ connection, onChange, publish, renew }: ProbeOptions<E>): Probe => {
  let lastSequence = 0
  let returned = Deferred.makeUnsafe<void>()
  let silent = false
  /** the last probe told nothing, because its connection was replaced */
  let replaced = false
  let timeout = PROBE_TIMEOUT_MILLIS

  const wait = Effect.gen(function* () {
    yield* Effect.timeoutOption(Deferred.await(returned), timeout)
    if (!Deferred.isDoneUnsafe(returned)) yield* Effect.sleep(READ_GRACE_MILLIS)
  })

  const once = Effect.gen(function* () {
    returned = Deferred.makeUnsafe()
    const asked = connection()
    const hasSubscriber = yield* publish(String(++lastSequence))
    // a connection that the server has just closed has no subscriber either, and its end is read a moment later
    yield* hasSubscriber ? wait : Effect.sleep(READ_GRACE_MILLIS)
    const arrived = Deferred.isDoneUnsafe(returned)
    // it was replaced meanwhile: the message is lost, which says nothing of the new one, unless that happens again and again
    replaced = !arrived && !replaced && connection() !== asked
    if (replaced) return
    if (arrived === silent) {
      silent = !arrived
      yield* onChange(arrived)
    }
    if (arrived) {
      timeout = PROBE_TIMEOUT_MILLIS
    } else {
      yield* renew
      timeout = Math.min(2 * timeout, MAX_PROBE_TIMEOUT_MILLIS)
    }
  })

  return {
    received: (message) => {
      if (message === String(lastSequence)) Deferred.doneUnsafe(returned, Effect.void)
    },
    run: Effect.schedule(Effect.ignore(once), Schedule.spaced(PROBE_MILLIS)),
  }
}
