/**
 * A call whose campaign ends silent calls (`SilenceSeconds`); `watch.ts` has the connection to the gate. The page
 * hears whether anybody speaks, tells the gate when the time is nearly over, and when somebody speaks again. Nothing is sent in a conversation.
 * The gate answers when the call ends. The page warns the caller, and if nobody speaks by then it asks the gate once more, which may know of
 * speech that the page has not heard, or of another limit. Then it hangs up itself, because not every platform can be asked to end a call.
 *
 * Reports go over the connection. Where there is none, they are requests.
 */

/** Loudness from which a sound may be a voice: -36 dB. */
const VOICE = 0.016
/** It is one when it is heard again after so long, and not later than that: a click is neither. In milliseconds. */
const AGAIN_AFTER = 100
const AGAIN_WITHIN = 400
/** How long before the end the caller is warned, at most, in milliseconds: half of the limit if that is less. */
const NOTICE = 15_000
/** How long the gate has to say that the call does not end yet, in milliseconds. */
const ANSWER_WITHIN = 2_000
/** How often it is looked how long nobody has spoken, in milliseconds. */
const LOOK_EVERY = 500

export interface SilenceListener {
  /** The call ends then (ms since 1970 of this machine's clock) unless somebody speaks; undefined when somebody does. */
  readonly warn: (endsAt: number | undefined) => void
  /** Nobody has spoken for too long: the call is to be ended. */
  readonly over: () => void
  /**
   * Tells the gate how long nobody has spoken. Returns when the call ends, if the gate answers at once (ms since 1970 of this machine's clock; NaN:
   * no end is due); undefined if its answer comes over the connection.
   */
  readonly report: (seconds: number) => Promise<number | undefined>
}

export interface SilenceWatch {
  /** Loudness of either side, 0 to 1. */
  readonly level: (loudness: number) => void
  /** Somebody has said or written something. */
  readonly spoke: () => void
}

/** The same, for the connection. */
export interface SilenceReports extends SilenceWatch {
  /** The gate has answered a report: the call ends then; NaN: no end is due. */
  readonly answered: (until: number) => void
}

/** Watches until `signal` aborts, or the time is over. */
export const watchSilence = (listener: SilenceListener, seconds: number, signal: AbortSignal): SilenceReports => {
  const limit = seconds * 1_000
  const notice = Math.min(NOTICE, limit / 2)
  let lastSpoke = Date.now()
  let reportAt = lastSpoke + limit - notice
  let lastSound = 0
  /** when the call ends, once silence was reported */
  let endsAt: number | undefined
  /** when the gate was asked whether the call ends now */
  let askedAt: number | undefined

  /** No end is near: silence is reported at that time, unless somebody speaks. */
  const goOn = (next: number): void => {
    reportAt = next
    askedAt = undefined
    if (endsAt === undefined) return
    endsAt = undefined
    listener.warn(undefined)
  }

  const spokeNow = (): void => {
    lastSpoke = Date.now()
    goOn(lastSpoke + limit - notice)
  }

  /** The gate has answered a report: the call ends then; NaN: no end is due. */
  const answered = (until: number): void => {
    // somebody has spoken since
    if (endsAt === undefined) return
    const now = Date.now()
    // the limit was removed
    if (Number.isNaN(until)) spokeNow()
    // the vendor has heard somebody, or the limit is longer now
    else if (until > now + notice) goOn(until - notice)
    else if (askedAt !== undefined && until <= now) finish()
    else {
      askedAt = undefined
      endsAt = until
      listener.warn(until)
    }
  }

  const report = async (silentMillis: number): Promise<void> => {
    try {
      const until = await listener.report(Math.round(silentMillis) / 1_000)
      if (until !== undefined) answered(until)
    } catch {
      // the page ends the call by its own clock
    }
  }

  const spoke = (): void => {
    const wasSilent = endsAt !== undefined
    spokeNow()
    if (wasSilent) void report(0)
  }

  const look = (): void => {
    const now = Date.now()
    if (now < lastSpoke) spokeNow()
    else if (endsAt === undefined) {
      if (now < reportAt) return
      // the clock may have jumped, as when the machine has slept
      lastSpoke += now - reportAt
      endsAt = now + notice
      listener.warn(endsAt)
      void report(now - lastSpoke)
    } else if (now >= endsAt) {
      if (askedAt === undefined) {
        askedAt = now
        void report(now - lastSpoke)
      } else if (now >= askedAt + ANSWER_WITHIN) finish()
    }
  }

  const stop = (): void => {
    window.clearInterval(looking)
  }

  const finish = (): void => {
    if (signal.aborted) return
    stop()
    listener.over()
  }

  const looking = window.setInterval(look, LOOK_EVERY)
  signal.addEventListener("abort", stop, { once: true })
  return {
    answered,
    level: (loudness) => {
      if (loudness < VOICE) return
      const now = Date.now()
      const since = now - lastSound
      if (since >= AGAIN_AFTER && since <= AGAIN_WITHIN) spoke()
      if (since >= AGAIN_AFTER || since < 0) lastSound = now
    },
    spoke,
  }
}
