/**
 * Dispatches the requests of the gate's public listener. The session request is the hot path and runs here as a single effect; the
 * scripts, the documents, negotiations and event streams have their own handlers; everything else goes to the router.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Effect } from "effect"
import { tracing } from "../../lib/spans.ts"
import { runInPhase } from "../../lib/tick-phases.ts"
import { compactBody, drainBody } from "../../serving/compact-body.ts"
import type { HostCheck } from "../../serving/hosts.ts"
import { header, repeatedHeader } from "../../serving/repeated-headers.ts"
import { isQuiet } from "../access-log/access-log.ts"
import { type Answer, refusals } from "../answers/answer.ts"
import { makeRunAnswer } from "../answers/run-answer.ts"
import { isDisconnected, NO_HEADERS, type RawHeaders, rawHeaders, write } from "../answers/write-answer.ts"
import type { ServeDocument } from "../documents/documents.ts"
import { makeStatic } from "../documents/widget-files.ts"
import type { Arrivals } from "../incoming/arrivals.ts"
import { collectBody, isJson } from "../incoming/body.ts"
import { makeBodyWarning } from "../incoming/body-warning.ts"
import {
  corsHeaders,
  type OriginCheck,
  type OriginVerdict,
  type Preflight,
  type PreflightFor,
} from "../incoming/origin.ts"
import {
  EVENTS_PATH,
  NEGOTIATE_PATH,
  normalise,
  RELAY_PATH,
  REQUEST_PATH,
  TICKETS_PATH,
  ticketAt,
} from "../incoming/paths.ts"
import { inEventsSpan, inServerSpan, type ReadTrace, serverSpan, traceFieldsFor } from "../incoming/spans.ts"
import type { Push } from "../push/push.ts"
import * as Routes from "../requests/routes.ts"
import { existsBy, type TicketLimits, ticketIn } from "../requests/ticket-limits.ts"
import type { Hub } from "../signalr/hub.ts"
import { routedOutcome } from "./router.ts"

export interface DispatchOptions {
  readonly arrivals: Arrivals
  readonly limits: TicketLimits["Service"]
  readonly push: Push
  readonly hub: Hub
  readonly serveDocument: ServeDocument
  readonly judgeOrigin: OriginCheck
  readonly preflight: Preflight
  readonly isOwnHost: HostCheck
  /** `Security.AllowedOrigins` */
  readonly allowedOrigins: () => ReadonlyArray<string>
  readonly readTrace: ReadTrace
  /** answers every other request */
  readonly toRouter: (request: IncomingMessage, response: ServerResponse) => void
}

export interface Dispatch {
  readonly request: (request: IncomingMessage, response: ServerResponse) => void
  /** From now on, keep-alive connections are closed with their next answer. */
  readonly closeConnections: () => void
}

/** The statuses of answers about a ticket that exists: it started, it is not its turn, it is over. */
const EXISTING: ReadonlySet<number> = new Set([200, 409, 410])

/** Whether every percent-encoding of a path is of a character. */
const isDecodable = (path: string): boolean => {
  if (!path.includes("%")) return true
  try {
    decodeURI(path)
    return true
  } catch {
    return false
  }
}

const preflightFor = (path: string, routedPath: string): PreflightFor => {
  if (path === NEGOTIATE_PATH) return "negotiation"
  if (RELAY_PATH.test(path)) return "relay"
  return routedPath.startsWith("/api/session") ? "session" : "other"
}

