/** The API's documentation page and its OpenAPI document, both prepared on first use. */
import { Layer } from "effect"
import { HttpRouter } from "effect/http"
import { OpenApi } from "effect/http-api"
import { answerDocument } from "../../serving/answer-document.ts"
import { renderApiPage } from "../../serving/api-page.ts"
import { type Document, lazyDocument, makeDocument } from "../../serving/documents.ts"
import { Api } from "./Api.ts"

const described = (): Promise<Document> =>
  makeDocument(Buffer.from(JSON.stringify(OpenApi.fromApi(Api))), {
    "content-type": "application/json; charset=utf-8",
    "cache-control": "no-cache",
  })

const serve = (path: "/docs" | "/openapi.json", prepare: () => Promise<Document>) =>
  HttpRouter.add("GET", path, answerDocument(lazyDocument(prepare)))

export const docs: Layer.Layer<never, never, HttpRouter.HttpRouter> = Layer.merge(
  serve("/docs", () => renderApiPage(Api, "openapi.json")),
  serve("/openapi.json", described),
)
