/**
 * The gate as listeners of a node server, `request` and `upgrade`: for its own server, or for a host's server under a path.
 *
 * The session request is the hot path and runs here as a single effect; everything else goes to the router.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { NodeHttpServer } from "@effect/platform-node"
import { Cause, Clock, Context, Effect, Exit, Layer } from "effect"
import { HttpMiddleware, HttpRouter, HttpServerRequest } from "effect/http"
import { CallerNames } from "../CallerNames.ts"
import { Gatekeeper } from "../Gatekeeper.ts"
import { trustedProxies } from "../ip-intel/client-address.ts"
import type { Operator } from "../operator/Operator.ts"
import { PushChannel } from "../PushChannel.ts"
import { Settings } from "../Settings.ts"
import type { Store } from "../Store.ts"
import { makeHostCheck } from "../serving/hosts.ts"
import { admitPipelined } from "../serving/pipelining.ts"
import { tracing } from "../spans.ts"
import { runInPhase } from "../tick-phases.ts"
import { AccessLog, isQuiet, withNames } from "./access-log.ts"
import { type Answer, askedTooOften, internalError, refusals } from "./answer.ts"
import { consoleRoutes } from "./console/routes.ts"
import { makeDocuments } from "./documents.ts"
import { makeHub } from "./hub/hub.ts"
import { callerOf, collectBody, header, isJson } from "./incoming.ts"
import { localRateLimit } from "./local-rate-limit.ts"
import { corsHeaders, makeOriginCheck, type OriginVerdict, preflightHeaders } from "./origin.ts"
import {
  EVENTS_PATH,
  HUB_PATH,
  isOwnUpgrade,
  NEGOTIATE_PATH,
  normalise,
  REQUEST_PATH,
  TICKETS_PATH,
  targetOf,
} from "./paths.ts"
import { makePush } from "./push.ts"
import { makeRequestIds } from "./request-id.ts"
import { routedOutcome, routes } from "./router.ts"
import * as Routes from "./routes.ts"
import { inEventsSpan, inServerSpan, serverSpan } from "./spans.ts"
import { makeStatic } from "./static.ts"
import { isDisconnected, NO_HEADERS, type RawHeaders, rawHeaders, refuseUpgrade, write } from "./write-answer.ts"

export class Listeners extends Context.Service<
  Listeners,
  {
    readonly request: (request: IncomingMessage, response: ServerResponse) => void
    /** Answers an upgrade if it is for the gate, and returns whether it was; otherwise does not touch the socket. */
    readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => boolean
    /** Serves only the documents that `Server.Docs` and `Server.Metrics` make private. */
    readonly privateRequest: (request: IncomingMessage, response: ServerResponse) => void
    /** Logs a request or connection that was refused before it reached the listeners. */
    readonly logRefusal: (refusal: Refused) => void
    /** Turns readiness false and answers with `Connection: close`, while requests are still served. */
    readonly unready: Effect.Effect<void>
    /**
     * Shuts the gate down: readiness turns false, new sessions are refused (503 `draining`), and push connections are told to reconnect
     * elsewhere, each after the start that it requested is answered. Waits at most 7.5 s for starts in progress. The layer's
     * finalizer does it too.
     */
    readonly drain: Effect.Effect<void>
  }
>()("voicegate/http/Listeners") {}

/** A request or connection that was refused before it reached the listeners, for the access log. */
export interface Refused {
  /** absent if no request could be parsed */
  readonly request?: IncomingMessage
  /** the socket's address, if there is no request */
  readonly address?: string
  /** 0 when nothing was answered */
  readonly status: number
  readonly outcome: string
}

export interface Options {
  /** where a host has mounted the gate, such as `/voice`; empty for the gate's own server */
  readonly basePath?: string
  /** additional routes, such as the demo's page */
  readonly routes?: Layer.Layer<never, never, HttpRouter.HttpRouter>
}

