/** How the handlers of endpoints answer: each answer also says its outcome, for the access log and the request's span. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { type Refused, refusal, succeeded } from "../../protocol/endpoint-answers.ts"
import type { ProblemDetails } from "../../protocol/problems.ts"
import { CurrentExchange } from "../incoming/exchange.ts"
import type { Answer } from "./answer.ts"

const noting = <A>(outcome: string, value: () => A): Effect.Effect<A> =>
  Effect.map(CurrentExchange, (exchange) => {
    exchange.outcome = outcome
    return value()
  })

/** Succeeds with a body that the endpoint's schema encodes. */
export const answered = <A>(outcome: string, body: A, headers: Readonly<Record<string, string>> = {}) =>
  noting(outcome, () => succeeded(body, headers))

/** Fails with a problem that the endpoint declares, and whose schema encodes it. */
export const refuse = <Code extends string>(problem: ProblemDetails<Code>): Effect.Effect<never, Refused<Code>> =>
  Effect.flatMap(
    noting(problem.code, () => refusal(problem)),
    Effect.fail,
  )

/** Sends an answer that was made before any endpoint was asked, such as for a body that cannot be read. */
export const respond = ({
  body,
  headers,
  outcome,
  status,
}: Answer): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
  noting(outcome, () =>
    status === 204
      ? HttpServerResponse.empty({ status, headers })
      : HttpServerResponse.text(body, { status, headers, contentType: headers["content-type"] ?? "application/json" }),
  )
