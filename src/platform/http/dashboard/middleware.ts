/** What stands before every endpoint of the dashboard's API, whoever is signed in: where a request comes from, and its form. */
import { Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiMiddleware } from "effect/http-api"
import { Forms, SameOrigin } from "../DashboardApi.ts"
import { fieldsOf } from "../form-errors.ts"
import { Forbidden, Invalid } from "./failures.ts"

const CHANGES_NOTHING: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"])

const crossSite = new Forbidden({
  code: "CROSS_SITE",
  message: "the request must come from a page of this origin",
})

/**
 * A browser says itself where a request comes from: by `Sec-Fetch-Site` on https and on this machine, else by `Origin`, whose
 * host must be the one that was asked for. A request that says neither is refused too.
 */
export const sameOrigin: Layer.Layer<SameOrigin> = Layer.succeed(
  SameOrigin,
  Effect.fnUntraced(function* (handler) {
    const { headers, method } = yield* HttpServerRequest.HttpServerRequest
    if (CHANGES_NOTHING.has(method)) return yield* handler
    const site = headers["sec-fetch-site"]
    const same = site === undefined ? hostOf(headers.origin) === headers.host?.toLowerCase() : site === "same-origin"
    return yield* same ? handler : Effect.fail(crossSite)
  }),
)

const hostOf = (origin: string | undefined): string | null =>
  origin === undefined ? null : (URL.parse(origin)?.host ?? null)

export const forms: Layer.Layer<Forms> = HttpApiMiddleware.layerSchemaErrorTransform(Forms, (error) =>
  // An answer that does not fit its own schema is our defect, not the caller's.
  error.kind === "Body" || error.kind === "ResponseHeaders"
    ? Effect.die(error)
    : Effect.fail(new Invalid({ code: "INVALID_FORMAT", message: fieldsOf(error) })),
)
