/** One browser's hub connection: its state, and what the gate tells it. */
import { Effect } from "effect"
import type { WebSocket } from "ws"
import { accessOf } from "../../protocol/credential.ts"
import type { Opened } from "../../push-channel/PushChannel.ts"
import type { Browser } from "./HubMemory.ts"
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
export const sendReady = (
  peer: Peer,
  session: Parameters<typeof accessOf>[0] & { readonly endsAt?: string | undefined },
): void => {
  const { endsAt } = session
  peer.ws.send(
    protocol.invocation("SessionReady", { ...accessOf(session), ...(endsAt === undefined ? {} : { endsAt }) }),
  )
}

/** Tells a client to reconnect, which a load balancer routes to another instance. */
export const sendReconnect = ({ handshakeDone, ws }: Peer): void => {
  // the stock client fails if it receives anything before the handshake's answer
  if (handshakeDone) ws.send(protocol.close(true))
  ws.close(1000)
}

/** Tells a client that another connection has its ticket; it does not reconnect. */
export const sendReplaced = ({ ws }: Peer): void => {
  ws.send(protocol.close(false))
  ws.close(1000)
}

/** How long a client may take to answer a ping before its connection counts as lost, in milliseconds. */
const PONG_MILLIS = 2_000

/** Pings a client; whether it answers. A connection whose client has lost its network looks open for a minute or more. */
export const isAnswering = ({ ws }: Peer): Effect.Effect<boolean> =>
  Effect.callback<boolean>((resume) => {
    const onPong = (): void => resume(Effect.succeed(true))
    ws.once("pong", onPong)
    ws.ping()
    return Effect.sync(() => ws.off("pong", onPong))
  }).pipe(Effect.timeoutOrElse({ duration: PONG_MILLIS, orElse: () => Effect.succeed(false) }))
