/** A ticket's open WebSocket as a transport of the push channel. */

import type { Duplex } from "node:stream"
import { WebSocket } from "ws"
import type { PushEvent } from "../../protocol/events.ts"
import type { CloseReason, Opened } from "../../push-channel/PushChannel.ts"
import type { BufferedConnection, Transport } from "./buffered-connection.ts"
import { PING_FRAME, textFrame } from "./websocket-frame.ts"

/** WebSocket close codes (RFC 6455 §7.4): 1000 normal, 1001 going away, 1008 policy, 1013 try again later. */
const closeCodes: Record<CloseReason, number> = {
  over: 1000,
  shutdown: 1001,
  lagging: 1013,
  dead: 1001,
  replaced: 1008,
}
/** Maximum messages of a client at once, and how many more it may send between two pings of the gate (`PING_MILLIS`): some 20 a minute. */
const MAX_MESSAGES = 100
const MESSAGES_REFILL = 7
/** Maximum pings and pongs of a client between two pings of the gate. */
const MAX_PINGS = 100

/** A client's message: its type, empty if it has none, and what else it says. */
export interface ClientMessage {
  readonly type: string
  readonly [field: string]: unknown
}

export type OnCommand = (transport: WebSocketTransport, message: ClientMessage) => void

export class WebSocketTransport implements Transport {
  private readonly ws: WebSocket
  /** the same connection, below `ws` */
  private readonly socket: Duplex
  readonly ticket: string
  readonly opened: Opened
  readonly connection: BufferedConnection
  readonly onCommand: OnCommand
  /** it has answered the last ping */
  alive = true
  private messages = 0
  private pings = 0
  private limitExceeded = false

  constructor(
    ws: WebSocket,
    socket: Duplex,
    ticket: string,
    opened: Opened,
    connection: BufferedConnection,
    onCommand: OnCommand,
  ) {
    this.ws = ws
    this.socket = socket
    this.ticket = ticket
    this.opened = opened
    this.connection = connection
    this.onCommand = onCommand
  }

  write(event: PushEvent, text: string): void {
    // thousands of these are sent in a row, and `ws` would write each in two parts
    if (event.type === "position" && this.ws.readyState === WebSocket.OPEN) {
      this.socket.write(textFrame(text), "latin1")
    } else {
      this.ws.send(text)
    }
  }

  backlog(): number {
    return this.ws.bufferedAmount
  }

  ping(): boolean {
    if (!this.alive || this.ws.readyState !== WebSocket.OPEN) return false
    this.alive = false
    this.pings = 0
    this.messages = Math.max(0, this.messages - MESSAGES_REFILL)
    // as `ws` does, which takes twice the time
    this.socket.write(PING_FRAME, "latin1")
    return true
  }

  isAnswered(): boolean {
    return this.alive
  }

  /** Counts a message or ping of the client. Beyond the limit the connection is closed and read no further. */
  admits(what: "message" | "ping"): boolean {
    if (this.limitExceeded) return false
    const admitted = what === "ping" ? ++this.pings <= MAX_PINGS : ++this.messages <= MAX_MESSAGES
    if (!admitted) {
      this.limitExceeded = true
      this.ws.close(closeCodes.replaced, "too many messages")
      this.ws.pause()
    }
    return admitted
  }

  close(reason: CloseReason): void {
    if (reason === "dead") this.ws.terminate()
    else this.ws.close(closeCodes[reason], reason)
  }
}

/**
 * A WebSocket that passes its events to its transport. It overrides `emit`, because listeners take 0.2 kB a connection, of which there
 * may be ten thousand. After `serve`, listeners get no `message`, `ping`, `pong` or `error`.
 */
export class TicketSocket extends WebSocket {
  private transport: WebSocketTransport | undefined = undefined

  /** Handles what the client sends. */
  serve(transport: WebSocketTransport): void {
    this.transport = transport
  }

  override emit(event: string, ...args: Array<unknown>): boolean {
    const { transport } = this
    if (transport === undefined) return super.emit(event, ...args)
    switch (event) {
      case "message":
        onMessage(transport, args[0], args[1] === true)
        return true
      case "ping":
        transport.admits("ping")
        return true
      case "pong":
        if (transport.admits("ping")) transport.alive = true
        return true
      case "error":
        this.terminate()
        return true
      case "close":
        transport.opened.close()
        return super.emit(event, ...args)
      default:
        return super.emit(event, ...args)
    }
  }
}

const onMessage = (transport: WebSocketTransport, data: unknown, isBinary: boolean): void => {
  if (!transport.admits("message")) return
  transport.alive = true
  transport.onCommand(transport, isBinary ? NO_MESSAGE : messageOf(String(data)))
}

const NO_MESSAGE: ClientMessage = { type: "" }

const messageOf = (text: string): ClientMessage => {
  try {
    const message: unknown = JSON.parse(text)
    return typeof message === "object" && message !== null && "type" in message && typeof message.type === "string"
      ? { ...message, type: message.type }
      : NO_MESSAGE
  } catch {
    return NO_MESSAGE
  }
}
