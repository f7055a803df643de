/**
 * Sends the calls of every adapter: each in a span and measured, through the circuit breaker of its endpoint. A start is never
 * retried, because it may have been carried out. A read without a usable answer is repeated once.
 */
import { Effect, Schema } from "effect"
import type { HttpClient } from "effect/http"
import { platformRequests, recorded } from "../../lib/request-metrics.ts"
import { inSpan } from "../../lib/spans.ts"
import type { Send } from "../adapter.ts"
import type { PlatformError } from "../errors.ts"
import { type CallKind, malformed } from "./answer.ts"
import type { Circuit } from "./circuit.ts"
import { exchange } from "./transport.ts"

const isUnavailable = (error: PlatformError): boolean => error.reason._tag === "Unavailable"

const decode = <A>(kind: CallKind, data: Schema.Decoder<A>, answer: unknown): Effect.Effect<A, PlatformError> =>
  Schema.decodeUnknownEffect(data)(answer).pipe(
    // The details could quote the answer, whose URL contains a token.
    Effect.mapError(() => malformed(kind, "the platform's answer does not match its documentation")),
  )

export const makeSend =
  (client: HttpClient.HttpClient, circuit: Circuit): Send =>
  (endpoint, data, call, group) => {
    const once = exchange(client, endpoint, call).pipe(
      recorded(platformRequests[call.kind].of(endpoint.campaign)),
      inSpan("PlatformApi.request", {
        attributes: { "voicegate.campaign": endpoint.campaign, "voicegate.kind": call.kind },
      }),
      Effect.flatMap((answer) => decode(call.kind, data, answer)),
    )
    const attempts = call.kind === "read" ? Effect.retry(once, { times: 1, while: isUnavailable }) : once
    return circuit(endpoint.circuit ?? endpoint.baseUrl, group, attempts)
  }
