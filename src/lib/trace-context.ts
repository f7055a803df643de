/**
 * The context of a trace as text (W3C `traceparent`, https://www.w3.org/TR/trace-context/#traceparent-header), as it comes with a request
 * and as it is stored with a ticket.
 */
import { Option, type Tracer } from "effect"
import { Headers, HttpTraceContext } from "effect/http"

/** Undefined for a malformed `traceparent`. */
export const spanFrom = (traceparent: string): Tracer.ExternalSpan | undefined =>
  Option.getOrUndefined(HttpTraceContext.w3c(Headers.fromRecordUnsafe({ traceparent })))

/** 55 bytes. */
export const traceparentOf = ({ sampled, spanId, traceId }: Tracer.AnySpan): string =>
  `00-${traceId.padStart(32, "0")}-${spanId}-${sampled ? "01" : "00"}`
