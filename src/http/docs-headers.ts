/** What the pages that describe an API are allowed: the script and the style that stand in them, and their own origin. */
import { Effect, type Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"

const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src 'self' data:; font-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "x-content-type-options": "nosniff",
}

/** For the routes that it is provided to. */
export const docsHeaders: Layer.Layer<never> = HttpRouter.middleware((handler) =>
  Effect.map(handler, HttpServerResponse.setHeaders(HEADERS)),
).layer
