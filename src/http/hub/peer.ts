/** One browser's hub connection: its state, and what the gate tells it. */
import type { WebSocket } from "ws"
import { accessOf } from "../../credential.ts"
import type { Opened } from "../../PushChannel.ts"
import type { Browser } from "./memory.ts"
import * as protocol from "./protocol.ts"

export interface Peer {
  readonly ws: WebSocket
  readonly caller: string
  readonly address: string
  readonly browser: Browser | undefined
  lastMessageAt: number
  handshakeDone: boolean
  invocationCount: number
  /** since the last ping of the hub */
  messageCount: number
  /** it has exceeded a limit and is being closed */
  limitExceeded: boolean
  ticket: string | undefined
  attached: Opened | undefined
  /** starts in progress for this connection */
  starting: number
  /** it is told to reconnect elsewhere when its starts have ended */
  draining: boolean
}

export const sendFailed = (peer: Peer, message: string): void =>
  peer.ws.send(protocol.invocation("SessionFailed", { message }))
/** Sends what the caller joins the session with. The widget of the .NET middleware knows `webSocketUrl` alone. */
export const sendReady = (peer: Peer, session: Parameters<typeof accessOf>[0]): void =>
  peer.ws.send(protocol.invocation("SessionReady", accessOf(session)))

/** Tells a client to reconnect, which a load balancer routes to another instance. */
export const sendReconnect = ({ handshakeDone, ws }: Peer): void => {
  // the stock client fails if it receives anything before the handshake's answer
  if (handshakeDone) ws.send(protocol.close(true))
  ws.close(1000)
}
