/**
 * `/sessionHub`: the SignalR hub for the existing widget, which registers a ticket and waits for `SessionReady {webSocketUrl}` or
 * `SessionFailed {message}`. The protocol has no start command, so the gate starts the session itself when the ticket is called.
 *
 * This file negotiates a connection and upgrades it to a WebSocket; `HubConnections.ts` serves it from then on.
 */
import { randomBytes } from "node:crypto"
import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { Context, Effect, Layer } from "effect"
import { WebSocketServer } from "ws"
import type { Gatekeeper } from "../../gatekeeper/Gatekeeper.ts"
import { makeHeldByNetwork } from "../../lib/held.ts"
import { limitKey, networkKey } from "../../lib/ip/address.ts"
import * as texts from "../../protocol/texts.ts"
import { CONNECTIONS_PER_CALLER } from "../../push-channel/connection-table.ts"
import { type PushChannel, TooManyConnections } from "../../push-channel/PushChannel.ts"
import { header } from "../../serving/repeated-headers.ts"
import type { Store } from "../../store/Store.ts"
import type { GateLog } from "../access-log/GateLog.ts"
import { type Answer, failed, json, problem } from "../answers/answer.ts"
import type { TicketLimits } from "../requests/ticket-limits.ts"
import * as HubConnections from "./HubConnections.ts"
import * as HubMemory from "./HubMemory.ts"
import * as Registration from "./Registration.ts"

const MAX_FRAME_BYTES = 16 * 1024
/** Limits of the fragments of a message, and of the network's chunks of a frame: each is kept as an object of some 400 bytes. */
const MAX_FRAGMENTS = 16
const MAX_CHUNKS = 64
const CLOSE_TIMEOUT_MILLIS = 2_000

const SERVER_OPTIONS = {
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: MAX_FRAME_BYTES,
  closeTimeout: CLOSE_TIMEOUT_MILLIS,
  maxFragments: MAX_FRAGMENTS,
  maxBufferedChunks: MAX_CHUNKS,
}

/** The cookie of a page over http. Other hosts of the same domain can set one of this name. */
const COOKIE = "voicegate_hub"
/** Of a page over https: browsers let nobody but this host set a cookie of this name (RFC 6265bis §4.1.3.2). */
const HOST_COOKIE = `__Host-${COOKIE}`

const isSecure = (request: IncomingMessage): boolean => header(request, "origin")?.startsWith("https:") === true

export class Hub extends Context.Service<
  Hub,
  {
    /** `POST /sessionHub/negotiate`; `credentials` is whether the page's cookies are trusted. */
    readonly negotiate: (request: IncomingMessage, credentials: boolean) => Effect.Effect<Answer>
    /** Returns a refusal, or undefined if the connection is open. */
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
>()("voicegate/http/Hub") {}

const cookieOf = (request: IncomingMessage): string | undefined =>
  new RegExp(`(?:^|;\\s*)${isSecure(request) ? HOST_COOKIE : COOKIE}=([A-Za-z0-9_-]{22})(?:;|$)`).exec(
    header(request, "cookie") ?? "",
  )?.[1]

/**
 * The access token of an earlier negotiation. The stock client sends it with each later negotiation of the same page (`accessToken`
 * in TransportProtocols of ASP.NET Core), so it identifies the page if cookies are blocked.
 */
const tokenOf = (request: IncomingMessage): string | undefined =>
  /^Bearer ([A-Za-z0-9_-]{22})$/.exec(header(request, "authorization") ?? "")?.[1]

const newId = (): string => randomBytes(16).toString("base64url")

export const layer: Layer.Layer<Hub, never, GateLog | Gatekeeper | PushChannel | Store | TicketLimits> = Layer.effect(
  Hub,
  Effect.gen(function* () {
    const memory = yield* HubMemory.HubMemory
    const connections = yield* HubConnections.HubConnections
    /** Counts all open connections of a caller and of a network; the push channel counts only registered ones. */
    const openConnections = makeHeldByNetwork(CONNECTIONS_PER_CALLER)
    const server = new WebSocketServer(SERVER_OPTIONS)

    const open = (
      request: IncomingMessage,
      socket: Duplex,
      head: Buffer,
      address: string,
      browser: string | undefined,
    ): Answer | undefined => {
      if (socket.destroyed) return undefined
      const caller = limitKey(address)
      const network = networkKey(address)
      if (!openConnections.acquire(caller, network)) {
        return failed(new TooManyConnections({ message: texts.tooManyConnections }))
      }
      // the socket's close also covers a handshake that ws refuses, for which the callback is never called
      socket.once("close", () => openConnections.release(caller, network))
      server.handleUpgrade(request, socket, head, (ws) => {
        connections.accept(ws, {
          caller,
          address,
          browser: browser === undefined ? undefined : { id: browser, origin: header(request, "origin") ?? "" },
        })
      })
      return undefined
    }

    return Hub.of({
      negotiate: (request, credentials) => {
        const token = newId()
        const version = new URL(request.url ?? "/", "http://gate").searchParams.get("negotiateVersion") === "1" ? 1 : 0
        const named = credentials ? cookieOf(request) : undefined
        const given = named ?? tokenOf(request)
        const secure = isSecure(request)
        return Effect.gen(function* () {
          const isIssued = given !== undefined && (yield* memory.isIssued(given))
          const browser = isIssued ? given : newId()
          const cookie = `${secure ? HOST_COOKIE : COOKIE}=${browser}; Path=/; HttpOnly; Max-Age=86400; ${secure ? "SameSite=None; Secure; Partitioned" : "SameSite=Lax"}`
          yield* Effect.all([memory.negotiated(token, browser), isIssued ? Effect.void : memory.issue(browser)], {
            concurrency: 2,
            discard: true,
          })
          return json(
            200,
            {
              negotiateVersion: version,
              connectionId: version === 1 ? newId() : token,
              ...(version === 1 ? { connectionToken: token } : {}),
              // a client with the cookie needs no token
              ...(named === browser ? {} : { accessToken: browser }),
              availableTransports: [{ transport: "WebSockets", transferFormats: ["Text"] }],
            },
            "negotiated",
            credentials ? { "set-cookie": cookie } : {},
          )
        }).pipe(Effect.catch((error) => Effect.succeed(failed(error))))
      },
      upgrade: (request, socket, head, address, credentials) => {
        const id = new URL(request.url ?? "/", "http://gate").searchParams.get("id")
        const cookie = credentials ? cookieOf(request) : undefined
        // a client that skipped negotiation has no id, and may have a cookie of an earlier one
        if (id === null) {
          const browser =
            cookie === undefined
              ? Effect.undefined
              : Effect.map(memory.isIssued(cookie), (issued) => (issued ? cookie : undefined))
          return Effect.match(browser, {
            onFailure: (error) => failed(error),
            onSuccess: (browser) => open(request, socket, head, address, browser),
          })
        }
        return Effect.match(memory.claim(id), {
          onFailure: (error) => failed(error),
          onSuccess: (claimed) => {
            if (claimed.state === "unknown")
              return problem(404, "connection_unknown", "id: Expected a negotiated connection.")
            if (claimed.state === "used") return problem(409, "connection_used", "id: This connection is open already.")
            return open(request, socket, head, address, claimed.browser)
          },
        })
      },
      drain: connections.drain,
    })
  }),
).pipe(Layer.provide(HubConnections.layer), Layer.provide(Registration.layer), Layer.provide(HubMemory.layer))
