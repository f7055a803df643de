/**
 * Push over WebSocket and Server-Sent Events, on the same path. A connection is registered with the push channel before its ticket is
 * looked up. Events that occur before the connection is upgraded are buffered.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { Effect, Exit } from "effect"
import { WebSocket, WebSocketServer } from "ws"
import { Gatekeeper } from "../Gatekeeper.ts"
import { limitKey } from "../ip-intel/address.ts"
import * as messages from "../messages.ts"
import { type CloseReason, type Connection, type Opened, PushChannel, sessionEvent } from "../PushChannel.ts"
import type { PushEvent } from "../Session.ts"
import { type Answer, failed } from "./answer.ts"
import { awaitStart } from "./await-start.ts"
import { toProblem } from "./failures.ts"

/** WebSocket close codes (RFC 6455 §7.4): 1000 normal, 1001 going away, 1008 policy, 1013 try again later. */
const closeCodes: Record<CloseReason, number> = {
  over: 1000,
  shutdown: 1001,
  lagging: 1013,
  dead: 1001,
  replaced: 1008,
}
/** A client's messages are `{"type":"start"}`, `{"type":"leave"}` and `{"type":"hidden"}`; none is longer. */
const MAX_MESSAGE_BYTES = 1024
/** Maximum messages of a client on one connection. */
const MAX_MESSAGES = 100
/** Maximum pings of a client between two heartbeats. */
const MAX_PINGS = 100
/** How long a client may take to answer a close frame, in milliseconds. */
const CLOSE_TIMEOUT_MILLIS = 2_000

/** The transport of an open connection. */
interface Transport {
  readonly write: (event: PushEvent, text: string) => void
  readonly backlog: () => number
  readonly ping: () => boolean
  readonly close: (reason: CloseReason) => void
}

/**
 * A connection that buffers events until its transport is open. This and the next are classes, because closures would take twice the
 * memory, and there may be ten thousand of them.
 */
class BufferedConnection implements Connection {
  private transport: Transport | undefined = undefined
  private closed: CloseReason | undefined = undefined
  private buffer: Array<readonly [PushEvent, string]> | undefined = []
  /** starts that the client has requested and that are not answered yet */
  private pendingStarts = 0
  /** closes when they are answered */
  private draining = false

  send(event: PushEvent, text: string): void {
    if (event.type === "reconnect" && this.pendingStarts > 0) this.buffer = [...(this.buffer ?? []), [event, text]]
    else if (this.transport === undefined) this.buffer?.push([event, text])
    else this.transport.write(event, text)
  }

  backlog(): number {
    return this.transport?.backlog() ?? 0
  }

  ping(): boolean {
    return this.transport?.ping() ?? true
  }

  close(reason: CloseReason): void {
    if (reason === "shutdown" && this.pendingStarts > 0) {
      this.draining = true
      return
    }
    this.closed = reason
    this.transport?.close(reason)
  }

  open(to: Transport): void {
    this.transport = to
    this.flush(to)
    if (this.closed !== undefined) to.close(this.closed)
  }

  /** Keeps the connection open until this start is answered, because the client waits for the answer on it. */
  whileStarting(start: Effect.Effect<void>): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.pendingStarts++
      return Effect.ensuring(
        start,
        Effect.sync(() => {
          if (--this.pendingStarts > 0 || !this.draining) return
          if (this.transport !== undefined) this.flush(this.transport)
          this.close("shutdown")
        }),
      )
    })
  }

  private flush(to: Transport): void {
    for (const [event, text] of this.buffer ?? []) to.write(event, text)
    this.buffer = undefined
  }
}

/** An open WebSocket as a transport. */
class WebSocketTransport implements Transport {
  private readonly ws: WebSocket
  /** it has answered since the last heartbeat */
  alive = true
  private messages = 0
  private pings = 0
  private limitExceeded = false

  constructor(ws: WebSocket) {
    this.ws = ws
  }

  write(_event: PushEvent, text: string): void {
    this.ws.send(text)
  }

  backlog(): number {
    return this.ws.bufferedAmount
  }

