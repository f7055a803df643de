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
import { inSpan } from "../../gatekeeper/spans.ts"
import type { TraceOfTicket } from "../../gatekeeper/Traces.ts"
import { parseAddress } from "../../lib/ip/address.ts"
import { hasTracer, type SpanOptions, type TraceFields, traceFields } from "../../lib/spans.ts"
import { spanFrom } from "../../lib/trace-context.ts"
import { currentSettings } from "../../settings/current.ts"
import type { Answer } from "../answers/answer.ts"
import { currentTrustedProxies } from "./client-address.ts"

const resultOf = (answer: Answered): Readonly<Record<string, string | number>> =>
  answer === undefined
    ? { "voicegate.outcome": "open" }
    : { "http.response.status_code": answer.status, "voicegate.outcome": answer.outcome }

/** The span that a request's `traceparent` names, and whether the request continues its trace. */
interface Sent {
  readonly span: Tracer.ExternalSpan
  readonly isTrusted: boolean
}

/** The trace of a request in progress. It travels with the request, from its arrival to its line in the access log. */
export interface RequestTrace {
  readonly sent: Sent | undefined
  readonly traceOf: TraceOfTicket
  /** the request's own span, once it has begun */
  span?: Tracer.Span
}

/** Undefined without a tracer. */
export type ReadTrace = (request: IncomingMessage) => RequestTrace | undefined

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
  const read: ReadTrace = (request) => ({ sent: sentBy(request), traceOf })
  return (yield* hasTracer) ? read : () => undefined
})

/** What joins the request's line of the access log to its trace; undefined where there is none. */
export const traceFieldsFor = (trace: RequestTrace | undefined): TraceFields | undefined =>
  trace?.span === undefined ? undefined : traceFields(trace.span)

/** What a span says of an answer. */
type Answered = Pick<Answer, "status" | "outcome"> | undefined

/** The options of a request's span; `route` is the path with its parameters' names, as in `/api/session/:id`. */
export const serverSpan = (
  method: string,
  route: string,
  trace: RequestTrace | undefined,
  ticketTrace?: Tracer.ExternalSpan,
): SpanOptions<Answered> => {
  const sent = trace?.sent
  const continues = ticketTrace ?? (sent?.isTrusted === true ? sent.span : undefined)
  return {
    kind: "server",
    root: true,
    continues,
    link: sent?.span === continues ? undefined : sent?.span,
    attributes: { "http.request.method": method, "http.route": route },
    result: resultOf,
    begun:
      trace === undefined
        ? undefined
        : (span) => {
            trace.span = span
          },
  }
}

/** Runs a request in its span; one about a ticket in the ticket's trace. */
export const inServerSpan =
  (method: string, route: string, trace: RequestTrace | undefined, ticket?: string) =>
  <A extends Answered, E, R>(answer: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
    const run = (ticketTrace?: Tracer.ExternalSpan) =>
      inSpan(`${method} ${route}`, serverSpan(method, route, trace, ticketTrace))(answer)
    return trace === undefined || ticket === undefined ? run() : Effect.flatMap(trace.traceOf(ticket), run)
  }

/** Opens a push connection in a span, which ends when it is open or refused. */
export const inEventsSpan = (trace: RequestTrace | undefined, ticket: string) =>
  inServerSpan("GET", "/api/session/:id/events", trace, ticket)
