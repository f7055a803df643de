/**
 * Spans of HTTP requests. Each begins a trace: a `traceparent` of a caller is not trusted, because anyone could fill the host's
 * traces with it. Effect's own server spans are off, because they have the path, with its ticket, and the caller's address.
 */
import { inSpan, type SpanOptions } from "../spans.ts"
import type { Answer } from "./answer.ts"

const resultOf = (answer: Answer | undefined): Readonly<Record<string, string | number>> =>
  answer === undefined
    ? { "voicegate.outcome": "open" }
    : { "http.response.status_code": answer.status, "voicegate.outcome": answer.outcome }

/** The options of a request's span; `route` is the path with its parameters' names, as in `/api/session/:id`. */
export const serverSpan = (method: string, route: string): SpanOptions<Answer | undefined> => ({
  kind: "server",
  root: true,
  attributes: { "http.request.method": method, "http.route": route },
  result: resultOf,
})

/** Runs a request in its span. */
export const inServerSpan = (method: string, route: string) => inSpan(`${method} ${route}`, serverSpan(method, route))

/** Opens a push connection in a span, which ends when it is open or refused. */
export const inEventsSpan = inServerSpan("GET", "/api/session/:id/events")
