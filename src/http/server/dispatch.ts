/**
 * Dispatches the requests of the gate's public listener, in steps that the end of this file lists in their order. The session request is
 * the hot path and runs here as a single effect; files, documents, negotiations and event streams have their own handlers; everything else
 * goes to the router.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Effect } from "effect"
import { tracing } from "../../gatekeeper/spans.ts"
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
import type { Arrivals } from "../incoming/Arrivals.ts"
import { bearerOf, collectBody, isJson } from "../incoming/body.ts"
import { makeBodyWarning } from "../incoming/body-warning.ts"
import type { Exchange } from "../incoming/exchange.ts"
import {
  corsHeaders,
  type OriginCheck,
  type OriginVerdict,
  type Preflight,
  type PreflightFor,
} from "../incoming/origin.ts"
import {
  AVAILABILITY_PATH,
  NEGOTIATE_PATH,
  normalise,
  RELAY_PATH,
  REQUEST_PATH,
  TICKETS_PATH,
  ticketAt,
  ticketOfEvents,
} from "../incoming/paths.ts"
import {
  inEventsSpan,
  inServerSpan,
  type ReadTrace,
  type RequestTrace,
  serverSpan,
  traceFieldsFor,
} from "../incoming/spans.ts"
import type { Push } from "../push/Push.ts"
import { SessionRequests } from "../requests/SessionRequests.ts"
import { existsBy, type TicketLimits, ticketIn } from "../requests/ticket-limits.ts"
import type { Hub } from "../signalr/Hub.ts"

export interface DispatchOptions {
  readonly arrivals: Arrivals["Service"]
  readonly limits: TicketLimits["Service"]
  readonly push: Push["Service"]
  readonly hub: Hub["Service"]
  readonly serveDocument: ServeDocument
  readonly judgeOrigin: OriginCheck
  readonly preflight: Preflight
  readonly isOwnHost: HostCheck
  /** `Security.AllowedOrigins` */
  readonly allowedOrigins: () => ReadonlyArray<string>
  readonly readTrace: ReadTrace
  /** answers every other request */
  readonly toRouter: (exchange: Exchange, request: IncomingMessage, response: ServerResponse) => void
}

export interface Dispatch {
  readonly request: (request: IncomingMessage, response: ServerResponse) => void
  /** From now on, keep-alive connections are closed with their next answer. */
  readonly closeConnections: () => void
}

