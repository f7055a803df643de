/** Answers a request of a router with a document: compressed where the client accepts it, 304 where it has it already. */
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { answerWith, type Document } from "./documents.ts"

/** @param prepare the document, such as a `lazyDocument` */
export const answerDocument = Effect.fnUntraced(function* (prepare: () => Document | Promise<Document>) {
  const { headers: requested } = yield* HttpServerRequest.HttpServerRequest
  const document = yield* Effect.promise(async () => prepare())
  const { body, headers } = answerWith(
    { "accept-encoding": requested["accept-encoding"], "if-none-match": requested["if-none-match"] },
    document,
  )
  return body === undefined
    ? HttpServerResponse.empty({ status: 304, headers })
    : HttpServerResponse.uint8Array(body, { headers, contentType: headers["content-type"] ?? "" })
})
