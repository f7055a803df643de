/**
 * `/sessionHub`: the SignalR hub for the existing widget, which registers a ticket and waits for `SessionReady {webSocketUrl}` or
 * `SessionFailed {message}`. The protocol has no start command, so the gate starts the session itself when the ticket is called.
 */
import { randomBytes } from "node:crypto"
import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { Clock, Effect, Schedule, type Scope } from "effect"
import { WebSocket, WebSocketServer } from "ws"
import { makeConnectionCounter } from "../../connection-counter.ts"
import { Gatekeeper } from "../../Gatekeeper.ts"
import { limitKey } from "../../ip-intel/address.ts"
import * as messages from "../../messages.ts"
import {
  CONNECTIONS_PER_CALLER,
  type Connection,
  type Opened,
  PushChannel,
  TooManyConnections,
} from "../../PushChannel.ts"
import { isTerminal, type PushEvent } from "../../Session.ts"
import type { Store } from "../../Store.ts"
import type { AccessLogService } from "../access-log.ts"
import { type Answer, failed, json, problem } from "../answer.ts"
import { awaitStart } from "../await-start.ts"
import { toProblem } from "../failures.ts"
import { header } from "../incoming.ts"
import { type Browser, makeHubMemory } from "./memory.ts"
import * as protocol from "./protocol.ts"

/** Ping interval. The stock client closes a connection that is silent for 30 s, and itself pings every 15 s. */
export const PING_MILLIS = 10_000
const IDLE_TIMEOUT_MILLIS = 40_000
/** How often a start is retried while the store is unavailable. */
const START_RETRY_MILLIS = 500
/** A connection that has not registered by then is treated as a reconnect: the widget does not register again. */
const REGISTER_MILLIS = 3_000
const MAX_FRAME_BYTES = 16 * 1024
const MAX_INVOCATIONS = 100
/**
 * Maximum messages and pings of a connection in `PING_MILLIS`. The stock client sends two at first, then one every 15 s. A
 * connection that exceeds it is closed with 1008 and read no further.
 */
export const MAX_MESSAGES = 200
/** How long a client may take to answer a close frame, in milliseconds. */
const CLOSE_TIMEOUT_MILLIS = 2_000

const SERVER_OPTIONS = {
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: MAX_FRAME_BYTES,
  closeTimeout: CLOSE_TIMEOUT_MILLIS,
}

const COOKIE = "voicegate_hub"

type StartError = Effect.Error<ReturnType<Gatekeeper["Service"]["start"]>>

/** One browser's hub connection. */
interface Peer {
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
  /** it is told to reconnect elsewhere when they have ended */
  draining: boolean
}

export interface Hub {
  /** `POST /sessionHub/negotiate`; `credentials` is whether the page's cookies are trusted. */
  readonly negotiate: (request: IncomingMessage, credentials: boolean) => Effect.Effect<Answer>
  /** Opens a WebSocket; returns a refusal, or undefined if the connection is open. */
  readonly upgrade: (
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    address: string,
    credentials: boolean,
  ) => Effect.Effect<Answer | undefined>
  /** Tells connections without a ticket to reconnect elsewhere; the push channel handles those with a ticket. */
  readonly drain: Effect.Effect<void>
}

const cookieOf = (request: IncomingMessage): string | undefined =>
  new RegExp(`(?:^|;\\s*)${COOKIE}=([A-Za-z0-9_-]{22})(?:;|$)`).exec(header(request, "cookie") ?? "")?.[1]

/**
 * The access token of an earlier negotiation. The stock client sends it with each later negotiation of the same page (`accessToken`
 * in TransportProtocols of ASP.NET Core), so it identifies the page if cookies are blocked.
 */
const tokenOf = (request: IncomingMessage): string | undefined =>
  /^Bearer ([A-Za-z0-9_-]{22})$/.exec(header(request, "authorization") ?? "")?.[1]

const newId = (): string => randomBytes(16).toString("base64url")

