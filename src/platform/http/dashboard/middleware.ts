/** Middleware of every endpoint of the dashboard's API: checks the request's origin and its schema. */
import { Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiMiddleware } from "effect/http-api"
import { fieldsOf } from "../../../lib/form-errors.ts"
import { Forms, SameOrigin } from "../DashboardApi.ts"
import { Forbidden, Invalid } from "./failures.ts"

const CHANGES_NOTHING: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"])

const crossSite = new Forbidden({
  code: "CROSS_SITE",
  message: "the request must come from a page of this origin",
})

/**
 * Browsers report where a request comes from: by `Sec-Fetch-Site` on https and on this machine, else by `Origin`, whose host must
 * equal the request's `Host`. A request with neither is refused.
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
  // An answer that does not match its schema is a defect of the platform, not an error of the caller.
  error.kind === "Body" || error.kind === "ResponseHeaders"
    ? Effect.die(error)
    : Effect.fail(new Invalid({ code: "INVALID_FORMAT", message: fieldsOf(error) })),
)
