/**
 * Answers every request within a bound, whatever it waits for: connections, locks, any number of statements, password checks. Exempt are
 * a session's WebSocket, which carries a call's audio for as long as the call lasts, and a body that still arrives, which the server's own
 * time limit for requests ends (`http/server.ts`).
 */
import { IncomingMessage } from "node:http"
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { bounded } from "../data/bounded.ts"
import { failure } from "./envelope.ts"

/** The longest time until a request is answered, in milliseconds. Longer than a right password may wait for its check (20 s). */
export const REQUEST_MILLIS = 25_000
/** How often a body that still arrives is looked at again, and how long is left after it (ms). */
const ARRIVAL_MILLIS = 2_000

const HEADERS = { "cache-control": "no-store", "retry-after": "5", "x-content-type-options": "nosniff" }

export const withinBound =
  (millis: number) =>
  <E, R>(
    handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  ): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R | HttpServerRequest.HttpServerRequest> =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers, method, source, url }) => {
      if (headers.upgrade?.toLowerCase() === "websocket") return handler
      let arriving = source instanceof IncomingMessage && !source.complete
      const longer = (): number => {
        if (!arriving) return 0
        arriving = source instanceof IncomingMessage && !source.complete && !source.destroyed
        return ARRIVAL_MILLIS
      }
      const late = Effect.as(
        Effect.logWarning(`${method} ${url.split("?")[0]} was not answered within ${millis / 1000} s.`),
        HttpServerResponse.jsonUnsafe(
          failure("SERVICE_UNAVAILABLE", `the request was not answered within ${millis / 1000} s and was given up`),
          { status: 503, headers: HEADERS },
        ),
      )
      return bounded(millis, () => late, longer)(handler)
    })
