/**
 * What every answer of the platform's API is wrapped in: `{success, code, message, data}`. Failures carry the HTTP status
 * that says the same.
 */
import { Schema } from "effect"

/** The envelope of a success. */
export const success = <S extends Schema.Constraint>(data: S) =>
  Schema.Struct({ success: Schema.Literal(true), code: Schema.Null, message: Schema.Null, data })

/** Wraps what a handler answers. */
export const wrap = <A>(data: A) => ({ success: true, code: null, message: null, data }) as const

const fields = {
  success: Schema.Literal(false),
  /** nests with colons; the last segment is the reason */
  code: Schema.String,
  message: Schema.String,
  data: Schema.Null,
}

export class BadRequest extends Schema.Error<BadRequest>("platform/BadRequest")(fields, { httpApiStatus: 400 }) {}
export class Unauthorized extends Schema.Error<Unauthorized>("platform/Unauthorized")(fields, { httpApiStatus: 401 }) {}
export class Forbidden extends Schema.Error<Forbidden>("platform/Forbidden")(fields, { httpApiStatus: 403 }) {}
export class NotFound extends Schema.Error<NotFound>("platform/NotFound")(fields, { httpApiStatus: 404 }) {}
export class AtCapacity extends Schema.Error<AtCapacity>("platform/AtCapacity")(fields, { httpApiStatus: 429 }) {}

/** The fields of a failure. */
export const failure = (code: string, message: string) => ({ success: false, code, message, data: null }) as const
