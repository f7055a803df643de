/**
 * A field that an API does not know is refused, wherever a body, filter or query is read: a filter that silently does nothing
 * would answer with everything. Annotates an API as a whole, so that no endpoint can forget it; answers are not judged by it.
 */
import { Context } from "effect"
import { HttpApi } from "effect/http-api"

const options = { onExcessProperty: "error" } as const

export const refuseUnknown = Context.make(HttpApi.PayloadParseOptions, options).pipe(
  Context.add(HttpApi.QueryParseOptions, options),
)
