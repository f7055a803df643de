/** Why the dashboard's API says no. `code` is for programs, `message` for the person who reads the page. */
import { Schema } from "effect"

const said = { code: Schema.String, message: Schema.String }

/** A field, or the form as a whole, is not as it must be. */
export class Invalid extends Schema.TaggedError<Invalid>()("Invalid", said, { httpApiStatus: 400 }) {}

/** Nobody is signed in, or no longer. */
export class SignedOut extends Schema.TaggedError<SignedOut>()("SignedOut", {}, { httpApiStatus: 401 }) {}

/** The same for an unknown address and a wrong password. */
export class SignInFailed extends Schema.TaggedError<SignInFailed>()("SignInFailed", said, { httpApiStatus: 401 }) {}

/** The request came from another site's page, or the user may not sign in. */
export class Forbidden extends Schema.TaggedError<Forbidden>()("Forbidden", said, { httpApiStatus: 403 }) {}

/** It does not exist, or is not this user's. */
export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", said, { httpApiStatus: 404 }) {}

/** What is there already does not allow it. */
export class Conflict extends Schema.TaggedError<Conflict>()("Conflict", said, { httpApiStatus: 409 }) {}

/** Too many passwords from this address, or from everywhere, wait to be checked. */
export class TooManyAttempts extends Schema.TaggedError<TooManyAttempts>()(
  "TooManyAttempts",
  { ...said, retryAfterSeconds: Schema.Int },
  { httpApiStatus: 429 },
) {}

/** The data cannot be reached at this moment. */
export class Unavailable extends Schema.TaggedError<Unavailable>()("Unavailable", said, { httpApiStatus: 503 }) {}
