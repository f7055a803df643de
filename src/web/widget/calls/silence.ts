/**
 * A call whose campaign ends silent calls (`SilenceSeconds`); this script, `calls/silence.js`, is loaded when such a call begins. The page
 * hears whether anybody speaks, tells the gate when the time is nearly over, and when somebody speaks again. Nothing is sent in a conversation. The gate answers when the call ends; the page warns the caller, and hangs
 * up itself if nobody speaks by then, because not every platform can be asked to end a call.
 *
 * The ticket's events stay connected meanwhile. Where they cannot be, reports are requests.
 */
import type { Gate } from "../gate-client.ts"
import { parse, text } from "../json.ts"

/** Loudness from which a sound may be a voice: -36 dB. */
const VOICE = 0.016
/** It is one when it is heard again after so long, and not later than that: a click is neither. In milliseconds. */
const AGAIN_AFTER = 100
const AGAIN_WITHIN = 400
/** How long before the end the caller is warned, at most, in milliseconds: half of the limit if that is less. */
const NOTICE = 15_000
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
  let lastSound = 0
  /** when the call ends, once silence was reported */
  let endsAt: number | undefined
  let socket: WebSocket | undefined
  let failures = 0
  let timer: number | undefined

  const connect = (): void => {
    const current = new WebSocket(gate.eventsUrl(ticket))
    socket = current
    current.onmessage = ({ data }) => {
      failures = 0
      const event = parse(String(data))
      if (event.type === "warning") warned(gate.localTime(event.endsAt))
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

  const warned = (until: number): void => {
    // somebody has spoken since
    if (endsAt === undefined || Number.isNaN(until)) return
    endsAt = until
    listener.warn(until)
  }

  const report = async (silentSeconds: number): Promise<void> => {
    if (socket?.readyState === WebSocket.OPEN) {
      socket.send(JSON.stringify({ type: "silence", seconds: silentSeconds }))
      return
    }
    try {
      warned(await gate.silence(ticket, silentSeconds, signal))
    } catch {
      // the page ends the call by its own clock
    }
  }

  const spoke = (): void => {
    lastSpoke = Date.now()
    if (endsAt === undefined) return
    endsAt = undefined
    listener.warn(undefined)
    void report(0)
  }

  const look = (): void => {
    const now = Date.now()
    if (now < lastSpoke) lastSpoke = now
    const silent = now - lastSpoke
    if (endsAt !== undefined) {
      if (now >= endsAt) finish()
    } else if (silent >= limit - notice) {
      // the clock may have jumped, as when the machine has slept
      endsAt = Math.max(lastSpoke + limit, now + notice)
      listener.warn(endsAt)
      void report(Math.round(limit - (endsAt - now)) / 1_000)
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