export const makeDispatch = Effect.fnUntraced(function* ({
  allowedOrigins,
  arrivals: { addressOf, admits, log, pathOf, requestIdOf },
  hub,
  isOwnHost,
  judgeOrigin,
  limits,
  preflight,
  push,
  readTrace,
  serveDocument,
  toRouter,
}: DispatchOptions) {
  const routed = yield* Routes.Routes
  const serveStatic = yield* makeStatic(allowedOrigins)
  const answer = yield* makeRunAnswer
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const requestSession = (yield* tracing)(
    `POST ${REQUEST_PATH}`,
    (body: string, address: string, _request: IncomingMessage) => routed.request(body, address),
    (_body, _address, request) => serverSpan("POST", REQUEST_PATH, request),
  )
  const warnOfReadBody = makeBodyWarning()
  let closingConnections = false

  let lastOrigin = ""
  let lastVerdict: OriginVerdict = "none"
  let lastCors: RawHeaders = NO_HEADERS
  /** Caches the headers of the last origin: most requests come from the same one. */
  const corsOf = (origin: string, verdict: OriginVerdict): RawHeaders => {
    if (origin !== lastOrigin || verdict !== lastVerdict) {
      lastOrigin = origin
      lastVerdict = verdict
      lastCors = rawHeaders(corsHeaders(origin, verdict))
    }
    return lastCors
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
      if (typeof body === "string")
        runInPhase("decide", () => answer(requestSession(body, address, request), id, reply))
      else reply(body)
    })
  }

  const dispatch: Dispatch = {
    closeConnections: () => {
      closingConnections = true
    },
    request: (request, response) => {
      if (!admits(request, response)) return
      compactBody(request)
      readTrace(request)
      const path = pathOf(request)
      const { method = "" } = request
      const id = requestIdOf(request)
      const startedAt = log.now()
      const address = addressOf(request)
      if (closingConnections) response.setHeader("connection", "close")
      let cors: RawHeaders | undefined
      const logRequest = (outcome: string, about?: Answer): void => {
        if (outcome === refusals.bodyTaken.outcome) run(warnOfReadBody)
        log.write({
          id,
          method,
          path,
          status: response.statusCode,
          outcome,
          address: address ?? "",
          millis: log.now() - startedAt,
          ticket: about === undefined ? ticketAt(path) : about.ticket,
          campaign: about?.campaign,
          trace: traceFieldsFor(request),
        })
      }
      let outcome: string | undefined
      const reply = (result: Answer | undefined): void => {
        outcome = result?.outcome ?? "open"
        if (result !== undefined) write(response, result, cors, id)
      }

      const origin = request.headers.origin
      const repeated = repeatedHeader(request.rawHeaders)
      const refused =
        repeated !== undefined
          ? refusals.repeatedHeader[repeated]
          : isOwnHost(request.headers.host)
            ? undefined
            : refusals.host
      const verdict = judgeOrigin(origin, request.headers.host)
      if ((verdict === "cross" || verdict === "anyone") && origin !== undefined) cors = corsOf(origin, verdict)

      if (path === REQUEST_PATH && method !== "OPTIONS") {
        const finish = (result: Answer | undefined): void => {
          runInPhase("answer", () => {
            const ticket = result?.newTicket
            const undeliverable = ticket !== undefined && address !== undefined && isDisconnected(request, response)
            if (closingConnections && !response.headersSent) response.setHeader("connection", "close")
            const learned = ticket ?? result?.startedTicket
            if (learned !== undefined) limits.learn(learned)
            reply(result)
            logRequest(result?.outcome ?? "", result)
            // the caller will never learn this ticket
            if (undeliverable) run(routed.withdraw(ticket, address))
          })
        }
        if (refused !== undefined) return finish(refused)
        if (verdict === "foreign") return finish(refusals.origin)
        return sessionRequest(request, address, id, finish)
      }

      // what is posted to the router may be read there; it discards what is not
      if (method !== "POST") drainBody(request)
      if (!isQuiet(path)) {
        response.on("close", () =>
          logRequest(outcome ?? routedOutcome(request) ?? (response.writableFinished ? "" : "aborted")),
        )
      }
      // from here on the answer may be written by other modules
      request.headers["x-request-id"] = id
      response.setHeader("x-request-id", id)
      if (refused !== undefined) return reply(refused)
      if (serveStatic(path, request, response)) {
        outcome = "script"
        drainBody(request)
        return
      }
      if (serveDocument(path, request, response)) {
        outcome = "document"
        drainBody(request)
        return
      }
      const routedPath = normalise(path)
      const isSession = routedPath.startsWith("/api/session")
      if (verdict === "foreign" && (isSession || path === NEGOTIATE_PATH)) return reply(refusals.origin)
      if (cors !== undefined && origin !== undefined) {
        if (request.method === "OPTIONS" && header(request, "access-control-request-method") !== undefined) {
          cors = undefined
          return reply({
            status: 204,
            headers: preflight(origin, verdict, preflightFor(path, routedPath)),
            body: "",
            outcome: "preflight",
          })
        }
      }

      if (path === REQUEST_PATH) return reply(refusals.postOnly)
      if (path === NEGOTIATE_PATH) {
        if (request.method !== "POST") return reply(refusals.postOnly)
        const refusal = limits.negotiation(address)
        return refusal === undefined
          ? answer(
              inServerSpan("POST", NEGOTIATE_PATH, request)(hub.negotiate(request, verdict !== "anyone")),
              id,
              reply,
            )
          : reply(refusal)
      }
      const events = request.method === "GET" ? EVENTS_PATH.exec(path)?.[1] : undefined
      // from here on headers are also written by other modules
      if (cors !== undefined) {
        response.setHeaders(new Map(Object.entries(corsHeaders(origin ?? "", verdict))))
        cors = undefined
      }
      const route = (): void => {
        if (!isDecodable(path)) {
          // the router would answer without a body
          reply(refusals.notFound)
          return
        }
        response.setHeader("x-content-type-options", "nosniff")
        if (routedPath.startsWith("/api/") || routedPath.startsWith("/console/api/"))
          response.setHeader("cache-control", "no-store")
        // HEAD is answered like GET (RFC 9110 §9.3.2); node already knows to send no body
        if (method === "HEAD") request.method = "GET"
        toRouter(request, response)
      }
      if (!routedPath.startsWith(TICKETS_PATH)) return route()
      const ticket = events ?? ticketIn(path)
      const isRead = method === "GET" || method === "HEAD"
      const refusal = limits.use(ticket, events === undefined ? (isRead ? "read" : "action") : "events", address)
      if (events !== undefined) {
        if (refusal !== undefined) return reply(refusal)
        return answer(inEventsSpan(request, events)(push.events(response, events, address ?? "")), id, (result) => {
          limits.answered(ticket, address, existsBy(result))
          reply(result)
        })
      }
      // leaving is answered alike for every ticket
      const tells = isRead || path.endsWith("/start") || path.endsWith("/silence")
      const routeTicket = (): void => {
        response.once("close", () => {
          if (routedOutcome(request) === "ticket_unknown") limits.answered(ticket, address, false)
          else if (tells && EXISTING.has(response.statusCode)) limits.answered(ticket, address, true)
        })
        route()
      }
      if (refusal === undefined) return routeTicket()
      if (isRead || limits.isKnown(ticket)) return reply(refusal)
      // however many others ask for tickets that do not exist, a called one can be started
      answer(
        Effect.map(limits.isCalled(ticket), (called) => (called ? undefined : refusal)),
        id,
        (refused) => (refused === undefined ? routeTicket() : reply(refused)),
      )
    },
  }
  return dispatch
})
