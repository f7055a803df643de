/**
 * The envelope of every answer of the platform's API: `{success, code, message, data}`. Failures also have the matching HTTP
 * status.
 */
import { Effect, Schema } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import type { DatabaseUnavailable } from "../data/Database.ts"
import type { TooManyRequests } from "../keys/Access.ts"
import type { ConcurrencyLimitReached, Refused } from "../model.ts"

export const success = <S extends Schema.Constraint>(data: S) =>
  Schema.Struct({ success: Schema.Literal(true), code: Schema.Null, message: Schema.Null, data })

export const wrap = <A>(data: A) => ({ success: true, code: null, message: null, data }) as const

const fields = {
  success: Schema.Literal(false),
  /** nested with colons; the last segment is the reason */
  code: Schema.String,
  message: Schema.String,
  data: Schema.Null,
}

export class BadRequest extends Schema.Error<BadRequest>("platform/BadRequest")(fields, { httpApiStatus: 400 }) {}
export class Unauthorized extends Schema.Error<Unauthorized>("platform/Unauthorized")(fields, { httpApiStatus: 401 }) {}
export class Forbidden extends Schema.Error<Forbidden>("platform/Forbidden")(fields, { httpApiStatus: 403 }) {}
export class NotFound extends Schema.Error<NotFound>("platform/NotFound")(fields, { httpApiStatus: 404 }) {}
export class Conflict extends Schema.Error<Conflict>("platform/Conflict")(fields, { httpApiStatus: 409 }) {}
export class TooMany extends Schema.Error<TooMany>("platform/TooMany")(fields, { httpApiStatus: 429 }) {}
export class Unavailable extends Schema.Error<Unavailable>("platform/Unavailable")(fields, { httpApiStatus: 503 }) {}

export const Failures = [BadRequest, Unauthorized, Forbidden, NotFound, Conflict, TooMany, Unavailable] as const
export type Failure = BadRequest | Unauthorized | Forbidden | NotFound | Conflict | TooMany | Unavailable

const STATUS = [
  [BadRequest, 400],
  [Unauthorized, 401],
  [Forbidden, 403],
  [NotFound, 404],
  [Conflict, 409],
  [TooMany, 429],
] as const

/** The HTTP status of a failure, for an answer that no endpoint makes. */
export const statusOf = (failed: Failure): number => STATUS.find(([kind]) => failed instanceof kind)?.[1] ?? 503

export const failure = (code: string, message: string) => ({ success: false, code, message, data: null }) as const

const refusal = {
  invalid: BadRequest,
  unauthenticated: Unauthorized,
  forbidden: Forbidden,
  not_found: NotFound,
  conflict: Conflict,
}

/** Converts a failure of the services to one of an endpoint; `operation` becomes the outer segment of its code. */
export const toFailure =
  (operation?: string) =>
  (error: Refused | TooManyRequests | ConcurrencyLimitReached | DatabaseUnavailable): Failure => {
    const within = (code: string, message: string) =>
      failure(operation === undefined ? code : `${operation}:${code}`, message)
    switch (error._tag) {
      case "Refused":
        return new refusal[error.kind](within(error.code, error.message))
      case "TooManyRequests":
        return new TooMany(within(error.code, error.message))
      case "ConcurrencyLimitReached":
        return new TooMany(
          within("CONCURRENCY_LIMIT_REACHED", `all ${error.limit} concurrent calls of this account are in use`),
        )
      case "DatabaseUnavailable":
        return error.why === "value"
          ? new BadRequest(within("VALUE_NOT_ACCEPTED", error.message))
          : new Unavailable(within("SERVICE_UNAVAILABLE", error.message))
    }
  }

/** Wraps a handler's result and failures; the endpoint's identifier becomes the outer segment of the codes. */
export const respond = <A, E extends Parameters<ReturnType<typeof toFailure>>[0], R>(
  endpoint: HttpApiEndpoint.Top,
  effect: Effect.Effect<A, E, R>,
) => effect.pipe(Effect.map(wrap), Effect.mapError(toFailure(endpoint.identifier)))