  ping(): boolean {
    if (!this.alive || this.ws.readyState !== WebSocket.OPEN) return false
    this.alive = false
    this.pings = 0
    this.ws.ping()
    return true
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

function terminateThis(this: WebSocket): void {
  this.terminate()
}

const SERVER_OPTIONS = {
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: MAX_MESSAGE_BYTES,
  closeTimeout: CLOSE_TIMEOUT_MILLIS,
}

export interface Push {
  readonly upgrade: (
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    ticket: string,
    address: string,
  ) => Effect.Effect<Answer | undefined>
  readonly events: (response: ServerResponse, ticket: string, address: string) => Effect.Effect<Answer | undefined>
}

/** Both return a refusal, or undefined if the connection is open. */
export const makePush = (basePath: string): Effect.Effect<Push, never, Gatekeeper | PushChannel> =>
  Effect.gen(function* () {
    const gatekeeper = yield* Gatekeeper
    const channel = yield* PushChannel
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const server = new WebSocketServer(SERVER_OPTIONS)

    /** Registers the connection and sends the ticket's current state. `openTransport` runs if the ticket exists. */
    const attach = (
      ticket: string,
      address: string,
      isClosed: () => boolean,
      openTransport: (opened: Opened, connection: BufferedConnection) => void,
    ): Effect.Effect<Answer | undefined> =>
      Effect.gen(function* () {
        const connection = new BufferedConnection()
        const opened = yield* channel.open(ticket, limitKey(address), connection)
        const exit = yield* Effect.exit(gatekeeper.attach(ticket))
        if (Exit.isFailure(exit) || isClosed()) {
          opened.close()
          return yield* Exit.isFailure(exit) ? Effect.failCause(exit.cause) : Effect.succeed(undefined)
        }
        if (exit.value !== undefined) opened.send(exit.value)
        openTransport(opened, connection)
        if (exit.value === undefined) run(awaitStart(gatekeeper.attach(ticket), isClosed, opened.send))
        return undefined
      }).pipe(Effect.catch((error) => Effect.succeed(failed(error, basePath))))

    /** Handles a client's command. */
    const handleCommand = (
      ticket: string,
      opened: Opened,
      connection: BufferedConnection,
      message: string,
    ): Effect.Effect<void> => {
      const answer = (event: PushEvent): Effect.Effect<void> => Effect.sync(() => opened.send(event))
      const refuse = (code: string, text: string): Effect.Effect<void> => answer({ type: "error", code, message: text })
      if (message === "start") {
        const started = Effect.matchEffect(gatekeeper.start(ticket), {
          onFailure: (error) => {
            const { code, detail } = toProblem(error)
            return refuse(code, detail)
          },
          onSuccess: (session) => answer(sessionEvent(session)),
        })
        return connection.whileStarting(started)
      }
      if (message === "leave") {
        return Effect.matchEffect(gatekeeper.leave(ticket), {
          onFailure: () => refuse("store_unavailable", messages.storeUnavailable),
          onSuccess: () => answer({ type: "ended", reason: "left", message: messages.ended("left") }),
        })
      }
      if (message === "hidden") {
        return Effect.matchEffect(gatekeeper.attach(ticket, true), {
          onFailure: (error) => {
            const { code, detail } = toProblem(error)
            return refuse(code, detail)
          },
          onSuccess: (event) => (event === undefined ? Effect.void : answer(event)),
        })
      }
      return refuse("invalid_message", 'Expected {"type":"start"}, {"type":"leave"} or {"type":"hidden"}.')
    }

    /** Serves an open WebSocket. A separate function, so that no closure keeps the upgrade's request in memory. */
    const serve = (ws: WebSocket, ticket: string, opened: Opened, connection: BufferedConnection): void => {
      const transport = new WebSocketTransport(ws)
      ws.on("pong", () => {
        transport.alive = true
      })
      ws.on("ping", () => transport.admits("ping"))
      ws.on("error", terminateThis)
      ws.on("message", (data, isBinary) => {
        if (!transport.admits("message")) return
        transport.alive = true
        run(handleCommand(ticket, opened, connection, isBinary ? "" : commandOf(String(data))))
      })
      connection.open(transport)
    }

    return {
      upgrade: (request, socket, head, ticket, address) =>
        attach(
          ticket,
          address,
          () => socket.destroyed,
          (opened, connection) => {
            // the socket's close also covers a handshake that ws refuses, for which the callback is never called
            socket.on("close", opened.close)
            server.handleUpgrade(request, socket, head, (ws) => serve(ws, ticket, opened, connection))
          },
        ),
      events: (response, ticket, address) =>
        attach(
          ticket,
          address,
          () => response.destroyed || response.writableEnded,
          (opened, connection) => {
            response.on("close", opened.close)
            response.writeHead(200, {
              "content-type": "text/event-stream; charset=utf-8",
              // a compressing middleware of the host would hold events back
              "cache-control": "no-store, no-transform",
              // a buffering proxy would hold events back
              "x-accel-buffering": "no",
            })
            response.flushHeaders()
            connection.open({
              write: (event, text) => response.write(`event: ${event.type}\ndata: ${text}\n\n`),
              backlog: () => response.writableLength,
              ping: () => !response.destroyed && response.write(": ping\n\n") !== undefined,
              // `end` would wait for a client that no longer reads
              close: (reason) => (reason === "dead" || reason === "lagging" ? response.destroy() : response.end()),
            })
          },
        ),
    }
  })

/** The command in a client's message; empty if there is none. */
const commandOf = (text: string): string => {
  try {
    const message: unknown = JSON.parse(text)
    return typeof message === "object" && message !== null && "type" in message && typeof message.type === "string"
      ? message.type
      : ""
  } catch {
    return ""
  }
}
