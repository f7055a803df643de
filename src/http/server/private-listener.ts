/** The listener of `Server.PrivatePort`: serves only the documents that `Server.Docs` and `Server.Metrics` make private. */
import type { IncomingMessage, ServerResponse } from "node:http"
import { drainBody } from "../../serving/compact-body.ts"
import { isQuiet } from "../access-log/access-log.ts"
import { refusals } from "../answers/answer.ts"
import { write } from "../answers/write-answer.ts"
import type { ServeDocument } from "../documents/documents.ts"
import type { Arrivals } from "../incoming/Arrivals.ts"

export const makePrivateListener =
  ({ addressOf, admits, log, pathOf, requestIdOf }: Arrivals["Service"], serve: ServeDocument) =>
  (request: IncomingMessage, response: ServerResponse): void => {
    if (!admits(request, response)) return
    drainBody(request)
    const startedAt = log.now()
    const path = pathOf(request)
    const id = requestIdOf(request)
    response.setHeader("x-request-id", id)
    if (!isQuiet(path)) {
      response.on("close", () =>
        log.write({
          id,
          method: request.method ?? "",
          path,
          status: response.statusCode,
          outcome: "private",
          address: addressOf(request) ?? "",
          millis: log.now() - startedAt,
        }),
      )
    }
    if (!serve(path, request, response)) write(response, refusals.notFound)
  }
