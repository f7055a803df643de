/**
 * Spans of HTTP requests, and the traces to which they belong:
 *
 * - A request about a ticket continues the ticket's trace, on whichever instance it arrives (`gatekeeper/Traces.ts`).
 * - Any other request begins a trace. A caller's `traceparent` (W3C) is a link of its span and not its parent: anyone can send one, and
 *   could write into the traces of others or have every request sampled.
 * - With `Server.TraceParent` `proxies`, the `traceparent` of a request that comes straight from a trusted proxy is its parent.
 *
 * Effect's own server spans are off, because they have the path, with its ticket, and the caller's address.
 */
import type { IncomingMessage } from "node:http"
import { Effect, type Tracer } from "effect"
import { Gatekeeper } from "../../gatekeeper/Gatekeeper.ts"
import type { TraceOfTicket } from "../../gatekeeper/Traces.ts"
import { parseAddress } from "../../ip-intel/address.ts"
import { hasTracer, inSpan, type SpanOptions, type TraceFields, traceFields } from "../../lib/spans.ts"
import { spanFrom } from "../../lib/trace-context.ts"
import { currentSettings } from "../../settings/current.ts"
import type { Answer } from "../answers/answer.ts"
import { currentTrustedProxies } from "./client-address.ts"

const resultOf = (answer: Answer | undefined): Readonly<Record<string, string | number>> =>
  answer === undefined
    ? { "voicegate.outcome": "open" }
    : { "http.response.status_code": answer.status, "voicegate.outcome": answer.outcome }

/** The span that a request's `traceparent` names, and whether the request continues its trace. */
interface Sent {
  readonly span: Tracer.ExternalSpan
  readonly isTrusted: boolean
}

interface Arrival {
  readonly sent: Sent | undefined
  readonly traceOf: TraceOfTicket
  /** the request's own span, once it has begun */
  span?: Tracer.Span
}

/** The traces of requests in progress; none without a tracer. */
const arrivals = new WeakMap<IncomingMessage, Arrival>()

/** Reads the trace of a request that arrives. Without a tracer it does nothing. */
export type ReadTrace = (request: IncomingMessage) => void

/** Reads `Server.TraceParent` and `Security.TrustedProxies`. */
export const makeReadTrace = Effect.gen(function* () {
  const settings = yield* currentSettings
  const { traceOf } = yield* Gatekeeper
  const trusted = yield* currentTrustedProxies
  const sentBy = ({ headers: { traceparent }, socket }: IncomingMessage): Sent | undefined => {
    const span = typeof traceparent === "string" ? spanFrom(traceparent) : undefined
    if (span === undefined) return undefined
    const proxies = settings().Server.TraceParent === "proxies" ? trusted() : undefined
    const peer = proxies === undefined ? undefined : parseAddress(socket.remoteAddress ?? "")
    return { span, isTrusted: proxies !== undefined && peer !== undefined && proxies.has(peer) }
  }
  const read: ReadTrace = (request) => void arrivals.set(request, { sent: sentBy(request), traceOf })
  return (yield* hasTracer) ? read : () => {}
})

/** What joins the request's line of the access log to its trace; undefined where there is none. */
export const traceFieldsFor = (request: IncomingMessage): TraceFields | undefined => {
  const span = arrivals.get(request)?.span
  return span === undefined ? undefined : traceFields(span)
}

/** The options of a request's span; `route` is the path with its parameters' names, as in `/api/session/:id`. */
export const serverSpan = (
  method: string,
  route: string,
  request?: IncomingMessage,
  ticketTrace?: Tracer.ExternalSpan,
): SpanOptions<Answer | undefined> => {
  const arrival = request === undefined ? undefined : arrivals.get(request)
  const sent = arrival?.sent
  const continues = ticketTrace ?? (sent?.isTrusted === true ? sent.span : undefined)
  return {
    kind: "server",
    root: true,
    continues,
    link: sent?.span === continues ? undefined : sent?.span,
    attributes: { "http.request.method": method, "http.route": route },
    result: resultOf,
    begun:
      arrival === undefined
        ? undefined
        : (span) => {
            arrival.span = span
          },
  }
}

/** Runs a request in its span; one about a ticket in the ticket's trace. */
export const inServerSpan =
  (method: string, route: string, request?: IncomingMessage, ticket?: string) =>
  <A extends Answer | undefined, R>(answer: Effect.Effect<A, never, R>): Effect.Effect<A, never, R> => {
    const traceOf = request === undefined ? undefined : arrivals.get(request)?.traceOf
    const run = (trace?: Tracer.ExternalSpan) =>
      inSpan(`${method} ${route}`, serverSpan(method, route, request, trace))(answer)
    return traceOf === undefined || ticket === undefined ? run() : Effect.flatMap(traceOf(ticket), run)
  }

/** Opens a push connection in a span, which ends when it is open or refused. */
export const inEventsSpan = (request: IncomingMessage, ticket: string) =>
  inServerSpan("GET", "/api/session/:id/events", request, ticket)
