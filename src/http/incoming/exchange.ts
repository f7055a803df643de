/** What travels with a request through the router, for its span and its line in the access log. */
import { Context } from "effect"
import type { RequestTrace } from "./spans.ts"

export interface Exchange {
  /** undefined without a tracer */
  readonly trace: RequestTrace | undefined
  /** what came of the request, for the access log; undefined while it is not answered */
  outcome: string | undefined
}

/** The listener provides one for each request. */
export const CurrentExchange = Context.Reference<Exchange>("voicegate/http/Exchange", {
  defaultValue: () => ({ trace: undefined, outcome: undefined }),
})
