/** The dashboard's page at `/`: built files, with headers that restrict it to its own origin. */
import { NodeHttpServer } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse, HttpStaticServer } from "effect/http"

const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
}

/** Files whose name contains a hash of their content never change. */
const FOREVER = { "cache-control": "public, max-age=31536000, immutable" }
const NEVER = { "cache-control": "no-cache" }

/** @param root the output directory of Vite */
export const page = (root: string): Layer.Layer<never, never, HttpRouter.HttpRouter> =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const files = yield* HttpStaticServer.make({ root })
      const answer = Effect.gen(function* () {
        const { url } = yield* HttpServerRequest.HttpServerRequest
        const response = yield* Effect.orElseSucceed(files, () => HttpServerResponse.empty({ status: 404 }))
        const kept = response.status === 200 && url.startsWith("/assets/") ? FOREVER : NEVER
        return HttpServerResponse.setHeaders(response, { ...HEADERS, ...kept })
      })
      yield* router.add("GET", "/", answer)
      yield* router.add("GET", "/assets/*", answer)
    }),
  ).pipe(Layer.orDie, Layer.provide(NodeHttpServer.layerHttpServices))
