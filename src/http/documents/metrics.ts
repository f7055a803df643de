/** Serves `/metrics`. The text is rendered at most once a second and cached in between, so that scraping costs little. */

import type { IncomingMessage, ServerResponse } from "node:http"
import { Clock, Context, Effect } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { ageOf } from "../../lib/age.ts"

/** How long rendered metrics are cached (ms). */
export const METRICS_MILLIS = 1_000

/** Turns the metrics of this process into those that are served, in the text format of Prometheus. */
export type MetricsSource = (local: () => string) => Effect.Effect<Effect.Effect<string>>

/** By default those of this process alone; several processes on one port serve their sum. */
export const CurrentMetricsSource: Context.Reference<MetricsSource> = Context.Reference(
  "voicegate/http/MetricsSource",
  {
    defaultValue: () => (local) => Effect.succeed(Effect.sync(local)),
  },
)

export const makeMetrics = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const context = yield* Effect.context<never>()
  const source = yield* CurrentMetricsSource
  const text = yield* source(() => PrometheusMetrics.formatUnsafe(context))
  const run = Effect.runPromiseWith(context)
  let body: Promise<Buffer> | undefined
  let writtenAt = Number.NEGATIVE_INFINITY
  return (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const now = clock.currentTimeMillisUnsafe()
    if (body === undefined || ageOf(writtenAt, now) >= METRICS_MILLIS) {
      body = run(Effect.map(text, (rendered) => Buffer.from(rendered)))
      writtenAt = now
    }
    return body.then((bytes) => {
      response.writeHead(200, {
        "content-type": "text/plain; version=0.0.4; charset=utf-8",
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "content-length": bytes.length,
      })
      response.end(request.method === "HEAD" ? undefined : bytes)
    })
  }
})
