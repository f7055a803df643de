/**
 * What the gate pushes for one ticket. The connection is made again for as long as it is wanted, at growing intervals, and
 * while it is down the ticket's state is asked for instead, so nothing that happened meanwhile is missed.
 */
import { type Gate, placeOf, Refusal, type Session } from "./gate-client.ts"
import { parse, text } from "./json.ts"
import type { Place } from "./state.ts"

export interface Listener {
  /** Whether events arrive at present. */
  readonly link: (open: boolean) => void
  readonly place: (place: Place) => void
  /** It is this ticket's turn, until `startBefore` (milliseconds of this machine's clock). */
  readonly called: (startBefore: number) => void
  readonly session: (session: Session) => void
  readonly ended: (reason: string, message: string) => void
  readonly failed: (code: string, message: string) => void
}

/** Milliseconds before the first attempt to connect again, and the most between two. */
const FIRST_PAUSE = 500
const LONGEST_PAUSE = 8_000

/** The gate's close code for a connection that another one of the same ticket replaced (RFC 6455 §7.4.1). */
const POLICY_VIOLATION = 1008

/** Follows a ticket until `signal` aborts or it is over. Call what it answers to ask for the ticket's state at once. */
export const follow = (gate: Gate, ticket: string, listener: Listener, signal: AbortSignal): (() => void) => {
  let socket: WebSocket | undefined
  let timer: number | undefined
  let failures = 0
  /** events so far: an answer that was overtaken by one is old */
  let pushed = 0

  const over = (reason: string, message: string): void => {
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
      if (code === POLICY_VIOLATION) return over("elsewhere", "")
      socket = undefined
      listener.link(false)
      void ask()
      // Many pages lose the same gate at once, so they do not come back at once.
      const pause = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** failures++) * (0.5 + Math.random())
      timer = window.setTimeout(connect, pause)
    }
  }

  const handle = (data: string): void => {
    const event = parse(data)
    pushed++
    // a gate that only sends the page away has answered nothing
    if (event.type !== "reconnect") failures = 0
    const message = text(event.message) ?? ""
    if (event.type === "position") listener.place(placeOf(event))
    else if (event.type === "start_call") listener.called(gate.localTime(event.startBefore))
    else if (event.type === "ended") over(text(event.reason) ?? "", message)
    else if (event.type === "error") listener.failed(text(event.code) ?? "", message)
    else if (event.type === "reconnect") socket?.close()
    else if (event.type === "session") {
      const webSocketUrl = text(event.webSocketUrl)
      if (webSocketUrl !== undefined) listener.session({ webSocketUrl, sessionId: text(event.sessionId) ?? "" })
    }
  }

  const ask = async (): Promise<void> => {
    const before = pushed
    try {
      const now = await gate.status(ticket, signal)
      if (signal.aborted || pushed !== before) return
      if (now.state === "waiting") listener.place(now.place)
      else if (now.state === "called") listener.called(now.startBefore)
      else if (now.state === "live") listener.session(now.session)
      else if (now.state === "over") over(now.reason, "")
    } catch (error) {
      // Anything else passes: the connection is tried again anyway.
      if (error instanceof Refusal && (error.status === 404 || error.status === 410)) over("unknown", error.message)
    }
  }

  const hurry = (): void => {
    if (socket === undefined) connect()
  }

  const stop = (): void => {
    window.clearTimeout(timer)
    window.removeEventListener("online", hurry)
    const current = socket
    socket = undefined
    current?.close()
  }

  window.addEventListener("online", hurry)
  signal.addEventListener("abort", stop, { once: true })
  connect()
  return () => void ask()
}