/** A request on its way through the steps. */
interface Received extends Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly id: string
  readonly method: string
  readonly path: string
  readonly address: string | undefined
  readonly startedAt: number
  readonly origin: string | undefined
  readonly verdict: OriginVerdict
  /** why nothing of it is answered: a header that was sent twice, or another host's name */
  readonly refusal: Answer | undefined
  /** the headers that let its page read an answer that is written here */
  cors: RawHeaders | undefined
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
  const sessions = yield* SessionRequests
  const serveStatic = yield* makeStatic(allowedOrigins)
  const answer = yield* makeRunAnswer
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const requestSession = (yield* tracing)(
    `POST ${REQUEST_PATH}`,
    (body: string, address: string, token: string | undefined, _trace: RequestTrace | undefined) =>
      sessions.request(body, address, token),
    (_body, _address, _token, trace) => serverSpan("POST", REQUEST_PATH, trace),
  )
  const warnOfReadBody = makeBodyWarning()
  let closingConnections = false

  let lastOrigin = ""
  let lastVerdict: OriginVerdict = "none"
  let lastCors: RawHeaders = NO_HEADERS
  /** Caches the headers of the last origin: most requests come from the same one. */
  const corsOf = (origin: string | undefined, verdict: OriginVerdict): RawHeaders | undefined => {
    if (origin === undefined || (verdict !== "cross" && verdict !== "anyone")) return undefined
    if (origin !== lastOrigin || verdict !== lastVerdict) {
      lastOrigin = origin
      lastVerdict = verdict
      lastCors = rawHeaders(corsHeaders(origin, verdict))
    }
    return lastCors
  }

  const receive = (request: IncomingMessage, response: ServerResponse): Received => {
    compactBody(request)
    const trace = readTrace(request)
    const path = pathOf(request)
    const { origin, host } = request.headers
    const repeated = repeatedHeader(request.rawHeaders)
    const verdict = judgeOrigin(origin, host)
    return {
      request,
      response,
      trace,
      outcome: undefined,
      id: requestIdOf(request),
      method: request.method ?? "",
      path,
      address: addressOf(request),
      startedAt: log.now(),
      origin,
      verdict,
      refusal: repeated !== undefined ? refusals.repeatedHeader[repeated] : isOwnHost(host) ? undefined : refusals.host,
      cors: corsOf(origin, verdict),
    }
  }

  const logRequest = (
    { address, id, method, path, response, startedAt, trace }: Received,
    outcome: string,
    about?: Answer,
  ): void => {
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
      subject: about?.subject,
      trace: traceFieldsFor(trace),
    })
  }

  /** Undefined means that the connection was taken over. */
  const reply = (received: Received, result: Answer | undefined): void => {
    received.outcome = result?.outcome ?? "open"
    if (result !== undefined) write(received.response, result, received.cors, received.id)
  }

  const finishSessionRequest = (received: Received, result: Answer | undefined): void =>
    runInPhase("answer", () => {
      const { address, request, response } = received
      const ticket = result?.newTicket
      const undeliverable = ticket !== undefined && address !== undefined && isDisconnected(request, response)
      if (closingConnections && !response.headersSent) response.setHeader("connection", "close")
      const learned = ticket ?? result?.startedTicket
      if (learned !== undefined) limits.learn(learned)
      reply(received, result)
      logRequest(received, result?.outcome ?? "", result)
      // the caller will never learn this ticket
      if (undeliverable) run(sessions.withdraw(ticket, address))
    })

  /** Hot path: plain callbacks around a single effect. That is why it does not go through the router. */
  const serveSessionRequest = (received: Received) => {
    const { address, id, request, trace, verdict } = received
    const finish = (result: Answer | undefined): void => finishSessionRequest(received, result)
    if (received.refusal !== undefined) return finish(received.refusal)
    if (verdict === "foreign") return finish(refusals.origin)
    if (request.method !== "POST") return finish(refusals.postOnly)
    if (!isJson(request)) return finish(refusals.mediaType)
    if (address === undefined) return finish(refusals.noAddress)
    const token = request.headers.authorization === undefined ? undefined : bearerOf(request)
    collectBody(request, false, (body) => {
      if (typeof body !== "string") finish(body)
      else runInPhase("decide", () => answer(requestSession(body, address, token, trace), id, finish))
    })
  }

  /** From here on the answer may be written by other modules. */
  const prepare = (received: Received): void => {
    const { id, method, path, request, response } = received
    // what is posted to the router may be read there; it discards what is not
    if (method !== "POST") drainBody(request)
    if (!isQuiet(path)) {
      response.on("close", () => logRequest(received, received.outcome ?? (response.writableFinished ? "" : "aborted")))
    }
    request.headers["x-request-id"] = id
    response.setHeader("x-request-id", id)
  }

  const serveFile = (received: Received): boolean => {
    const { path, request, response } = received
    const kind = serveStatic(path, request, response)
      ? "script"
      : serveDocument(path, request, response)
        ? "document"
        : undefined
    if (kind === undefined) return false
    received.outcome = kind
    drainBody(request)
    return true
  }

  const answerPreflight = (received: Received, routedPath: string): boolean => {
    const { cors, method, origin, path, request, verdict } = received
    if (cors === undefined || origin === undefined || method !== "OPTIONS") return false
    if (header(request, "access-control-request-method") === undefined) return false
    received.cors = undefined
    const headers = preflight(origin, verdict, preflightFor(path, routedPath))
    reply(received, { status: 204, headers, body: "", outcome: "preflight" })
    return true
  }

  const negotiate = (received: Received) => {
    const { address, id, method, request, trace, verdict } = received
    if (method !== "POST") return reply(received, refusals.postOnly)
    const refusal = limits.negotiation(address)
    if (refusal !== undefined) return reply(received, refusal)
    const negotiated = hub.negotiate(request, verdict !== "anyone")
    answer(inServerSpan("POST", NEGOTIATE_PATH, trace)(negotiated), id, (result) => reply(received, result))
  }

  /** Gives the page's headers to node: from here on headers are also written by other modules. */
  const allowPage = (received: Received): void => {
    const { cors, origin = "", response, verdict } = received
    if (cors === undefined) return
    response.setHeaders(new Map(Object.entries(corsHeaders(origin, verdict))))
    received.cors = undefined
  }

  const route = (received: Received, routedPath: string) => {
    const { method, path, request, response } = received
    // the router would answer without a body
    if (!isDecodable(path)) return reply(received, refusals.notFound)
    response.setHeader("x-content-type-options", "nosniff")
    if (routedPath.startsWith("/api/") || routedPath.startsWith("/console/api/"))
      response.setHeader("cache-control", "no-store")
    // HEAD is answered like GET (RFC 9110 §9.3.2); node already knows to send no body
    if (method === "HEAD") request.method = "GET"
    toRouter(received, request, response)
  }

  const openEvents = (received: Received, ticket: string) => {
    const { address, id, response, trace } = received
    const refusal = limits.use(ticket, "events", address)
    if (refusal !== undefined) return reply(received, refusal)
    answer(inEventsSpan(trace, ticket)(push.events(response, ticket, address ?? "")), id, (result) => {
      limits.answered(ticket, address, existsBy(result))
      reply(received, result)
    })
  }

  const serveTicket = (received: Received, routedPath: string) => {
    const { address, id, method, path, response } = received
    const ticket = ticketIn(path)
    const isRead = method === "GET" || method === "HEAD"
    const refusal = limits.use(ticket, isRead ? "read" : "action", address)
    // leaving is answered alike for every ticket
    const tells = isRead || path.endsWith("/start") || path.endsWith("/silence")
    const routeTicket = (): void => {
      response.once("close", () => {
        if (received.outcome === "ticket_unknown") limits.answered(ticket, address, false)
        else if (tells && EXISTING.has(response.statusCode)) limits.answered(ticket, address, true)
      })
      route(received, routedPath)
    }
    if (refusal === undefined) return routeTicket()
    if (isRead || limits.isKnown(ticket)) return reply(received, refusal)
    // however many others ask for tickets that do not exist, a called one can be started
    answer(
      Effect.map(limits.isCalled(ticket), (called) => (called ? undefined : refusal)),
      id,
      (refused) => (refused === undefined ? routeTicket() : reply(received, refused)),
    )
  }

  const dispatch: Dispatch = {
    closeConnections: () => {
      closingConnections = true
    },
    request: (request, response) => {
      if (!admits(request, response)) return
      const received = receive(request, response)
      const { method, path, verdict } = received
      if (closingConnections) response.setHeader("connection", "close")
      if (path === REQUEST_PATH && method !== "OPTIONS") return serveSessionRequest(received)
      prepare(received)
      if (received.refusal !== undefined) return reply(received, received.refusal)
      if (serveFile(received)) return
      const routedPath = normalise(path)
      const isForPages =
        routedPath.startsWith("/api/session") || routedPath === AVAILABILITY_PATH || path === NEGOTIATE_PATH
      if (verdict === "foreign" && isForPages) return reply(received, refusals.origin)
      if (answerPreflight(received, routedPath)) return
      if (path === REQUEST_PATH) return reply(received, refusals.postOnly)
      if (path === NEGOTIATE_PATH) return negotiate(received)
      allowPage(received)
      const events = method === "GET" ? ticketOfEvents(path) : undefined
      if (events !== undefined) return openEvents(received, events)
      if (routedPath.startsWith(TICKETS_PATH)) return serveTicket(received, routedPath)
      route(received, routedPath)
    },
  }
  return dispatch
})
