/**
 * `/sessionHub`: SignalR for the existing widget. It registers a ticket and waits for `SessionReady {webSocketUrl}` or
 * `SessionFailed {message}`. It has no start step, so the gate answers the start call of a ticket attached here itself.
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
import { tell } from "../failures.ts"
import { header } from "../incoming.ts"
import { type Browser, makeHubMemory } from "./memory.ts"
import * as protocol from "./protocol.ts"

/** How often the hub pings. The stock client drops a server that is silent for 30 s, and pings every 15 s itself. */
export const PING_MILLIS = 10_000
const SILENCE_MILLIS = 40_000
/** How often a start is tried again while the store is away. */
const START_RETRY_MILLIS = 500
/** How long a connection may take to register before it is taken for a reconnect of the widget, which never says. */
const REGISTER_MILLIS = 3_000
const MAX_FRAME_BYTES = 16 * 1024
const MAX_INVOCATIONS = 100
/**
 * Messages and pings that a connection may send in `PING_MILLIS`. The stock client sends two at first, then one every 15 s.
 * Beyond, it is closed with 1008 and nothing more of it is read.
 */
export const MESSAGES = 200
/** How long a client has to answer a close, in milliseconds. */
const CLOSE_MILLIS = 2_000

const SERVER_OPTIONS = {
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: MAX_FRAME_BYTES,
  closeTimeout: CLOSE_MILLIS,
}

const COOKIE = "voicegate_hub"

type StartError = Effect.Error<ReturnType<Gatekeeper["Service"]["start"]>>

/** One browser's hub connection. */
interface Peer {
  readonly ws: WebSocket
  readonly caller: string
  readonly address: string
  readonly browser: Browser | undefined
  heard: number
  shaken: boolean
  invocations: number
  /** since the hub pinged last */
  messages: number
  /** it has sent too many */
  refused: boolean
  ticket: string | undefined
  opened: Opened | undefined
  /** starts that the gate answers for it, and that are not over yet */
  starting: number
  /** it is sent elsewhere when they are */
  leaving: boolean
}

export interface Hub {
  /** `POST /sessionHub/negotiate`; `credentials` says whether the page's cookies count. */
  readonly negotiate: (request: IncomingMessage, credentials: boolean) => Effect.Effect<Answer>
  /** Answers with a refusal, or undefined when the connection is open. */
  readonly upgrade: (
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    address: string,
    credentials: boolean,
  ) => Effect.Effect<Answer | undefined>
  /** Sends connections elsewhere that have registered no ticket: the push channel does not know them. */
  readonly drain: Effect.Effect<void>
}

const cookieOf = (request: IncomingMessage): string | undefined =>
  new RegExp(`(?:^|;\\s*)${COOKIE}=([A-Za-z0-9_-]{22})(?:;|$)`).exec(header(request, "cookie") ?? "")?.[1]

/**
 * The token of an earlier negotiation. The stock client sends it with each later one of the same page (`accessToken` in
 * TransportProtocols of ASP.NET Core), so it stands for the page where cookies do not come.
 */
const tokenOf = (request: IncomingMessage): string | undefined =>
  /^Bearer ([A-Za-z0-9_-]{22})$/.exec(header(request, "authorization") ?? "")?.[1]

const newId = (): string => randomBytes(16).toString("base64url")

