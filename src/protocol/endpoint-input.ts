/** What an endpoint takes, and how it refuses anything else. The layer of the middleware is in `http/incoming/input.ts`. */
import { Context } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import type { ProblemDetails } from "./problems.ts"

export class Takes extends Context.Service<
  Takes,
  {
    /** the type of its body; undefined for none */
    readonly body: "application/json" | "application/sdp" | undefined
    /** of a query or a body that the endpoint's schemas do not decode; unknown fields are named in its place */
    readonly otherwise: ProblemDetails
  }
>()("voicegate/protocol/Takes") {}

/** The middleware of endpoints that are annotated with what they take. */
export class Input extends HttpApiMiddleware.Service<Input>()("voicegate/protocol/Input") {}