/** The listeners of a gate; reads `Security.AllowedOrigins`, `Security.TrustedProxies` and `Server`. */
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
      // separate limits for status polls, actions and unknown tickets: a client that polls too often can still start
      const statusLimit = yield* localRateLimit(Security.StatusPerMinute)
      const actionLimit = yield* localRateLimit(Security.StatusPerMinute)
      const unknownTicketLimit = yield* localRateLimit(Security.StatusPerMinute)
      // limited, because each writes to the store: a token for a minute, or a browser's tickets for a day
      const negotiationLimit = yield* localRateLimit(Security.StatusPerMinute)
      const hubConnectionLimit = yield* localRateLimit(Security.StatusPerMinute)
      const isOwnHost = makeHostCheck(Server.AllowedHosts)
      const judgeOrigin = makeOriginCheck(Security.AllowedOrigins)
      const scope = yield* Effect.scope
      // its own fresh router, independent of any router in the host application
      const router = yield* HttpRouter.make
      const operators = Security.ConsoleToken === undefined ? Layer.empty : consoleRoutes
      yield* Layer.build(
        Layer.fresh(Layer.mergeAll(routes, operators, more)).pipe(
          Layer.provide(Layer.succeed(HttpRouter.HttpRouter, router)),
        ),
      )
      const requestIdOf = makeRequestIds()
      const withRequestId = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
        Effect.annotateLogs(router.asHttpEffect(), { requestId: headers["x-request-id"] }),
      )
      const toRouter = yield* NodeHttpServer.makeHandler(withRequestId, { scope }).pipe(
        Effect.provideService(HttpMiddleware.TracerDisabledWhen, () => true),
      )
      const requestSession = (yield* tracing)(`POST ${REQUEST_PATH}`, routed.request, () =>
        serverSpan("POST", REQUEST_PATH),
      )
      const run = Effect.runForkWith(yield* Effect.context<never>())

      /** Runs an effect to its answer; undefined means that the connection was taken over, as by an upgrade. */
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
        run(Effect.logError("A document could not be rendered", Cause.die(error)))
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

      /** Whether a request may be answered. Otherwise its connection is closed, because it has too many unanswered pipelined requests. */
      const admits = (request: IncomingMessage, response: ServerResponse): boolean => {
        const admission = admitPipelined(request, response)
        if (admission === "refuse") logRefusal({ request, status: 429, outcome: "too_many_pipelined" })
        return admission === "take"
      }

      /** keep-alive connections are closed with their next answer */
      let closingConnections = false
      const unready = Effect.andThen(
        routed.drain,
        Effect.sync(() => {
          closingConnections = true
        }),
      )
      const drain = Effect.all([gatekeeper.close, routed.drain, channel.drain, hub.drain], {
        concurrency: "unbounded",
        discard: true,
      })
      // registered last, so it runs before the scope closes what requests in progress depend on
      yield* Effect.addFinalizer(() => drain)

      let lastOrigin = ""
      let lastCors: RawHeaders = NO_HEADERS
      /** Caches the headers of the last origin: most requests come from the same one. */
      const corsOf = (origin: string, verdict: OriginVerdict): RawHeaders => {
        if (origin !== lastOrigin) {
          lastOrigin = origin
          lastCors = rawHeaders(corsHeaders(origin, verdict))
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

      /** Hot path: plain callbacks around a single effect. */
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
          if (typeof body === "string") runInPhase("decide", () => answer(requestSession(body, address), id, reply))
          else reply(body)
        })
      }

      /** The refusal of an address that exceeds the limit. An unknown address is refused elsewhere. */
      const rateLimited = (limit: typeof statusLimit, address: string | undefined): Answer | undefined => {
        const seconds = address === undefined ? 0 : limit.take(address, clock.currentTimeMillisUnsafe())
        return seconds === 0 ? undefined : askedTooOften(seconds)
      }
      /** Refuses addresses that have asked for too many unknown tickets. Push connections have their own limit besides. */
      const tooManyUnknownTickets = (address: string | undefined): Answer | undefined => {
        const seconds =
          address === undefined ? 0 : unknownTicketLimit.retryAfter(address, clock.currentTimeMillisUnsafe())
        return seconds === 0 ? undefined : askedTooOften(seconds)
      }
      const countUnknownTicket = (address: string | undefined, result: Answer | undefined): Answer | undefined => {
        if (result?.outcome === "ticket_unknown" && address !== undefined) {
          unknownTicketLimit.take(address, clock.currentTimeMillisUnsafe())
        }
        return result
      }

      return Listeners.of({
        logRefusal,
        privateRequest: (request, response) => {
          if (!admits(request, response)) return
          const startedAt = log.now()
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
                millis: log.now() - startedAt,
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
          const startedAt = log.now()
          const address = callerOf(request, trusted)
          if (closingConnections) response.setHeader("connection", "close")
          let cors: RawHeaders | undefined
          const logRequest = (outcome: string): void =>
            log.write({
              id,
              method,
              path,
              status: response.statusCode,
              outcome,
              address: address ?? "",
              millis: log.now() - startedAt,
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
            const finish = (result: Answer | undefined): void => {
              runInPhase("answer", () => {
                const ticket = result?.newTicket
                const undeliverable = ticket !== undefined && address !== undefined && isDisconnected(request, response)
                if (closingConnections && !response.headersSent) response.setHeader("connection", "close")
                reply(result)
                logRequest(result?.outcome ?? "")
                // the caller will never learn this ticket
                if (undeliverable) run(routed.withdraw(ticket, address))
              })
            }
            if (!ownHost) return finish(refusals.host)
            return verdict === "foreign" ? finish(refusals.origin) : sessionRequest(request, address, id, finish)
          }

          if (!isQuiet(path)) {
            response.on("close", () =>
              logRequest(outcome ?? routedOutcome(request) ?? (response.writableFinished ? "" : "aborted")),
            )
          }
          // from here on the answer may be written by other modules
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
          const routedPath = normalise(path)
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
            const refusal = rateLimited(negotiationLimit, address)
            return refusal === undefined
              ? answer(inServerSpan("POST", NEGOTIATE_PATH)(hub.negotiate(request, verdict !== "anyone")), id, reply)
              : reply(refusal)
          }
          const events = request.method === "GET" ? EVENTS_PATH.exec(path)?.[1] : undefined
          if (routedPath.startsWith(TICKETS_PATH)) {
            const isRead = method === "GET" || method === "HEAD"
            const refusal =
              events === undefined
                ? rateLimited(isRead ? statusLimit : actionLimit, address)
                : tooManyUnknownTickets(address)
            if (refusal !== undefined) return reply(refusal)
          }
          // from here on headers are also written by other modules
          if (cors !== undefined) {
            response.setHeaders(new Map(Object.entries(corsHeaders(origin ?? "", verdict))))
            cors = undefined
          }
          if (events !== undefined)
            return answer(inEventsSpan(push.events(response, events, address ?? "")), id, (result) =>
              reply(countUnknownTicket(address, result)),
            )
          response.setHeader("x-content-type-options", "nosniff")
          if (routedPath.startsWith("/api/") || routedPath.startsWith("/console/api/"))
            response.setHeader("cache-control", "no-store")
          // HEAD is answered like GET (RFC 9110 §9.3.2); node already knows to send no body
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
            const refusal =
              ticket === undefined ? rateLimited(hubConnectionLimit, address) : tooManyUnknownTickets(address)
            if (refusal !== undefined) {
              refuse(refusal)
              return true
            }
            const upgraded =
              ticket === undefined
                ? inServerSpan("GET", HUB_PATH)(hub.upgrade(request, socket, head, address, verdict !== "anyone"))
                : inEventsSpan(push.upgrade(request, socket, head, ticket, address))
            answer(upgraded, requestIdOf(request), (result) => {
              const refused = countUnknownTicket(address, result)
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
