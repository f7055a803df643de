/** Reads the key of a request, authenticates it, and counts the request in one of the key's budgets. */
import { Effect, Option } from "effect"
import { HttpEffect, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Access } from "../keys/Access.ts"
import type { BudgetName } from "../keys/Budgets.ts"
import type { Principal } from "../model.ts"
import { BadRequest, type Failure, failure, toFailure, Unauthorized } from "./envelope.ts"

/** The word Token, one space, and the key. */
const HEADER = /^Token (\S+)$/

/** A proxy may join several headers with a comma, which is in no key. `server.ts` refuses those that were sent apart. */
const isRepeated = (request: HttpServerRequest.HttpServerRequest): boolean =>
  request.headers.authorization?.includes(",") === true

const notAToken = (header: string | undefined) => {
  const hint = header?.toLowerCase().startsWith("bearer") ? ", not Bearer" : ""
  return new Unauthorized(failure("INVALID_FORMAT", `the header must be exactly: Authorization: Token <key>${hint}`))
}

const withHeaders = (headers: Readonly<Record<string, string>>) =>
  HttpEffect.appendPreResponseHandler((_request, response) =>
    Effect.succeed(HttpServerResponse.setHeaders(response, headers)),
  )

const authenticate = Effect.fnUntraced(function* (access: Access["Service"], secret: string, budget: BudgetName) {
  const { remoteAddress } = yield* HttpServerRequest.HttpServerRequest
  const caller = yield* access.authenticate(
    secret,
    Option.getOrElse(remoteAddress, () => ""),
  )
  const state = yield* access.count(caller, budget)
  if (state.resetSeconds > 0) {
    yield* withHeaders({
      "x-ratelimit-remaining": String(state.remaining),
      "x-ratelimit-reset": String(state.resetSeconds),
    })
  }
  return caller
})

/** The caller of a request, who has a valid key within its budget. */
export const callerOf = Effect.fnUntraced(function* (
  access: Access["Service"],
  budget: BudgetName,
): Effect.fn.Return<Principal, Failure, HttpServerRequest.HttpServerRequest> {
  const request = yield* HttpServerRequest.HttpServerRequest
  if (isRepeated(request)) {
    return yield* new BadRequest(
      failure("INVALID_FORMAT", "the header Authorization was sent more than once: Expected it once"),
    )
  }
  const secret = HEADER.exec(request.headers.authorization ?? "")?.[1]
  if (secret === undefined) return yield* notAToken(request.headers.authorization)
  return yield* authenticate(access, secret, budget).pipe(
    Effect.tapError((error) =>
      error._tag === "TooManyRequests"
        ? withHeaders({ "retry-after": String(error.retryAfterSeconds), "x-ratelimit-remaining": "0" })
        : Effect.void,
    ),
    Effect.mapError(toFailure()),
  )
})
