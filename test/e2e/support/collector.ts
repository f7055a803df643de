/** A collector of OpenTelemetry traces on loopback, and the spans that it was sent. */
import { once } from "node:events"
import { createServer } from "node:http"
import { text } from "node:stream/consumers"
import { assert } from "@effect/vitest"
import { Schema } from "effect"

const { Array: List, String: Text, Struct, optional } = Schema

const Span = Struct({
  traceId: Text,
  spanId: Text,
  parentSpanId: optional(Text),
  name: Text,
  links: optional(List(Struct({ traceId: Text, spanId: Text }))),
})

/** A span as OTLP over JSON has it, in part. */
export type SentSpan = typeof Span.Type

const decode = Schema.decodeUnknownSync(
  Schema.fromJsonString(Struct({ resourceSpans: List(Struct({ scopeSpans: List(Struct({ spans: List(Span) })) })) })),
)

/** A collector that keeps what it is sent; one that hangs answers nothing. */
export const startCollector = async ({ hangs = false } = {}) => {
  const bodies: Array<string> = []
  let requests = 0
  const server = createServer(async (request, response) => {
    requests++
    bodies.push(await text(request))
    if (!hangs) response.setHeader("content-type", "application/json").end("{}")
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  assert(typeof address === "object" && address !== null)
  return {
    url: `http://127.0.0.1:${address.port}`,
    received: () => bodies.join(""),
    spans: (): ReadonlyArray<SentSpan> =>
      bodies.flatMap((body) =>
        decode(body).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
      ),
    requests: () => requests,
    dispose: async () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

export const tracedTo = (url: string) => ({
  OTEL_TRACES_EXPORTER: "otlp",
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  OTEL_BSP_SCHEDULE_DELAY: "100",
})
