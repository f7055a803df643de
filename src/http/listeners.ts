/**
 * The gate as two listeners of a node server, `request` and `upgrade`: for its own server, or for a host's under a path.
 *
 * The one hot route is answered here at the price of one effect; everything else goes to the router.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { NodeHttpServer } from "@effect/platform-node"
import { Cause, Clock, Context, Effect, Exit, Layer } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { CallerNames } from "../CallerNames.ts"
import { Gatekeeper } from "../Gatekeeper.ts"
import { trustedProxies } from "../ip-intel/client-address.ts"
import type { Operator } from "../operator/Operator.ts"
import { PushChannel } from "../PushChannel.ts"
import { Settings } from "../Settings.ts"
import type { Store } from "../Store.ts"
import { makeHostCheck } from "../serving/hosts.ts"
import { admitPipelined } from "../serving/pipelining.ts"
import { atEndOfTurn } from "../turn.ts"
import { AccessLog, isQuiet, withNames } from "./access-log.ts"
import { type Answer, askedTooOften, internalError, refusals } from "./answer.ts"
import { askLimit } from "./ask-limit.ts"
import { consoleRoutes } from "./console/routes.ts"
import { makeDocuments } from "./documents.ts"
import { makeHub } from "./hub/hub.ts"
import { callerOf, collectBody, header, isJson } from "./incoming.ts"
import { corsHeaders, makeOriginCheck, type OriginVerdict, preflightHeaders } from "./origin.ts"
import { makePush } from "./push.ts"
import { makeRequestIds } from "./request-id.ts"
import { routedOutcome, routes } from "./router.ts"
import * as Routes from "./routes.ts"
import { makeStatic } from "./static.ts"

export class Listeners extends Context.Service<
  Listeners,
  {
    readonly request: (request: IncomingMessage, response: ServerResponse) => void
    /** Answers an upgrade that is for the gate, and says whether it did; any other is left as it is. */
    readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => boolean
    /** Answers what `Server.Docs` and `Server.Metrics` call private, and nothing else. */
    readonly privateRequest: (request: IncomingMessage, response: ServerResponse) => void
    /** Writes a line to the access log for what was refused before it came here. */
    readonly logRefusal: (refusal: Refused) => void
    /** Makes readiness say no, while everything is still served. Whoever keeps a connection is told to open another one. */
    readonly unready: Effect.Effect<void>
    /**
     * Says that the gate is going away: readiness turns false, nothing more is started (503 `draining`), and open channels are told to
     * come back elsewhere, each when the start that it has asked for is answered. Waits until all that is being started is over, for
     * 7.5 s at most. Done by the end of the layer's scope too.
     */
    readonly drain: Effect.Effect<void>
  }
>()("voicegate/http/Listeners") {}

/** Something that was refused before it reached the listeners, for the access log. */
export interface Refused {
  /** of what could be read as a request */
  readonly request?: IncomingMessage
  /** the socket's, where there is no request that tells more */
  readonly address?: string
  /** 0 when nothing was answered */
  readonly status: number
  readonly outcome: string
}

const EVENTS_PATH = /^\/api\/session\/([^/]+)\/events$/
const REQUEST_PATH = "/api/session/request"
const TICKETS_PATH = "/api/session/"
const HUB_PATH = "/sessionHub"
const NEGOTIATE_PATH = "/sessionHub/negotiate"

/** A request's path and query; a proxy's absolute form (RFC 9112 §3.2.2) means the same as the path alone. */
const targetOf = ({ url = "/" }: IncomingMessage): string =>
  url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?]*/i, "") || "/"

/** A path in the plainest of the ways to write it that the router takes for one: encoded or large letters, slashes twice. */
const plain = (path: string): string =>
  /%|\/\/|[A-Z]/.test(path)
    ? path
        .replace(/%[0-9a-f]{2}/gi, (byte) => String.fromCharCode(Number.parseInt(byte.slice(1), 16)))
        .replace(/\/+/g, "/")
        .toLowerCase()
    : path

