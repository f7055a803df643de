/**
 * A call whose campaign ends silent calls (`SilenceSeconds`); this script, `calls/silence.js`, is loaded when such a call begins. The page
 * hears whether anybody speaks, tells the gate when the time is nearly over, and when somebody speaks again. Nothing is sent in a conversation.
 * The gate answers when the call ends. The page warns the caller, and if nobody speaks by then it asks the gate once more, which may know of
 * speech that the page has not heard, or of another limit. Then it hangs up itself, because not every platform can be asked to end a call.
 *
 * The ticket's events stay connected meanwhile. Where they cannot be, reports are requests.
 */
import type { Gate } from "../gate/gate-client.ts"
import { parse, text } from "../gate/json.ts"

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
/** Backoff of the connection, in milliseconds. */
const FIRST_DELAY = 2_000
const MAX_DELAY = 60_000
/** The gate's close code for a connection that was replaced by another one of the same ticket (RFC 6455 §7.4.1). */
const POLICY_VIOLATION = 1008

export interface SilenceListener {
  /** The call ends then (ms since 1970 of this machine's clock) unless somebody speaks; undefined when somebody does. */
  readonly warn: (endsAt: number | undefined) => void
  /** Nobody has spoken for too long: the call is to be ended. */
  readonly over: () => void
}

export interface SilenceWatch {
  /** Loudness of either side, 0 to 1. */
  readonly level: (loudness: number) => void
  /** Somebody has said or written something. */
  readonly spoke: () => void
}

/** Watches until `signal` aborts, or the time is over. */
export const watchSilence = (
  gate: Gate,
  ticket: string,
  seconds: number,
  listener: SilenceListener,
  signal: AbortSignal,
): SilenceWatch => {
  const limit = seconds * 1_000
  const notice = Math.min(NOTICE, limit / 2)
  let lastSpoke = Date.now()
  let reportAt = lastSpoke + limit - notice
  let lastSound = 0
  /** when the call ends, once silence was reported */
  let endsAt: number | undefined
  /** when the gate was asked whether the call ends now */
  let askedAt: number | undefined
  let socket: WebSocket | undefined
  let failures = 0
  let timer: number | undefined

  const connect = (): void => {
    const current = new WebSocket(gate.eventsUrl(ticket))
    socket = current
    current.onmessage = ({ data }) => {
      failures = 0
      const event = parse(String(data))
      if (event.type === "warning") answered(gate.localTime(event.endsAt))
      else if (event.type === "ended" && text(event.reason) === "silent") finish()
    }
    current.onclose = ({ code }) => {
      if (socket !== current) return
      socket = undefined
      // another window has the ticket, or it is over
      if (code === POLICY_VIOLATION || code === 1000) return
      const pause = Math.min(MAX_DELAY, FIRST_DELAY * 2 ** failures++) * (0.5 + Math.random())
      timer = window.setTimeout(connect, pause)
    }
  }

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
    const silentSeconds = Math.round(silentMillis) / 1_000
    if (socket?.readyState === WebSocket.OPEN) {
      socket.send(JSON.stringify({ type: "silence", seconds: silentSeconds }))
      return
    }
    try {
      answered(await gate.silence(ticket, silentSeconds, signal))
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
    window.clearTimeout(timer)
    const current = socket
    socket = undefined
    current?.close()
  }

  const finish = (): void => {
    if (signal.aborted) return
    stop()
    listener.over()
  }

  const looking = window.setInterval(look, LOOK_EVERY)
  signal.addEventListener("abort", stop, { once: true })
  connect()
  return {
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
