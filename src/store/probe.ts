/**
 * Proves again and again that what is published arrives: a message to a channel of this instance alone has to come back within a
 * limit. An answered PING would prove the connection, not the subscription, nor that both lead to the same server.
 *
 * What is silent is noticed within `NOTICED_MILLIS`. It costs one PUBLISH a second.
 */
import { Deferred, Effect } from "effect"

/** How long after a message came back the next one is published. */
export const PROBE_MILLIS = 1_000
/** A message that has not come back so long after it was published does not come any more. */
export const BACK_MILLIS = 1_500
/** The most that a new connection is given, which is twice as much each time, before the next one is made. */
const BACK_MOST_MILLIS = 5_000
/**
 * A process that stood still runs its timers before it reads what has come meanwhile: so long it reads before it judges (ms).
 */
const READ_MILLIS = 50
/** Silence is noticed within this time. */
export const NOTICED_MILLIS = PROBE_MILLIS + BACK_MILLIS + READ_MILLIS

/** What is proved. */
export interface Probed<E> {
  /** Publishes to the channel; answers false where the server says that nobody hears it, though somebody here should. */
  readonly publish: (message: string) => Effect.Effect<boolean, E>
  /** Makes the connection anew on which nothing arrives. */
  readonly renew: Effect.Effect<void>
  /** It fell silent, or is heard again; called once each. */
  readonly changed: (hears: boolean) => Effect.Effect<void>
}

export interface Probe {
  /** A message came back. */
  readonly heard: (message: string) => void
  /** Probes for ever. A failure to publish proves nothing. */
  readonly run: Effect.Effect<never>
}

export const makeProbe = <E>({ changed, publish, renew }: Probed<E>): Probe => {
  let last = 0
  let back = Deferred.makeUnsafe<void>()
  let silent = false
  let patience = BACK_MILLIS

  const wait = Effect.gen(function* () {
    yield* Effect.timeoutOption(Deferred.await(back), patience)
    if (!Deferred.isDoneUnsafe(back)) yield* Effect.sleep(READ_MILLIS)
  })

  const once = Effect.gen(function* () {
    back = Deferred.makeUnsafe()
    const hears = yield* publish(String(++last))
    if (hears) yield* wait
    const came = Deferred.isDoneUnsafe(back)
    if (came === silent) {
      silent = !came
      yield* changed(came)
    }
    if (came) {
      patience = BACK_MILLIS
    } else {
      yield* renew
      patience = Math.min(2 * patience, BACK_MOST_MILLIS)
    }
  })

  return {
    heard: (message) => {
      if (message === String(last)) Deferred.doneUnsafe(back, Effect.void)
    },
    run: Effect.forever(Effect.andThen(Effect.sleep(PROBE_MILLIS), Effect.ignore(once))),
  }
}
