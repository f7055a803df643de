/** The operator's console below `/console`: its page, which loads only its own files, and its endpoints, which need the token. */
import { join } from "node:path"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Context, Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import type { CallerNames } from "../../caller-names/CallerNames.ts"
import { ConsoleApi } from "../../operator/Api.ts"
import type { Operator } from "../../operator/Operator.ts"
import { makePageFiles } from "../../serving/page-files.ts"
import type { Settings } from "../../settings/Settings.ts"
import { webRoot } from "../documents/widget-files.ts"
import { input } from "../incoming/input.ts"
import { answering } from "../server/router.ts"
import * as ConsoleToken from "./ConsoleToken.ts"
import { handlers } from "./handlers.ts"

/** The folder that holds the built page in `console/`. */
export const PageRoot = Context.Reference<string>("voicegate/http/console/PageRoot", {
  defaultValue: () => webRoot,
})

const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "permissions-policy": "microphone=(), camera=(), geolocation=()",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
}

const page: Layer.Layer<never, never, HttpRouter.HttpRouter> = HttpRouter.use((router) =>
  Effect.gen(function* () {
    const files = yield* makePageFiles(join(yield* PageRoot, "console"), HEADERS)
    // the router matches the path with and without the slash; a relative redirect works below any mount path
    const index = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ url }) => {
      const [path = "", ...query] = url.split("?")
      return path.endsWith("/")
        ? files.index
        : Effect.succeed(HttpServerResponse.redirect(["console/", ...query].join("?"), { status: 308 }))
    })
    yield* router.add("GET", "/console", index)
    yield* router.add("GET", "/console/assets/*", files.asset)
  }),
)

/** The page and the endpoints. Mount them only if `Security.ConsoleToken` is set. */
export const consoleRoutes: Layer.Layer<never, never, HttpRouter.HttpRouter | CallerNames | Operator | Settings> =
  Layer.mergeAll(
    HttpApiBuilder.layer(ConsoleApi).pipe(
      Layer.provide(handlers),
      Layer.provide([ConsoleToken.layer, input]),
      Layer.provide(answering.layer),
      Layer.provide(NodeHttpServer.layerHttpServices),
    ),
    page,
  )
