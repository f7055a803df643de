/** Failures of the dashboard's API. `code` is for programs, `message` for the user of the page. */
import { Schema } from "effect"

const fields = { code: Schema.String, message: Schema.String }

/** A field or the request as a whole is invalid; `fields` has the problem of each field that is known to be wrong. */
export class Invalid extends Schema.TaggedError<Invalid>()(
  "Invalid",
  {
    ...fields,
    fields: Schema.optionalKey(Schema.Array(Schema.Struct({ field: Schema.String, message: Schema.String }))),
  },
  { httpApiStatus: 400 },
) {}

export class SignedOut extends Schema.TaggedError<SignedOut>()("SignedOut", {}, { httpApiStatus: 401 }) {}

/** The same failure for an unknown address and a wrong password. */
export class SignInFailed extends Schema.TaggedError<SignInFailed>()("SignInFailed", fields, { httpApiStatus: 401 }) {}

/** The request came from another site's page. */
export class Forbidden extends Schema.TaggedError<Forbidden>()("Forbidden", fields, { httpApiStatus: 403 }) {}

/** The requested entity does not exist, or is not this user's. */
export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", fields, { httpApiStatus: 404 }) {}

export class Conflict extends Schema.TaggedError<Conflict>()("Conflict", fields, { httpApiStatus: 409 }) {}

/** Too many password checks from this address, or in total, are waiting. */
export class TooManyAttempts extends Schema.TaggedError<TooManyAttempts>()(
  "TooManyAttempts",
  { ...fields, retryAfterSeconds: Schema.Int },
  { httpApiStatus: 429 },
) {}

/** The database is unavailable. */
export class Unavailable extends Schema.TaggedError<Unavailable>()("Unavailable", fields, { httpApiStatus: 503 }) {}
