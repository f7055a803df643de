/**
 * Push over WebSocket and Server-Sent Events, on the same path. A connection is taken on by the push channel before the
 * ticket is looked up, and told nothing before it is upgraded: what happens in between is kept for it.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { Effect, Exit } from "effect"
import { WebSocket, WebSocketServer } from "ws"
import { Gatekeeper } from "../Gatekeeper.ts"
import { limitKey } from "../ip-intel/address.ts"
import * as messages from "../messages.ts"
import { type CloseReason, type Connection, type Opened, PushChannel } from "../PushChannel.ts"
import type { PushEvent } from "../Session.ts"
import { type Answer, failed } from "./answer.ts"
import { awaitStart } from "./await-start.ts"
import { tell } from "./failures.ts"

/** WebSocket close codes (RFC 6455 §7.4): 1000 normal, 1001 going away, 1008 policy, 1013 try again later. */
const closeCodes: Record<CloseReason, number> = {
  over: 1000,
  shutdown: 1001,
  lagging: 1013,
  dead: 1001,
  replaced: 1008,
}
/** A client's message is `{"type":"start"}` or `{"type":"leave"}`; more is not expected. */
const MAX_MESSAGE_BYTES = 1024
/** So many messages of a client are answered while its connection lasts; a person presses few buttons. */
const MAX_MESSAGES = 100
/** So many pings of a client are answered between two beats. */
const MAX_PINGS = 100
/** How long a client has to answer a close, in milliseconds. */
const CLOSE_MILLIS = 2_000

/** Where a connection's bytes go, once it is open. */
interface Wire {
  readonly write: (event: PushEvent, text: string) => void
  readonly backlog: () => number
  readonly beat: () => boolean
  readonly close: (reason: CloseReason) => void
}

/**
 * A connection that keeps what it is told until its wire is there. A class, as the next, because ten thousand of them are held:
 * closures would take twice the memory.
 */
class Deferred implements Connection {
  private wire: Wire | undefined = undefined
  private closed: CloseReason | undefined = undefined
  private kept: Array<readonly [PushEvent, string]> | undefined = []
  /** starts that its peer has asked for, and that are not answered yet */
  private owed = 0
  /** it is sent elsewhere when they are */
  private leaving = false

  send(event: PushEvent, text: string): void {
    if (event.type === "reconnect" && this.owed > 0) this.kept = [...(this.kept ?? []), [event, text]]
    else if (this.wire === undefined) this.kept?.push([event, text])
    else this.wire.write(event, text)
  }

  backlog(): number {
    return this.wire?.backlog() ?? 0
  }

  ping(): boolean {
    return this.wire?.beat() ?? true
  }

  close(reason: CloseReason): void {
    if (reason === "shutdown" && this.owed > 0) {
      this.leaving = true
      return
    }
    this.closed = reason
    this.wire?.close(reason)
  }

  open(to: Wire): void {
    this.wire = to
    this.flush(to)
    if (this.closed !== undefined) to.close(this.closed)
  }

  /** Until this start is answered, the connection stays: it is where the answer is waited for. */
  answering(start: Effect.Effect<void>): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.owed++
      return Effect.ensuring(
        start,
        Effect.sync(() => {
          if (--this.owed > 0 || !this.leaving) return
          if (this.wire !== undefined) this.flush(this.wire)
          this.close("shutdown")
        }),
      )
    })
  }

  private flush(to: Wire): void {
    for (const [event, text] of this.kept ?? []) to.write(event, text)
    this.kept = undefined
  }
}

/** An open WebSocket as a wire. */
class WebSocketWire implements Wire {
  private readonly ws: WebSocket
  /** it has answered since the last beat */
  alive = true
  private messages = 0
  private pings = 0
  private refused = false

  constructor(ws: WebSocket) {
    this.ws = ws
  }

  write(_event: PushEvent, text: string): void {
    this.ws.send(text)
  }

  backlog(): number {
    return this.ws.bufferedAmount
  }

  beat(): boolean {
    if (!this.alive || this.ws.readyState !== WebSocket.OPEN) return false
    this.alive = false
    this.pings = 0
    this.ws.ping()
    return true
  }

