/**
 * A call whose campaign limits it: its length (`MaxCallSeconds`, here), or its silence (`silence.ts`). This script, `calls/watch.js`, is loaded
 * when such a call begins. The ticket's events stay connected meanwhile: the gate warns, and says why it has ended the call. The page warns by its
 * own clock too, and hangs up after the end by itself, because not every platform can be asked to end a call, and the connection may be down.
 */
import type { VoiceAgentState } from "../client/state.ts"
import type { Gate, Session } from "../gate/gate-client.ts"
import { parse, text } from "../gate/json.ts"
import { type SilenceWatch, watchSilence } from "./silence.ts"

/** How long before its end a caller is warned, in milliseconds. */
const NOTICE = 60_000
/** How long after its end the page hangs up, if the platform has not ended the call, in milliseconds. */
const SLACK = 2_000
/** How often it is looked whether the end is near, in milliseconds. */
const LOOK_EVERY = 500
/** Backoff of the connection, in milliseconds. */
const FIRST_DELAY = 2_000
const MAX_DELAY = 60_000
/** The gate's close code for a connection that was replaced by another one of the same ticket (RFC 6455 §7.4.1). */
const POLICY_VIOLATION = 1008
/** Why the gate ends calls; any other end is told by the call itself. */
const REASONS = /^(silent|too_long|budget|stopped)$/

type Warning = Extract<VoiceAgentState, { readonly name: "in-call" }>["warning"]

export interface WatchListener {
  /** The call ends then, and why; undefined when it does not. */
  readonly warn: (warning: Warning) => void
  /** The call is over, or is to be ended, for this reason. */
  readonly over: (reason: string) => void
}

export interface CallWatch extends SilenceWatch {
  /** The reason of an end that the call itself tells at this moment: that of its limit, if that has come. */
  readonly why: (how: string) => string
}

/** Watches until `signal` aborts, or the call is over. */
export const watchCall = (
  gate: Gate,
  ticket: string,
  session: Session,
  listener: WatchListener,
  signal: AbortSignal,
): CallWatch => {
  let endsAt = gate.localTime(session.endsAt)
  /** when a silent call ends */
  let silentUntil: number | undefined
  let socket: WebSocket | undefined
  let failures = 0
  let timer: number | undefined

  const finish = (reason: string): void => {
    if (signal.aborted) return
    stop()
    listener.over(reason)
  }

  const show = (now: number): void => {
    if (silentUntil !== undefined && !(silentUntil > endsAt)) listener.warn({ reason: "silence", endsAt: silentUntil })
    else listener.warn(endsAt - now <= NOTICE ? { reason: "length", endsAt } : undefined)
  }

  const silence =
    session.silenceSeconds === undefined
      ? undefined
      : watchSilence(
          {
            warn: (until) => {
              silentUntil = until
              show(Date.now())
            },
            over: () => finish("silent"),
            report: async (seconds) => {
              if (socket?.readyState !== WebSocket.OPEN) return gate.silence(ticket, seconds, signal)
              socket.send(JSON.stringify({ type: "silence", seconds }))
              return undefined
            },
          },
          session.silenceSeconds,
          signal,
        )

  const connect = (): void => {
    const current = new WebSocket(gate.eventsUrl(ticket))
    socket = current
    current.onmessage = ({ data }) => {
      failures = 0
      const event = parse(String(data))
      const reason = text(event.reason) ?? ""
      if (event.type === "warning" && reason === "silence") silence?.answered(gate.localTime(event.endsAt))
      else if (event.type === "session") know(gate.localTime(event.endsAt))
      // for a page that began without knowing the end, and an end that moves, or is not due any more, as that of a budget
      else if (event.type === "warning") {
        endsAt = gate.localTime(event.endsAt)
        isWarned = undefined
      } else if (event.type === "ended" && REASONS.test(reason)) finish(reason)
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

  const know = (until: number): void => {
    if (!Number.isNaN(until)) endsAt = until
  }

  let isWarned: boolean | undefined = false
  const look = (): void => {
    const now = Date.now()
    const isNear = endsAt - now <= NOTICE
    if (isNear !== isWarned) show(now)
    isWarned = isNear
    if (now >= endsAt + SLACK) finish("too_long")
  }

  const stop = (): void => {
    window.clearInterval(looking)
    window.clearTimeout(timer)
    const current = socket
    socket = undefined
    current?.close()
  }

  const looking = window.setInterval(look, LOOK_EVERY)
  signal.addEventListener("abort", stop, { once: true })
  connect()
  return {
    level: (loudness) => silence?.level(loudness),
    spoke: () => silence?.spoke(),
    why: (how) => (how === "remote" && Date.now() >= endsAt - SLACK ? "too_long" : how),
  }
}
