/**
 * Handlers of the middleware: proves the key, and turns whatever is not an envelope yet into one.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiMiddleware } from "effect/http-api"
import { Accounts, type Denied } from "../Accounts.ts"
import { Authorization, Caller, FormErrors } from "./Authorization.ts"
import { BadRequest, Forbidden, failure, NotFound, Unauthorized } from "./envelope.ts"

/** Exactly the word Token, one space, and the key. */
const HEADER = /^Token (\S+)$/

export const authorization = Layer.effect(
  Authorization,
  Effect.gen(function* () {
    const accounts = yield* Accounts
    return Authorization.of({
      // The decoded credential is not used: its parser takes more than the one form that is allowed.
      token: Effect.fnUntraced(function* (handler) {
        const { headers } = yield* HttpServerRequest.HttpServerRequest
        const secret = HEADER.exec(headers.authorization ?? "")?.[1]
        if (secret === undefined) return yield* notAToken(headers.authorization)
        const caller = yield* accounts
          .authenticate(secret)
          .pipe(
            Effect.mapError(({ kind, code, message }) =>
              kind === "forbidden" ? new Forbidden(failure(code, message)) : new Unauthorized(failure(code, message)),
            ),
          )
        return yield* Effect.provideService(handler, Caller, caller)
      }),
    })
  }),
)

const notAToken = (header: string | undefined) => {
  const hint = header?.toLowerCase().startsWith("bearer") ? ", not Bearer" : ""
  return new Unauthorized(failure("INVALID_FORMAT", `the header must be exactly: Authorization: Token <key>${hint}`))
}

export const formErrors = HttpApiMiddleware.layerSchemaErrorTransform(FormErrors, (error) =>
  // An answer that does not fit its own schema is our defect, not the caller's.
  error.kind === "Body" || error.kind === "ResponseHeaders"
    ? Effect.die(error)
    : Effect.fail(
        new BadRequest(failure("INVALID_FORMAT", `the ${error.kind.toLowerCase()} is not of the documented form`)),
      ),
)

/** A refusal of the accounts as the failure of an endpoint; `operation` is the outer segment of its code. */
export const toFailure =
  (operation: string) =>
  ({ kind, code, message }: Denied): Forbidden | NotFound =>
    kind === "not_found"
      ? new NotFound(failure(`${operation}:${code}`, message))
      : new Forbidden(failure(`${operation}:${code}`, message))

/** Paths below the API that it does not have. */
export const unknownRoutes = HttpRouter.add(
  "*",
  "/api/v1/*",
  HttpServerResponse.jsonUnsafe(failure("ROUTE_NOT_FOUND", "the API has no such endpoint"), { status: 404 }),
)