/** @param log the access log for refusals, which replaces addresses by caller names */
export const makeHub = (
  basePath: string,
  log: AccessLogService,
): Effect.Effect<Hub, never, Gatekeeper | PushChannel | Store | Scope.Scope> =>
  Effect.gen(function* () {
    const gatekeeper = yield* Gatekeeper
    const channel = yield* PushChannel
    const clock = yield* Clock.Clock
    const memory = yield* makeHubMemory
    const run = Effect.runForkWith(yield* Effect.context<Scope.Scope>())
    const peers = new Set<Peer>()
    /** Counts all open connections of a caller; the push channel counts only registered ones. */
    const connectionCounter = makeConnectionCounter(CONNECTIONS_PER_CALLER)
    const server = new WebSocketServer(SERVER_OPTIONS)

    yield* Effect.sync(() => {
      const now = clock.currentTimeMillisUnsafe()
      for (const peer of peers) {
        const { handshakeDone, lastMessageAt, ws } = peer
        peer.messageCount = 0
        if (now - lastMessageAt > IDLE_TIMEOUT_MILLIS) ws.terminate()
        // the stock client fails if it receives anything before the handshake's answer
        else if (handshakeDone) ws.send(protocol.ping)
      }
    }).pipe(Effect.schedule(Schedule.spaced(PING_MILLIS)), Effect.forkScoped)

    /** `status` is 0 if nothing was answered. */
    const logRefusal = ({ address }: Peer, method: string, status: number, outcome: string): void =>
      log.write({ id: "", method, path: "/sessionHub", status, outcome, address, millis: 0 })

    const sendFailed = (peer: Peer, message: string): void =>
      peer.ws.send(protocol.invocation("SessionFailed", { message }))
    const sendReady = (peer: Peer, webSocketUrl: string): void =>
      peer.ws.send(protocol.invocation("SessionReady", { webSocketUrl }))

    /** Tells a client to reconnect, which a load balancer routes to another instance. */
    const sendReconnect = ({ handshakeDone, ws }: Peer): void => {
      // the stock client fails if it receives anything before the handshake's answer
      if (handshakeDone) ws.send(protocol.close(true))
      ws.close(1000)
    }

    /** Whether a failed start leaves the ticket's turn open: another attempt, here or at another instance, will end it. */
    const isTurnOpen = ({ draining }: Peer, tag: StartError["_tag"]): boolean =>
      tag === "NotYourTurn" || tag === "Draining" || (tag === "StoreUnavailable" && draining)

    /** Starts the session of a called ticket, and retries while the store is unavailable. */
    const startCall = (peer: Peer, ticket: string): Effect.Effect<void> =>
      Effect.suspend(() => {
        peer.starting++
        return gatekeeper.start(ticket).pipe(
          Effect.retry({
            schedule: Schedule.spaced(START_RETRY_MILLIS),
            while: ({ _tag }) => _tag === "StoreUnavailable" && peer.ws.readyState === WebSocket.OPEN && !peer.draining,
          }),
          Effect.match({
            onSuccess: ({ webSocketUrl }) => sendReady(peer, webSocketUrl),
            onFailure: ({ _tag, message }) => {
              if (!isTurnOpen(peer, _tag)) sendFailed(peer, message)
            },
          }),
          Effect.ensuring(
            Effect.sync(() => {
              peer.starting--
              if (peer.draining && peer.starting === 0) sendReconnect(peer)
            }),
          ),
        )
      })

    const onEvent = (peer: Peer, ticket: string, event: PushEvent): void => {
      if (event.type === "start_call") run(startCall(peer, ticket))
      else if (event.type === "session") sendReady(peer, event.webSocketUrl)
      else if (event.type === "ended") sendFailed(peer, event.message)
    }

    const connectionOf = (peer: Peer, ticket: string): Connection => ({
      send: (event) => onEvent(peer, ticket, event),
      backlog: () => peer.ws.bufferedAmount,
      // the hub has its own ping
      ping: () => true,
      close: (reason) => {
        // the widget closes the connection itself when its ticket is over
        if (reason === "over") return
        if (reason === "dead") {
          peer.ws.terminate()
        } else if (reason === "replaced") {
          peer.ws.send(protocol.close(false))
          peer.ws.close(1000)
        } else if (reason === "shutdown" && peer.starting > 0) {
          // the client waits for the start's answer on this connection
          peer.draining = true
        } else {
          sendReconnect(peer)
        }
      },
    })

    /** Attaches a connection to a ticket, and sends the current state. */
    const register = (peer: Peer, ticket: string) =>
      Effect.gen(function* () {
        peer.attached?.close()
        const opened = yield* channel.open(ticket, peer.caller, connectionOf(peer, ticket))
        peer.ticket = ticket
        peer.attached = opened
        const event = yield* Effect.tapError(gatekeeper.attach(ticket), () => Effect.sync(opened.close))
        if (peer.browser !== undefined) yield* memory.remember(peer.browser, ticket)
        if (event !== undefined) opened.send(event)
        else run(awaitStart(gatekeeper.attach(ticket), () => peer.attached !== opened || !peers.has(peer), opened.send))
      })

    /** Registers a reconnected widget, which does not name its ticket: with the newest ticket of its browser that has no connection here. */
    const restore = (peer: Peer, browser: Browser): Effect.Effect<void> =>
      Effect.gen(function* () {
        if (peer.ticket !== undefined || peer.ws.readyState !== peer.ws.OPEN) return
        const held = new Set(yield* channel.tickets)
        for (const ticket of yield* memory.recall(browser)) {
          if (held.has(ticket)) continue
          const status = yield* Effect.option(gatekeeper.status(ticket))
          // meanwhile it may have registered itself, or closed: a closed one must not be registered, as nothing would unregister it
          if (peer.ticket !== undefined || peer.ws.readyState !== peer.ws.OPEN) return
          if (status._tag === "Some" && !isTerminal(status.value.state)) return yield* register(peer, ticket)
        }
      }).pipe(Effect.catch(() => Effect.void))

    const onInvocation = (peer: Peer, record: protocol.ClientRecord & { _tag: "invocation" }): Effect.Effect<void> => {
      const answer = (error?: string): Effect.Effect<void> =>
        Effect.sync(() => {
          if (record.id !== undefined) peer.ws.send(protocol.completion(record.id, error))
        })
      const [ticket] = record.args
      if (record.target.toLowerCase() !== "register")
        return answer(`There is no method ${JSON.stringify(record.target.slice(0, 64))}.`)
      if (typeof ticket !== "string") return answer("Register: Expected a uniqueRequestId.")
      return Effect.matchEffect(register(peer, ticket), {
        onSuccess: () => answer(),
        onFailure: (error) =>
          Effect.andThen(
            answer(error.message),
            Effect.sync(() => {
              sendFailed(peer, error.message)
              const { code, status } = toProblem(error)
              logRefusal(peer, "REGISTER", status, code)
            }),
          ),
      })
    }

    /** Handles one record. Returns a close code if the connection must be closed. */
    const handle = (peer: Peer, record: string): number | undefined => {
      if (!peer.handshakeDone) {
        const refusal = protocol.refuseHandshake(record)
        peer.ws.send(protocol.handshakeAnswer(refusal))
        if (refusal !== undefined) return 1002
        peer.handshakeDone = true
        if (peer.browser !== undefined) run(Effect.delay(restore(peer, peer.browser), REGISTER_MILLIS))
        return undefined
      }
      const message = protocol.readRecord(record)
      if (message === undefined) return 1002
      if (message._tag === "close") return 1000
      if (message._tag === "invocation") {
        peer.invocationCount++
        if (peer.invocationCount > MAX_INVOCATIONS) return 1008
        run(onInvocation(peer, message))
      }
      return undefined
    }

    /** Counts a message or ping, and closes the connection if it exceeds the limit. */
    const admits = (peer: Peer): boolean => {
      if (peer.limitExceeded) return false
      peer.messageCount++
      if (peer.messageCount <= MAX_MESSAGES) return true
      peer.limitExceeded = true
      peer.ws.close(1008, "too many messages")
      peer.ws.pause()
      logRefusal(peer, "", 0, "too_many_messages")
      return false
    }

    const onFrame = (peer: Peer, frame: string): void => {
      if (peer.limitExceeded) return
      peer.lastMessageAt = clock.currentTimeMillisUnsafe()
      for (const record of protocol.records(frame) ?? [""]) {
        if (!admits(peer)) return
        const code = handle(peer, record)
        if (code !== undefined) {
          peer.ws.close(code)
          return
        }
      }
    }

    /** Opens the WebSocket, or returns a refusal. */
    const open = (
      request: IncomingMessage,
      socket: Duplex,
      head: Buffer,
      address: string,
      browser: string | undefined,
    ): Answer | undefined => {
      if (socket.destroyed) return undefined
      const caller = limitKey(address)
      if (!connectionCounter.acquire(caller)) {
        return failed(new TooManyConnections({ message: messages.tooManyConnections }), basePath)
      }
      // the socket's close also covers a handshake that ws refuses, for which the callback is never called
      socket.once("close", () => connectionCounter.release(caller))
      server.handleUpgrade(request, socket, head, (ws) => {
        const peer: Peer = {
          ws,
          caller,
          address,
          browser: browser === undefined ? undefined : { id: browser, origin: header(request, "origin") ?? "" },
          lastMessageAt: clock.currentTimeMillisUnsafe(),
          handshakeDone: false,
          invocationCount: 0,
          messageCount: 0,
          limitExceeded: false,
          ticket: undefined,
          attached: undefined,
          starting: 0,
          draining: false,
        }
        peers.add(peer)
        ws.on("message", (data, isBinary) => {
          if (isBinary) ws.close(1003)
          else onFrame(peer, String(data))
        })
        ws.on("ping", () => admits(peer))
        ws.on("error", () => ws.terminate())
        ws.on("close", () => {
          peers.delete(peer)
          peer.attached?.close()
        })
      })
      return undefined
    }

    return {
      negotiate: (request, credentials) => {
        const token = newId()
        const version = new URL(request.url ?? "/", "http://gate").searchParams.get("negotiateVersion") === "1" ? 1 : 0
        const known = credentials ? cookieOf(request) : undefined
        const browser = known ?? tokenOf(request) ?? newId()
        const secure = header(request, "origin")?.startsWith("https:") === true
        const cookie = `${COOKIE}=${browser}; Path=/; HttpOnly; Max-Age=86400; ${secure ? "SameSite=None; Secure; Partitioned" : "SameSite=Lax"}`
        return Effect.match(memory.negotiated(token, browser), {
          onFailure: (error) => failed(error, basePath),
          onSuccess: () =>
            json(
              200,
              {
                negotiateVersion: version,
                connectionId: version === 1 ? newId() : token,
                ...(version === 1 ? { connectionToken: token } : {}),
                // a client with the cookie needs no token
                ...(known === undefined ? { accessToken: browser } : {}),
                availableTransports: [{ transport: "WebSockets", transferFormats: ["Text"] }],
              },
              "negotiated",
              credentials ? { "set-cookie": cookie } : {},
            ),
        })
      },
      upgrade: (request, socket, head, address, credentials) => {
        const id = new URL(request.url ?? "/", "http://gate").searchParams.get("id")
        const cookie = credentials ? cookieOf(request) : undefined
        // a client that skipped negotiation has no id
        if (id === null) return Effect.sync(() => open(request, socket, head, address, cookie))
        return Effect.match(memory.claim(id), {
          onFailure: (error) => failed(error, basePath),
          onSuccess: (claimed) => {
            if (claimed.state === "unknown")
              return problem(404, "connection_unknown", "id: Expected a negotiated connection.")
            if (claimed.state === "used") return problem(409, "connection_used", "id: This connection is open already.")
            return open(request, socket, head, address, claimed.browser ?? cookie)
          },
        })
      },
      drain: Effect.sync(() => {
        for (const peer of peers) if (peer.attached === undefined) sendReconnect(peer)
      }),
    }
  })
