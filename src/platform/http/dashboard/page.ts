/** The dashboard's page at `/`: built files, with headers that restrict it to its own origin. */
import { Effect, type Layer } from "effect"
import { HttpRouter } from "effect/http"
import { makePageFiles } from "../../../serving/page-files.ts"

/** The page frames `/preview` (`preview.ts`), which lets the gate's widget use the microphone. */
const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(self)",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
}

/** @param root the output directory of Vite */
export const page = (root: string): Layer.Layer<never, never, HttpRouter.HttpRouter> =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const { asset, index } = yield* makePageFiles(root, HEADERS)
      yield* router.add("GET", "/", index)
      yield* router.add("GET", "/assets/*", asset)
    }),
  )
