/** The page that describes the API: it may run the script that stands in it, and reach its own origin, and nothing else. */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApiScalar } from "effect/http-api"
import { Api } from "./Api.ts"

const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src 'self' data:; font-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
}

export const docs: Layer.Layer<never, never, HttpRouter.HttpRouter> = HttpApiScalar.layer(Api, {
  path: "/docs",
  // they would come from elsewhere
  scalar: { withDefaultFonts: false },
}).pipe(
  Layer.provide(HttpRouter.middleware((handler) => Effect.map(handler, HttpServerResponse.setHeaders(HEADERS))).layer),
)
