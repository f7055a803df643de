/**
 * What the gate says of itself: `/docs` with the pages below it, `/openapi.json` and `/metrics`, at the places that `Server.Docs` and
 * `Server.Metrics` name. Documents are prepared once, when somebody asks; metrics are written at most once a second, for all who ask
 * meanwhile.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Clock, Effect } from "effect"
import { OpenApi } from "effect/http-api"
import { PrometheusMetrics } from "effect/observability"
import { Settings } from "../Settings.ts"
import { renderApiPage } from "../serving/api-page.ts"
import { type Document, isDocumentRequest, lazyDocument, makeDocument, sendDocument } from "../serving/documents.ts"
import { Documented } from "./Api.ts"
import { docPages } from "./doc-pages.ts"

/** How long one text of metrics is given to all who ask, in milliseconds. */
export const METRICS_MILLIS = 1_000

/** Answers a request for a document that is served at this place, and says whether it was one. */
export type ServeDocument = (path: string, request: IncomingMessage, response: ServerResponse) => boolean

const openApi = (): Promise<Document> =>
  makeDocument(Buffer.from(JSON.stringify(OpenApi.fromApi(Documented))), {
    "content-type": "application/json; charset=utf-8",
    "cache-control": "no-cache",
    "x-content-type-options": "nosniff",
  })

/** One text of the process's metrics for a second. */
const makeMetrics = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const context = yield* Effect.context<never>()
  let body = Buffer.alloc(0)
  let writtenAt = Number.NEGATIVE_INFINITY
  return (request: IncomingMessage, response: ServerResponse): void => {
    const now = clock.currentTimeMillisUnsafe()
    if (now - writtenAt >= METRICS_MILLIS) {
      body = Buffer.from(PrometheusMetrics.formatUnsafe(context))
      writtenAt = now
    }
    response.writeHead(200, {
      "content-type": "text/plain; version=0.0.4; charset=utf-8",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "content-length": body.length,
    })
    response.end(request.method === "HEAD" ? undefined : body)
  }
})

/** What is served publicly, and what on the private port. `failed` answers where a document could not be prepared. */
export const makeDocuments = (
  failed: (response: ServerResponse, error: unknown) => void,
): Effect.Effect<{ readonly public: ServeDocument; readonly private: ServeDocument }, never, Settings> =>
  Effect.gen(function* () {
    const { Server } = yield* Settings
    const prepared =
      (document: () => Document | Promise<Document>) => (request: IncomingMessage, response: ServerResponse) => {
        const ready = document()
        if (ready instanceof Promise) {
          ready.then(
            (document) => sendDocument(request, response, document),
            (error) => failed(response, error),
          )
        } else {
          sendDocument(request, response, ready)
        }
      }
    const docs = prepared(lazyDocument(() => renderApiPage(Documented)))
    const description = prepared(lazyDocument(openApi))
    const pages = Server.Docs === "off" ? [] : [...(yield* docPages)]
    const documentation = [
      ["/docs", docs],
      ["/openapi.json", description],
      ...pages.map(([path, read]) => [path, prepared(lazyDocument(read))] as const),
    ] as const
    const metrics = yield* makeMetrics
    const at = (place: "public" | "private"): ServeDocument => {
      const served = new Map(Server.Docs === place ? documentation : [])
      if (Server.Metrics === place) served.set("/metrics", metrics)
      return (path, request, response) => {
        const serve = served.get(path)
        if (serve === undefined || !isDocumentRequest(request)) return false
        serve(request, response)
        return true
      }
    }
    return { public: at("public"), private: at("private") }
  })
