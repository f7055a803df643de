/**
 * Serves `/docs` and the pages below it, of which `/docs/api` is the API reference, `/openapi.json`, `/console/openapi.json` if there is a console, and `/metrics`. `Server.Docs` and
 * `Server.Metrics` say on which port. Documents are rendered once, on the first request.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Effect } from "effect"
import { OpenApi } from "effect/http-api"
import { isLoopback } from "../../lib/ip/loopback.ts"
import { ConsoleApi } from "../../operator/Api.ts"
import { renderApiPage } from "../../serving/api-page.ts"
import { type Document, isDocumentRequest, lazyDocument, makeDocument, sendDocument } from "../../serving/documents.ts"
import { Settings } from "../../settings/Settings.ts"
import { Documented } from "../Api.ts"
import { refusals } from "../answers/answer.ts"
import { write } from "../answers/write-answer.ts"
import { isForwarded } from "../incoming/body.ts"
import { acceptsHtml, docPages, redirectToDocs, sendUnknownPage } from "./doc-pages.ts"
import { makeMetrics } from "./metrics.ts"

/** Answers a request if it is for one of these documents, and returns whether it was. */
export type ServeDocument = (path: string, request: IncomingMessage, response: ServerResponse) => boolean

const openApi = (document: OpenApi.OpenAPISpec): Promise<Document> =>
  makeDocument(Buffer.from(JSON.stringify(document)), {
    "content-type": "application/json; charset=utf-8",
    "cache-control": "no-cache",
    "x-content-type-options": "nosniff",
  })

/** The documents of the public and of the private port. `onError` answers if a document could not be rendered. */
export const makeDocuments = (
  onError: (response: ServerResponse, error: unknown) => void,
): Effect.Effect<{ readonly public: ServeDocument; readonly private: ServeDocument }, never, Settings> =>
  Effect.gen(function* () {
    const { Security, Server } = yield* Settings
    const prepared =
      (document: () => Document | Promise<Document>) => (request: IncomingMessage, response: ServerResponse) => {
        const ready = document()
        if (ready instanceof Promise) {
          ready.then(
            (document) => sendDocument(request, response, document),
            (error) => onError(response, error),
          )
        } else {
          sendDocument(request, response, ready)
        }
      }
    const docs = prepared(lazyDocument(() => renderApiPage(Documented, "../openapi.json")))
    const description = prepared(lazyDocument(() => openApi(OpenApi.fromApi(Documented))))
    const consoleDescription = prepared(lazyDocument(() => openApi(OpenApi.fromApi(ConsoleApi))))
    const { pages, unknown } = yield* docPages
    const documentation = [
      ["/docs/api", docs],
      // without a build the reference is all there is
      ["/docs", docs],
      ["/openapi.json", description],
      ...(Security.ConsoleToken.length === 0 ? [] : [["/console/openapi.json", consoleDescription] as const]),
      ["/docs/", redirectToDocs],
      ...[...pages].map(([path, read]) => [path, prepared(lazyDocument(read))] as const),
    ] as const
    const serveMetrics = yield* makeMetrics
    const metrics = (request: IncomingMessage, response: ServerResponse): void => {
      serveMetrics(request, response).catch((error) => onError(response, error))
    }
    const localMetrics = (request: IncomingMessage, response: ServerResponse): void => {
      if (isLoopback(request.socket.remoteAddress) && !isForwarded(request)) metrics(request, response)
      else write(response, refusals.metricsAreLocal)
    }
    const at = (place: "public" | "private"): ServeDocument => {
      const served = new Map(Server.Docs === place ? documentation : [])
      if (Server.Metrics === place) served.set("/metrics", metrics)
      if (Server.Metrics === "local" && place === "public") served.set("/metrics", localMetrics)
      return (path, request, response) => {
        const serve = served.get(path)
        if (!isDocumentRequest(request)) return false
        if (serve === undefined) {
          if (Server.Docs !== place || !path.startsWith("/docs/") || !acceptsHtml(request)) return false
          if (unknown === undefined) return false
          sendUnknownPage(path, unknown, request, response)
          return true
        }
        serve(request, response)
        return true
      }
    }
    return { public: at("public"), private: at("private") }
  })
