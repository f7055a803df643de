/**
 * Refuses unknown fields in every body, filter and query, since a misspelt filter that is silently ignored would return everything,
 * and reports all problems of a request at once.
 * Annotates a whole API or group, so that no endpoint can forget it; answers are not affected.
 */
import { Context } from "effect"
import { HttpApi } from "effect/http-api"

const options = { onExcessProperty: "error", errors: "all" } as const

export const refuseUnknown = Context.make(HttpApi.PayloadParseOptions, options).pipe(
  Context.add(HttpApi.QueryParseOptions, options),
)
