/** Implements the middleware with `Access`, and turns all other answers into envelopes. */
import { Cause, Context, Effect, Layer, Option, Schema } from "effect"
import { HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiMiddleware } from "effect/http-api"
import { fieldsOf } from "../../lib/form-errors.ts"
import { Access } from "../keys/Access.ts"
import type { BudgetName } from "../keys/Budgets.ts"
import {
  Authorization,
  Caller,
  CountedIn,
  CurrentBusiness,
  CurrentUser,
  FormErrors,
  NeedsBusiness,
  NeedsUnrestricted,
  NeedsUserManagement,
  OpenTo,
} from "./Authorization.ts"
import { businessPath } from "./api/shapes.ts"
import { API_CHALLENGE, DASHBOARD_CHALLENGE } from "./challenge.ts"
import { callerOf } from "./credential.ts"
import { BadRequest, failure, toFailure } from "./envelope.ts"
import { asJson, bodyKind, MEDIA_TYPE_EXPECTED } from "./media-type.ts"

const BusinessPath = Schema.Struct(businessPath)
const BUSINESS_ID_EXPECTED = "businessId: Expected 1 to 256 characters without control and invisible characters"

const authorization = Layer.effect(
  Authorization,
  Effect.gen(function* () {
    const access = yield* Access

    return Authorization.of({
      // The decoded credential is not used, because its parser accepts other forms too.
      token: Effect.fnUntraced(function* (handler, { endpoint }) {
        const budget = Option.getOrElse(Context.getOption(endpoint.annotations, CountedIn), (): BudgetName => "request")
        const caller = yield* callerOf(access, budget)
        // An endpoint that does not declare its permissions refuses every key.
        const anyOf = Option.getOrElse(Context.getOption(endpoint.annotations, OpenTo), () => [])
        yield* Effect.mapError(access.permitted(caller, anyOf), toFailure(endpoint.identifier))
        return yield* Effect.provideService(handler, Caller, caller)
      }),
    })
  }),
)

const needsBusiness = Layer.effect(
  NeedsBusiness,
  Effect.map(Access, (access) =>
    NeedsBusiness.of(
      Effect.fnUntraced(function* (handler, { endpoint }) {
        const caller = yield* Caller
        // This runs before the path is decoded for the handler.
        const { businessId } = yield* Effect.mapError(
          HttpRouter.schemaPathParams(BusinessPath),
          () => new BadRequest(failure("INVALID_FORMAT", BUSINESS_ID_EXPECTED)),
        )
        const business = yield* Effect.mapError(access.business(caller, businessId), toFailure(endpoint.identifier))
        return yield* Effect.provideService(handler, CurrentBusiness, business)
      }),
    ),
  ),
)

const needsUserManagement = Layer.effect(
  NeedsUserManagement,
  Effect.map(Access, (access) =>
    NeedsUserManagement.of(
      Effect.fnUntraced(function* (handler, { endpoint }) {
        const user = yield* Effect.mapError(access.userManagement(yield* Caller), toFailure(endpoint.identifier))
        return yield* Effect.provideService(handler, CurrentUser, user)
      }),
    ),
  ),
)

const needsUnrestricted = Layer.effect(
  NeedsUnrestricted,
  Effect.map(Access, (access) =>
    NeedsUnrestricted.of(
      Effect.fnUntraced(function* (handler, { endpoint }) {
        const user = yield* Effect.mapError(access.unrestricted(yield* Caller), toFailure(endpoint.identifier))
        return yield* Effect.provideService(handler, CurrentUser, user)
      }),
    ),
  ),
)

const formErrors = HttpApiMiddleware.layerSchemaErrorTransform(FormErrors, (error) =>
  // An answer that does not match its schema is a defect of the platform, not an error of the caller.
  error.kind === "Body" || error.kind === "ResponseHeaders"
    ? Effect.die(error)
    : Effect.fail(new BadRequest(failure("INVALID_FORMAT", fieldsOf(error)))),
)

export const middleware = Layer.mergeAll(
  authorization,
  needsBusiness,
  needsUserManagement,
  needsUnrestricted,
  formErrors,
)

const problem = (status: number, code: string, message: string) =>
  HttpServerResponse.jsonUnsafe(failure(code, message), { status })

/** Answers a defect; a request that could not be read arrives as a defect with a status. */
const answerTo = (defect: unknown) => {
  const reason = HttpServerError.isHttpServerError(defect) ? defect.reason : undefined
  if (reason?._tag !== "RequestParseError") {
    const broken = problem(500, "INTERNAL_ERROR", "internal error")
    return Effect.as(Effect.logError("A request failed", Cause.die(defect)), broken)
  }
  return Effect.succeed(
    reason.reason === "BodyTooLarge"
      ? problem(413, "BODY_TOO_LARGE", "the body is too large")
      : problem(400, "INVALID_FORMAT", "the request cannot be read"),
  )
}

const challengeOf = ({ url }: HttpServerRequest.HttpServerRequest): string =>
  url.startsWith("/api/") ? API_CHALLENGE : DASHBOARD_CHALLENGE

const notJson = problem(415, "UNSUPPORTED_MEDIA_TYPE", MEDIA_TYPE_EXPECTED)

const withSafeHeaders = (
  request: HttpServerRequest.HttpServerRequest,
  response: HttpServerResponse.HttpServerResponse,
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.setHeaders(response, {
    "cache-control": response.headers["cache-control"] ?? "no-store",
    "x-content-type-options": "nosniff",
    ...(response.status === 401 ? { "www-authenticate": challengeOf(request) } : {}),
  })

/**
 * Logs unexpected failures and answers without details; forbids caching unless an answer allows it. A 401 says how to authenticate.
 * A body is taken as JSON under every type that means it, and refused in the envelope under another.
 */
export const safeAnswers = HttpRouter.middleware(
  (handler) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
      const body = bodyKind(request.headers)
      if (body === "other") return Effect.succeed(withSafeHeaders(request, notJson))
      const read =
        body === "json" ? handler : Effect.provideService(handler, HttpServerRequest.HttpServerRequest, asJson(request))
      return Effect.map(Effect.catchDefect(read, answerTo), (response) => withSafeHeaders(request, response))
    }),
  { global: true },
)
