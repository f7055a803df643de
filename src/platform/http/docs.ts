/** The API's documentation page and its OpenAPI document, both prepared on first use. */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { OpenApi } from "effect/http-api"
import { renderApiPage } from "../../serving/api-page.ts"
import { answerWith, type Document, lazyDocument, makeDocument } from "../../serving/documents.ts"
import { Api } from "./Api.ts"

const described = (): Promise<Document> =>
  makeDocument(Buffer.from(JSON.stringify(OpenApi.fromApi(Api))), {
    "content-type": "application/json; charset=utf-8",
    "cache-control": "no-cache",
  })

const serve = (path: "/docs" | "/openapi.json", prepare: () => Promise<Document>) => {
  const prepared = lazyDocument(prepare)
  return HttpRouter.add(
    "GET",
    path,
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const document = yield* Effect.promise(async () => prepared())
      const { body, headers } = answerWith(
        { "accept-encoding": request.headers["accept-encoding"], "if-none-match": request.headers["if-none-match"] },
        document,
      )
      return body === undefined
        ? HttpServerResponse.empty({ status: 304, headers })
        : HttpServerResponse.uint8Array(body, { headers, contentType: headers["content-type"] ?? "" })
    }),
  )
}

export const docs: Layer.Layer<never, never, HttpRouter.HttpRouter> = Layer.merge(
  serve("/docs", () => renderApiPage(Api)),
  serve("/openapi.json", described),
)
