/**
 * Hides the id of a session in the span of an HTTP request. Effect's client records the request's URL in its span and can redact
 * parameters of the query, but not a part of the path.
 */
import { Effect, Exit, Tracer } from "effect"
import { withoutMessage } from "../../lib/spans.ts"

/** Makes spans of the effect record this URL instead of that of the request, and no message of an error. The request is unchanged. */
export const withSpanUrl =
  (shownUrl: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(Effect.tracer, (tracer) => {
      if (tracer === Tracer.nativeTracer || !URL.canParse(shownUrl)) return effect
      const { href, pathname } = new URL(shownUrl)
      const shown = new Map<string, unknown>([
        ["url.full", href],
        ["url.path", pathname],
      ])
      const hiding = Tracer.make({
        ...tracer,
        span: (options) => {
          const span = tracer.span(options)
          const record = span.attribute.bind(span)
          const end = span.end.bind(span)
          // the tracer's own span is changed and not wrapped, since an exporter may know its spans by their class
          span.attribute = (key, value) => record(key, shown.get(key) ?? value)
          // the message of an error of the client has the URL too
          span.end = (time, exit) => end(time, Exit.mapError(exit, withoutMessage))
          return span
        },
      })
      return Effect.withTracer(effect, hiding)
    })