/** Headers as node writes them fastest: names and values in turn. */
type RawHeaders = ReadonlyArray<string>

const raw = (headers: Readonly<Record<string, string>>): RawHeaders => Object.entries(headers).flat()

const NO_HEADERS: RawHeaders = []

/** Answers a request, unless it was answered already; `id` is the request's, which the answer names when it is not set yet. */
export const write = (response: ServerResponse, answer: Answer, more: RawHeaders = NO_HEADERS, id = ""): void => {
  if (response.headersSent || response.destroyed) return
  const { body, headers, status } = answer
  const all = ["cache-control", "no-store", "x-content-type-options", "nosniff", ...more]
  for (const name in headers) all.push(name, headers[name] ?? "")
  if (id !== "" && !response.hasHeader("x-request-id")) all.push("x-request-id", id)
  if (status !== 204) all.push("content-length", String(Buffer.byteLength(body)))
  response.writeHead(status, all)
  response.end(body)
}

/**
 * Whether nothing that is written reaches the client any more: its end of the connection was closed, and node saw it. A client
 * or proxy that closes after the answer was written has read it, for all that is known here.
 */
const isGone = (request: IncomingMessage, response: ServerResponse): boolean =>
  response.destroyed || request.socket?.writable === false

/**
 * Whether an upgrade is for the gate: everything below the path where it is mounted; at the root its WebSockets alone, since
 * a host may have others beside them.
 */
export const isOwnUpgrade = (basePath: string, request: IncomingMessage): boolean => {
  const [path = "/"] = targetOf(request).split("?", 1)
  return basePath === ""
    ? EVENTS_PATH.test(path) || path === HUB_PATH
    : path === basePath || path.startsWith(`${basePath}/`)
}

/** Refuses an upgrade as an ordinary answer on the raw socket; a client that stays would hold it for ever otherwise. */
const writeRaw = (socket: Duplex, answer: Answer): void => {
  const headers = { ...answer.headers, "content-length": String(Buffer.byteLength(answer.body)), connection: "close" }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.once("finish", () => socket.destroy())
  socket.end(`HTTP/1.1 ${answer.status} Refused\r\n${lines.join("")}\r\n${answer.body}`)
}

/** Answers an upgrade that nobody takes, which would stay open for ever. */
export const refuseUpgrade = (socket: Duplex, answer: Answer = refusals.upgradeRequired): void => {
  socket.on("error", () => socket.destroy())
  writeRaw(socket, answer)
}

export interface Options {
  /** where a host has mounted the gate, such as `/voice`; empty when it stands alone */
  readonly basePath?: string
  /** further routes beside the gate's own, such as the demo's page */
  readonly routes?: Layer.Layer<never, never, HttpRouter.HttpRouter>
}

