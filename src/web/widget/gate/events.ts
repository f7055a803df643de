/**
 * Follows the push events of one ticket. Reconnects with growing delays, and polls the ticket's state while disconnected, so that no
 * change is missed.
 */

import type { Place } from "../client/state.ts"
import { type Gate, Refusal, type Session, sessionIn } from "./gate-client.ts"
import { parse, text } from "./json.ts"
import { offersIn } from "./offers.ts"

export interface Listener {
  /** Whether the push connection is open. */
  readonly link: (open: boolean) => void
  readonly place: (place: Place) => void
  /** It is this ticket's turn, until `startBefore` (milliseconds of this machine's clock). It may be told again with a later time. */
  readonly called: (startBefore: number) => void
  readonly session: (session: Session) => void
  readonly ended: (reason: string, message: string) => void
  readonly failed: (code: string, message: string) => void
}

/** Backoff: the delay before the first reconnect, and the maximum delay, in milliseconds. */
const FIRST_DELAY = 500
const MAX_DELAY = 8_000

/** The gate's close code for a connection that was replaced by another one of the same ticket (RFC 6455 §7.4.1). */
const POLICY_VIOLATION = 1008

/**
 * Follows a ticket, whose place is known, until `signal` aborts or the ticket is over. Returns a function that polls the ticket's state at
 * once.
 */
export const follow = (
  gate: Gate,
  { place: known, ticket }: { readonly ticket: string; readonly place: Place },
  listener: Listener,
  signal: AbortSignal,
): (() => void) => {
  let socket: WebSocket | undefined
  let timer: number | undefined
  let failures = 0
  /** number of events so far, to detect that an event arrived while a poll was in progress, which makes its answer stale */
  let pushed = 0
  let last = known
  /** In this turn, the gate knows whether the page was hidden when it began. */
  let isHiddenKnown = false
  /** An estimate that is repeated goes on counting down from the time when it was first reported. */
  const place = (next: Place): void => {
    const repeated = last.position === next.position && last.estimatedWait === next.estimatedWait
    // only some answers repeat what is offered
    const offers = next.offers.length === 0 ? last.offers : next.offers
    last = { ...next, offers, asOf: repeated ? last.asOf : next.asOf }
    isHiddenKnown = false
    listener.place(last)
  }

  const finish = (reason: string, message: string): void => {
    stop()
    listener.ended(reason, message)
  }

  const connect = (): void => {
    window.clearTimeout(timer)
    const current = new WebSocket(gate.eventsUrl(ticket))
    socket = current
    current.onopen = () => listener.link(true)
    current.onmessage = ({ data }) => {
      if (typeof data === "string") handle(data)
    }
    current.onclose = ({ code }) => {
      if (socket !== current) return
      if (code === POLICY_VIOLATION) return finish("elsewhere", "")
      socket = undefined
      listener.link(false)
      void poll()
      // Random, because many pages lose the same gate at once and must not reconnect at once.
      const pause = Math.min(MAX_DELAY, FIRST_DELAY * 2 ** failures++) * (0.5 + Math.random())
      timer = window.setTimeout(connect, pause)
    }
  }

  const handle = (data: string): void => {
    const event = parse(data)
    pushed++
    // a reconnect event does not count as success: the gate cannot serve the ticket
    if (event.type !== "reconnect") failures = 0
    const message = text(event.message) ?? ""
    if (event.type === "position") place(gate.placeOf(event))
    else if (event.type === "offer") place({ ...last, offers: offersIn(event.offers) })
    else if (event.type === "start_call") {
      // a caller on another tab gets more time to come back
      if (document.hidden && !isHiddenKnown) socket?.send('{"type":"hidden"}')
      isHiddenKnown = true
      listener.called(gate.localTime(event.startBefore))
    } else if (event.type === "ended") finish(text(event.reason) ?? "", message)
    else if (event.type === "error") {
      // a gate that is older than this script does not know the command `hidden`
      if (event.code !== "invalid_message") listener.failed(text(event.code) ?? "", message)
    } else if (event.type === "reconnect") socket?.close()
    else if (event.type === "session") {
      const session = sessionIn(event)
      if (session !== undefined) listener.session({ ...session, ticket })
    }
  }

  const poll = async (): Promise<void> => {
    const before = pushed
    try {
      const now = await gate.status(ticket, signal)
      if (signal.aborted || pushed !== before) return
      if (now.state === "waiting") place(now.place)
      else if (now.state === "called") listener.called(now.startBefore)
      else if (now.state === "live") listener.session(now.session)
      else if (now.state === "over") finish(now.reason, "")
    } catch (error) {
      // Other errors are ignored, because the connection is retried anyway.
      if (error instanceof Refusal && (error.status === 404 || error.status === 410)) finish("unknown", error.message)
    }
  }

  const reconnectNow = (): void => {
    if (socket === undefined) connect()
  }

  const stop = (): void => {
    window.clearTimeout(timer)
    window.removeEventListener("online", reconnectNow)
    const current = socket
    socket = undefined
    current?.close()
  }

  window.addEventListener("online", reconnectNow)
  signal.addEventListener("abort", stop, { once: true })
  connect()
  return () => void poll()
}