  /** Counts a message or ping of the client. One too many closes the connection, and nothing more of it is read. */
  admits(what: "message" | "ping"): boolean {
    if (this.refused) return false
    const admitted = what === "ping" ? ++this.pings <= MAX_PINGS : ++this.messages <= MAX_MESSAGES
    if (!admitted) {
      this.refused = true
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
  closeTimeout: CLOSE_MILLIS,
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

/** Each answers with a refusal, or undefined when the connection is open. */
export const makePush = (basePath: string): Effect.Effect<Push, never, Gatekeeper | PushChannel> =>
  Effect.gen(function* () {
    const gatekeeper = yield* Gatekeeper
    const channel = yield* PushChannel
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const server = new WebSocketServer(SERVER_OPTIONS)

    /** Takes the connection on and says what it has to know; `wire` opens it when nothing stands against it. */
    const attach = (
      ticket: string,
      address: string,
      gone: () => boolean,
      wire: (opened: Opened, connection: Deferred) => void,
    ): Effect.Effect<Answer | undefined> =>
      Effect.gen(function* () {
        const deferred = new Deferred()
        const opened = yield* channel.open(ticket, limitKey(address), deferred)
        const exit = yield* Effect.exit(gatekeeper.attach(ticket))
        if (Exit.isFailure(exit) || gone()) {
          opened.close()
          return yield* Exit.isFailure(exit) ? Effect.failCause(exit.cause) : Effect.succeed(undefined)
        }
        if (exit.value !== undefined) opened.send(exit.value)
        wire(opened, deferred)
        if (exit.value === undefined) run(awaitStart(gatekeeper.attach(ticket), gone, opened.send))
        return undefined
      }).pipe(Effect.catch((error) => Effect.succeed(failed(error, basePath))))

    /** What a client asked for over its WebSocket. */
    const obey = (ticket: string, opened: Opened, connection: Deferred, message: string): Effect.Effect<void> => {
      const answer = (event: PushEvent): Effect.Effect<void> => Effect.sync(() => opened.send(event))
      const refuse = (code: string, text: string): Effect.Effect<void> => answer({ type: "error", code, message: text })
      if (message === "start") {
        const started = Effect.matchEffect(gatekeeper.start(ticket), {
          onFailure: (error) => {
            const { code, detail } = tell(error)
            return refuse(code, detail)
          },
          onSuccess: ({ sessionId, webSocketUrl }) => answer({ type: "session", webSocketUrl, sessionId }),
        })
        return connection.answering(started)
      }
      if (message === "leave") {
        return Effect.matchEffect(gatekeeper.leave(ticket), {
          onFailure: () => refuse("store_unavailable", messages.storeUnavailable),
          onSuccess: () => answer({ type: "ended", reason: "left", message: messages.ended("left") }),
        })
      }
      return refuse("invalid_message", 'Expected {"type":"start"} or {"type":"leave"}.')
    }

    /** Serves an open WebSocket. Apart from its upgrade, whose request would else be kept for as long as it is open. */
    const serve = (ws: WebSocket, ticket: string, opened: Opened, connection: Deferred): void => {
      const wire = new WebSocketWire(ws)
      ws.on("pong", () => {
        wire.alive = true
      })
      ws.on("ping", () => wire.admits("ping"))
      ws.on("error", terminateThis)
      ws.on("message", (data, isBinary) => {
        if (!wire.admits("message")) return
        wire.alive = true
        run(obey(ticket, opened, connection, isBinary ? "" : commandOf(String(data))))
      })
      connection.open(wire)
    }

    return {
      upgrade: (request, socket, head, ticket, address) =>
        attach(
          ticket,
          address,
          () => socket.destroyed,
          (opened, connection) => {
            // a handshake that ws refuses ends with the socket and never reaches the callback
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
              "cache-control": "no-store",
              // a buffering proxy would hold events back
              "x-accel-buffering": "no",
            })
            response.flushHeaders()
            connection.open({
              write: (event, text) => response.write(`event: ${event.type}\ndata: ${text}\n\n`),
              backlog: () => response.writableLength,
              beat: () => !response.destroyed && response.write(": beat\n\n") !== undefined,
              // the end of a response waits for a peer that reads no more
              close: (reason) => (reason === "dead" || reason === "lagging" ? response.destroy() : response.end()),
            })
          },
        ),
    }
  })

/** The command of a client's message, or empty when it is none. */
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