/** The listeners over a gate; reads `Security.AllowedOrigins`, `Security.TrustedProxies` and `Server`. */
export const layer = ({
  basePath = "",
  routes: more = Layer.empty,
}: Options = {}): Layer.Layer<Listeners, never, Gatekeeper | Operator | PushChannel | Settings | Store> =>
  Layer.effect(
    Listeners,
    Effect.gen(function* () {
      const { Security, Server } = yield* Settings
      const gatekeeper = yield* Gatekeeper
      const channel = yield* PushChannel
      const routed = yield* Routes.Routes
      const names = yield* CallerNames
      const log = withNames(yield* AccessLog, names)
      const push = yield* makePush(basePath)
      const hub = yield* makeHub(basePath, log)
      const serveStatic = yield* makeStatic
      const trusted = trustedProxies(Security.TrustedProxies)
      const clock = yield* Clock.Clock
      // looking, acting and guessing are counted apart: whoever looks too often can still start
      const looks = yield* askLimit(Security.StatusPerMinute)
      const acts = yield* askLimit(Security.StatusPerMinute)
      const guesses = yield* askLimit(Security.StatusPerMinute)
      // each leaves something in the store: a token for a minute, or a browser's tickets for a day
      const negotiations = yield* askLimit(Security.StatusPerMinute)
      const hubConnections = yield* askLimit(Security.StatusPerMinute)
      const isOwnHost = makeHostCheck(Server.AllowedHosts)
      const judgeOrigin = makeOriginCheck(Security.AllowedOrigins)
      const scope = yield* Effect.scope
      // a router of its own, built anew, whatever routers there are in the application around it
      const router = yield* HttpRouter.make
      const operators = Security.ConsoleToken === undefined ? Layer.empty : consoleRoutes
      yield* Layer.build(
        Layer.fresh(Layer.mergeAll(routes, operators, more)).pipe(
          Layer.provide(Layer.succeed(HttpRouter.HttpRouter, router)),
        ),
      )
      const requestIdOf = makeRequestIds()
      const named = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
        Effect.annotateLogs(router.asHttpEffect(), { requestId: headers["x-request-id"] }),
      )
      const toRouter = yield* NodeHttpServer.makeHandler(named, { scope })
      const run = Effect.runForkWith(yield* Effect.context<never>())

      /** Runs an effect to its answer; an answer of undefined means that somebody else has taken the connection. */
      const answer = (
        effect: Effect.Effect<Answer | undefined>,
        requestId: string,
        reply: (answer: Answer | undefined) => void,
      ): void => {
        run(effect).addObserver((exit) => {
          if (Exit.isSuccess(exit)) return reply(exit.value)
          if (!Cause.hasInterruptsOnly(exit.cause)) {
            run(Effect.annotateLogs(Effect.logError("A request failed", exit.cause), { requestId }))
          }
          reply(internalError)
        })
      }

      const documents = yield* makeDocuments((response, error) => {
        run(Effect.logError("A document could not be prepared", Cause.die(error)))
        write(response, internalError)
      })

      const logRefusal = ({ address = "", outcome, request, status }: Refused): void =>
        log.write({
          id: request === undefined ? "" : requestIdOf(request),
          method: request?.method ?? "",
          path: request === undefined ? "" : pathOf(request),
          status,
          outcome,
          address: (request === undefined ? undefined : callerOf(request, trusted)) ?? address,
          millis: 0,
        })

      /** Whether a request may be answered; else its connection is closed, since too many stand on it unanswered. */
      const admits = (request: IncomingMessage, response: ServerResponse): boolean => {
        const admission = admitPipelined(request, response)
        if (admission === "refuse") logRefusal({ request, status: 429, outcome: "too_many_pipelined" })
        return admission === "take"
      }

      /** kept connections are to be closed with their next answer */
      let leaving = false
      const unready = Effect.andThen(
        routed.drain,
        Effect.sync(() => {
          leaving = true
        }),
      )
      const drain = Effect.all([gatekeeper.close, routed.drain, channel.drain, hub.drain], {
        concurrency: "unbounded",
        discard: true,
      })
      // before the scope ends what its requests wait for
      yield* Effect.addFinalizer(() => drain)

      let lastOrigin = ""
      let lastCors: RawHeaders = NO_HEADERS
      /** A site's pages come from one origin, so the last one's headers are most often the next one's. */
      const corsOf = (origin: string, verdict: OriginVerdict): RawHeaders => {
        if (origin !== lastOrigin) {
          lastOrigin = origin
          lastCors = raw(corsHeaders(origin, verdict))
        }
        return lastCors
      }

      const pathOf = (request: IncomingMessage): string => {
        const url = targetOf(request)
        request.url = url
        if (basePath !== "" && (url === basePath || url.startsWith(`${basePath}/`))) {
          request.url = url.slice(basePath.length) || "/"
        }
        return (request.url ?? "/").split("?", 1)[0] ?? "/"
      }

      /** The hot route: plain callbacks around the one effect that decides. */
      const sessionRequest = (
        request: IncomingMessage,
        address: string | undefined,
        id: string,
        reply: (answer: Answer | undefined) => void,
      ) => {
        if (request.method !== "POST") return reply(refusals.postOnly)
        if (!isJson(request)) return reply(refusals.mediaType)
        if (address === undefined) return reply(refusals.noAddress)
        collectBody(request, false, (body) => {
          if (typeof body === "string") atEndOfTurn("decide", () => answer(routed.request(body, address), id, reply))
          else reply(body)
        })
      }

      /** The refusal of an address that asks too often; one that is not known has other problems. */
      const tooOften = (limit: typeof looks, address: string | undefined): Answer | undefined => {
        const seconds = address === undefined ? 0 : limit.ask(address, clock.currentTimeMillisUnsafe())
        return seconds === 0 ? undefined : askedTooOften(seconds)
      }
      /** An open channel is bounded otherwise; here those are refused who asked for too many tickets that there are not. */
      const tooManyGuesses = (address: string | undefined): Answer | undefined => {
        const seconds = address === undefined ? 0 : guesses.wait(address, clock.currentTimeMillisUnsafe())
        return seconds === 0 ? undefined : askedTooOften(seconds)
      }
      const guessed = (address: string | undefined, result: Answer | undefined): Answer | undefined => {
        if (result?.outcome === "ticket_unknown" && address !== undefined) {
          guesses.ask(address, clock.currentTimeMillisUnsafe())
        }
        return result
      }

      return Listeners.of({
        logRefusal,
        privateRequest: (request, response) => {
          if (!admits(request, response)) return
          const began = log.now()
          const path = pathOf(request)
          const id = requestIdOf(request)
          response.setHeader("x-request-id", id)
          if (!isQuiet(path)) {
            response.on("close", () =>
              log.write({
                id,
                method: request.method ?? "",
                path,
                status: response.statusCode,
                outcome: "private",
                address: callerOf(request, trusted) ?? "",
                millis: log.now() - began,
              }),
            )
          }
          if (!documents.private(path, request, response)) write(response, refusals.notFound)
        },
        request: (request, response) => {
          if (!admits(request, response)) return
          const path = pathOf(request)
          const { method = "" } = request
          const id = requestIdOf(request)
          const began = log.now()
          const address = callerOf(request, trusted)
          if (leaving) response.setHeader("connection", "close")
          let cors: RawHeaders | undefined
          const written = (outcome: string): void =>
            log.write({
              id,
              method,
              path,
              status: response.statusCode,
              outcome,
              address: address ?? "",
              millis: log.now() - began,
            })
          let outcome: string | undefined
          const reply = (result: Answer | undefined): void => {
            outcome = result?.outcome ?? "open"
            if (result !== undefined) write(response, result, cors, id)
          }

          const origin = request.headers.origin
          const ownHost = isOwnHost(request.headers.host)
          const verdict = judgeOrigin(origin, request.headers.host)
          if ((verdict === "cross" || verdict === "anyone") && origin !== undefined) cors = corsOf(origin, verdict)

          if (path === REQUEST_PATH && request.method !== "OPTIONS") {
            const last = (result: Answer | undefined): void => {
              atEndOfTurn("answer", () => {
                const ticket = result?.newTicket
                const lost = ticket !== undefined && address !== undefined && isGone(request, response)
                if (leaving && !response.headersSent) response.setHeader("connection", "close")
                reply(result)
                written(result?.outcome ?? "")
                // nobody would ever come for it
                if (lost) run(routed.withdraw(ticket, address))
              })
            }
            if (!ownHost) return last(refusals.host)
            return verdict === "foreign" ? last(refusals.origin) : sessionRequest(request, address, id, last)
          }

          if (!isQuiet(path)) {
            response.on("close", () =>
              written(outcome ?? routedOutcome(request) ?? (response.writableFinished ? "" : "aborted")),
            )
          }
          // others may write the headers from here on
          request.headers["x-request-id"] = id
          response.setHeader("x-request-id", id)
          if (!ownHost) return reply(refusals.host)
          if (serveStatic(path, request, response)) {
            outcome = "script"
            return
          }
          if (documents.public(path, request, response)) {
            outcome = "document"
            return
          }
          const routedPath = plain(path)
          if (verdict === "foreign" && (routedPath.startsWith("/api/session") || path === NEGOTIATE_PATH))
            return reply(refusals.origin)
          if (cors !== undefined && origin !== undefined) {
            if (request.method === "OPTIONS" && header(request, "access-control-request-method") !== undefined) {
              cors = undefined
              return reply({
                status: 204,
                headers: preflightHeaders(origin, verdict, path === NEGOTIATE_PATH),
                body: "",
                outcome: "preflight",
              })
            }
          }

          if (path === REQUEST_PATH) return reply(refusals.postOnly)
          if (path === NEGOTIATE_PATH) {
            if (request.method !== "POST") return reply(refusals.postOnly)
            const refusal = tooOften(negotiations, address)
            return refusal === undefined
              ? answer(hub.negotiate(request, verdict !== "anyone"), id, reply)
              : reply(refusal)
          }
          const events = request.method === "GET" ? EVENTS_PATH.exec(path)?.[1] : undefined
          if (routedPath.startsWith(TICKETS_PATH)) {
            const looking = method === "GET" || method === "HEAD"
            const refusal = events === undefined ? tooOften(looking ? looks : acts, address) : tooManyGuesses(address)
            if (refusal !== undefined) return reply(refusal)
          }
          // from here on others write the headers too
          if (cors !== undefined) {
            response.setHeaders(new Map(Object.entries(corsHeaders(origin ?? "", verdict))))
            cors = undefined
          }
          if (events !== undefined)
            return answer(push.events(response, events, address ?? ""), id, (result) => reply(guessed(address, result)))
          response.setHeader("x-content-type-options", "nosniff")
          if (routedPath.startsWith("/api/") || routedPath.startsWith("/console/api/"))
            response.setHeader("cache-control", "no-store")
          // as RFC 9110 §9.3.2 wants it; node has noted already that no body follows
          if (method === "HEAD") request.method = "GET"
          toRouter(request, response)
        },
        upgrade: (request, socket, head) => {
          if (!isOwnUpgrade(basePath, request)) return false
          const path = pathOf(request)
          const address = callerOf(request, trusted) ?? ""
          const ticket = EVENTS_PATH.exec(path)?.[1]
          const refuse = (refusal: Answer): void => {
            refuseUpgrade(socket, refusal)
            logRefusal({ request, status: refusal.status, outcome: refusal.outcome })
          }
          const verdict = judgeOrigin(request.headers.origin, request.headers.host)
          if (!isOwnHost(request.headers.host)) {
            refuse(refusals.host)
          } else if (ticket === undefined && path !== HUB_PATH) {
            refuse(refusals.upgradeRequired)
          } else if (verdict === "foreign") {
            refuse(refusals.origin)
          } else {
            socket.on("error", () => socket.destroy())
            const refusal = ticket === undefined ? tooOften(hubConnections, address) : tooManyGuesses(address)
            if (refusal !== undefined) {
              refuse(refusal)
              return true
            }
            const upgraded =
              ticket === undefined
                ? hub.upgrade(request, socket, head, address, verdict !== "anyone")
                : push.upgrade(request, socket, head, ticket, address)
            answer(upgraded, requestIdOf(request), (result) => {
              const refused = guessed(address, result)
              if (refused !== undefined) refuse(refused)
            })
          }
          return true
        },
        unready,
        drain,
      })
    }),
  ).pipe(Layer.provide([Routes.layer(basePath), CallerNames.layer]))