/** @param log where a refusal is written, with callers by the names that they may have there */
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
    /** How many of a caller's connections are open, registered or not: the push channel counts only the former. */
    const perCaller = makeConnectionCounter(CONNECTIONS_PER_CALLER)
    const server = new WebSocketServer(SERVER_OPTIONS)

    yield* Effect.sync(() => {
      const now = clock.currentTimeMillisUnsafe()
      for (const peer of peers) {
        const { heard, shaken, ws } = peer
        peer.messages = 0
        if (now - heard > SILENCE_MILLIS) ws.terminate()
        // before the handshake's answer the stock client takes nothing, and fails
        else if (shaken) ws.send(protocol.ping)
      }
    }).pipe(Effect.delay(PING_MILLIS), Effect.forever, Effect.forkScoped)

    /** `status` is 0 where nothing was answered. */
    const logRefusal = ({ address }: Peer, method: string, status: number, outcome: string): void =>
      log.write({ id: "", method, path: "/sessionHub", status, outcome, address, millis: 0 })

    const fail = (peer: Peer, message: string): void => peer.ws.send(protocol.invocation("SessionFailed", { message }))
    const ready = (peer: Peer, webSocketUrl: string): void =>
      peer.ws.send(protocol.invocation("SessionReady", { webSocketUrl }))

    /** Tells a client to connect again, which leads it to another gate. */
    const sendAway = ({ shaken, ws }: Peer): void => {
      // before the handshake's answer the stock client takes nothing, and fails
      if (shaken) ws.send(protocol.close(true))
      ws.close(1000)
    }

    /** Whether a start that failed leaves the ticket as it is: some gate answers its start call yet, or is doing it. */
    const isOpen = ({ leaving }: Peer, tag: StartError["_tag"]): boolean =>
      tag === "NotYourTurn" || tag === "Draining" || (tag === "StoreUnavailable" && leaving)

    /** The start call of a ticket that has no start step. While the store is away the turn is not over. */
    const begin = (peer: Peer, ticket: string): Effect.Effect<void> =>
      Effect.suspend(() => {
        peer.starting++
        return gatekeeper.start(ticket).pipe(
          Effect.retry({
            schedule: Schedule.spaced(START_RETRY_MILLIS),
            while: ({ _tag }) => _tag === "StoreUnavailable" && peer.ws.readyState === WebSocket.OPEN && !peer.leaving,
          }),
          Effect.match({
            onSuccess: ({ webSocketUrl }) => ready(peer, webSocketUrl),
            onFailure: ({ _tag, message }) => {
              if (!isOpen(peer, _tag)) fail(peer, message)
            },
          }),
          Effect.ensuring(
            Effect.sync(() => {
              peer.starting--
              if (peer.leaving && peer.starting === 0) sendAway(peer)
            }),
          ),
        )
      })

    const told = (peer: Peer, ticket: string, event: PushEvent): void => {
      if (event.type === "start_call") run(begin(peer, ticket))
      else if (event.type === "session") ready(peer, event.webSocketUrl)
      else if (event.type === "ended") fail(peer, event.message)
    }

    const connectionOf = (peer: Peer, ticket: string): Connection => ({
      send: (event) => told(peer, ticket, event),
      backlog: () => peer.ws.bufferedAmount,
      // the hub has a heartbeat of its own
      ping: () => true,
      close: (reason) => {
        // the widget is done with a ticket that is over, and closes by itself
        if (reason === "over") return
        if (reason === "dead") {
          peer.ws.terminate()
        } else if (reason === "replaced") {
          peer.ws.send(protocol.close(false))
          peer.ws.close(1000)
        } else if (reason === "shutdown" && peer.starting > 0) {
          // this is where the answer is waited for
          peer.leaving = true
        } else {
          sendAway(peer)
        }
      },
    })

    /** Ties a connection to a ticket, and tells it at once what it has missed. */
    const register = (peer: Peer, ticket: string) =>
      Effect.gen(function* () {
        peer.opened?.close()
        const opened = yield* channel.open(ticket, peer.caller, connectionOf(peer, ticket))
        peer.ticket = ticket
        peer.opened = opened
        const event = yield* Effect.tapError(gatekeeper.attach(ticket), () => Effect.sync(opened.close))
        if (peer.browser !== undefined) yield* memory.remember(peer.browser, ticket)
        if (event !== undefined) opened.send(event)
        else run(awaitStart(gatekeeper.attach(ticket), () => peer.opened !== opened || !peers.has(peer), opened.send))
      })

    /** A widget that came back and does not say as whom: the newest ticket of its browser that nobody here holds. */
    const restore = (peer: Peer, browser: Browser): Effect.Effect<void> =>
      Effect.gen(function* () {
        if (peer.ticket !== undefined || peer.ws.readyState !== peer.ws.OPEN) return
        const held = new Set(yield* channel.tickets)
        for (const ticket of yield* memory.recall(browser)) {
          if (held.has(ticket)) continue
          const status = yield* Effect.option(gatekeeper.status(ticket))
          // it may have registered itself meanwhile, or be gone: nothing would end a connection that is closed already
          if (peer.ticket !== undefined || peer.ws.readyState !== peer.ws.OPEN) return
          if (status._tag === "Some" && !isTerminal(status.value.state)) return yield* register(peer, ticket)
        }
      }).pipe(Effect.catch(() => Effect.void))

    const invoked = (peer: Peer, record: protocol.ClientRecord & { _tag: "invocation" }): Effect.Effect<void> => {
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
              fail(peer, error.message)
              const { code, status } = tell(error)
              logRefusal(peer, "REGISTER", status, code)
            }),
          ),
      })
    }

    /** Handles one record; the code to close with when it is not one of the protocol. */
    const handle = (peer: Peer, record: string): number | undefined => {
      if (!peer.shaken) {
        const refusal = protocol.refuseHandshake(record)
        peer.ws.send(protocol.handshakeAnswer(refusal))
        if (refusal !== undefined) return 1002
        peer.shaken = true
        if (peer.browser !== undefined) run(Effect.delay(restore(peer, peer.browser), REGISTER_MILLIS))
        return undefined
      }
      const message = protocol.readRecord(record)
      if (message === undefined) return 1002
      if (message._tag === "close") return 1000
      if (message._tag === "invocation") {
        peer.invocations++
        if (peer.invocations > MAX_INVOCATIONS) return 1008
        run(invoked(peer, message))
      }
      return undefined
    }

    /** Counts a message or a ping of a connection, and closes one that has sent too many. */
    const admits = (peer: Peer): boolean => {
      if (peer.refused) return false
      peer.messages++
      if (peer.messages <= MESSAGES) return true
      peer.refused = true
      peer.ws.close(1008, "too many messages")
      peer.ws.pause()
      logRefusal(peer, "", 0, "too_many_messages")
      return false
    }

    const heard = (peer: Peer, frame: string): void => {
      if (peer.refused) return
      peer.heard = clock.currentTimeMillisUnsafe()
      for (const record of protocol.records(frame) ?? [""]) {
        if (!admits(peer)) return
        const code = handle(peer, record)
        if (code !== undefined) {
          peer.ws.close(code)
          return
        }
      }
    }

    /** Opens it, or says why not. */
    const open = (
      request: IncomingMessage,
      socket: Duplex,
      head: Buffer,
      address: string,
      browser: string | undefined,
    ): Answer | undefined => {
      if (socket.destroyed) return undefined
      const caller = limitKey(address)
      if (!perCaller.acquire(caller)) {
        return failed(new TooManyConnections({ message: messages.tooManyConnections }), basePath)
      }
      // a handshake that ws refuses ends with the socket and never reaches the callback
      socket.once("close", () => perCaller.release(caller))
      server.handleUpgrade(request, socket, head, (ws) => {
        const peer: Peer = {
          ws,
          caller,
          address,
          browser: browser === undefined ? undefined : { id: browser, origin: header(request, "origin") ?? "" },
          heard: clock.currentTimeMillisUnsafe(),
          shaken: false,
          invocations: 0,
          messages: 0,
          refused: false,
          ticket: undefined,
          opened: undefined,
          starting: 0,
          leaving: false,
        }
        peers.add(peer)
        ws.on("message", (data, isBinary) => {
          if (isBinary) ws.close(1003)
          else heard(peer, String(data))
        })
        ws.on("ping", () => admits(peer))
        ws.on("error", () => ws.terminate())
        ws.on("close", () => {
          peers.delete(peer)
          peer.opened?.close()
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
                // whoever has the cookie needs no token
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
        // a client that skips negotiation has no id
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
        for (const peer of peers) if (peer.opened === undefined) sendAway(peer)
      }),
    }
  })
