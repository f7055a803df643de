/**
 * Reads the body of an endpoint before its schema decodes it: with the gate's bounds, also where a host's body parser ran first. What an
 * endpoint does not take is refused with the problem that it declares (`Takes`), which names unknown fields.
 */
import type { IncomingMessage } from "node:http"
import { Context, Effect, Layer, Result } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiError } from "effect/http-api"
import { unknownFieldsOf } from "../../lib/form-errors.ts"
import { Input, Takes } from "../../protocol/endpoint-input.ts"
import { type Answer, refusals, refused } from "../answers/answer.ts"
import { respond } from "../answers/respond.ts"
import { incoming, isJson, isSdp, parseJson, readBody } from "./body.ts"

type MediaType = NonNullable<Takes["Service"]["body"]>

const textOf = Effect.fnUntraced(function* (
  mediaType: MediaType,
  request: IncomingMessage,
): Effect.fn.Return<string, Answer> {
  if (mediaType === "application/sdp") {
    return isSdp(request) ? yield* readBody(request, true) : yield* Effect.fail(refusals.notSdp)
  }
  if (!isJson(request)) return yield* Effect.fail(refusals.mediaType)
  const text = yield* readBody(request)
  yield* Effect.fromResult(parseJson(text))
  return text
})

/** The request with this body, of the type that the endpoint's decoder knows. */
const withBody = (
  request: HttpServerRequest.HttpServerRequest,
  mediaType: MediaType,
  text: string,
): HttpServerRequest.HttpServerRequest =>
  Object.defineProperty(request.modify({ headers: { ...request.headers, "content-type": mediaType } }), "text", {
    value: Effect.succeed(text),
  })

export const input: Layer.Layer<Input> = Layer.succeed(
  Input,
  Input.of(
    Effect.fnUntraced(function* (handler, { endpoint }) {
      const { body: mediaType, otherwise } = Context.getUnsafe(endpoint.annotations, Takes)
      let request = yield* HttpServerRequest.HttpServerRequest
      if (mediaType !== undefined) {
        const text = yield* Effect.result(textOf(mediaType, yield* incoming))
        if (Result.isFailure(text)) return yield* respond(text.failure)
        request = withBody(request, mediaType, text.success)
      }
      return yield* handler.pipe(
        Effect.provideService(HttpServerRequest.HttpServerRequest, request),
        Effect.catch((error) => {
          if (!HttpApiError.HttpApiSchemaError.is(error) || (error.kind !== "Payload" && error.kind !== "Query")) {
            return Effect.fail(error)
          }
          const unknown = unknownFieldsOf(error)
          return respond(refused(unknown === "" ? otherwise : { ...otherwise, detail: unknown }))
        }),
      )
    }),
  ),
)
