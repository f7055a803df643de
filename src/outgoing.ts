/**
 * Asking strangers over HTTP, be it the platform: nobody leads a request elsewhere with its key, and of what they answer no more
 * is read than makes sense, decompressed or not.
 */
import { Effect, Stream } from "effect"
import { FetchHttpClient, HttpClientError, type HttpClientResponse } from "effect/http"

/** The most that the platform or a provider may say, in bytes. */
export const MAX_ANSWER_BYTES = 1024 * 1024
/** The longest list of addresses, in bytes. */
export const MAX_LIST_BYTES = 64 * 1024 * 1024

/** A redirect is an answer as any other. A client that is not fetch's has its own ways. */
export const followingNothing = Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" })

/** Whether the answer is known to be short before it is read: it says so, and is not compressed. */
const isShort = ({ headers }: HttpClientResponse.HttpClientResponse, maxBytes: number): boolean =>
  headers["content-encoding"] === undefined && Number(headers["content-length"] ?? Number.NaN) <= maxBytes

/** The answer's body as text; fails once it is longer, and reads no further. */
export const textWithin = (
  response: HttpClientResponse.HttpClientResponse,
  maxBytes: number,
): Effect.Effect<string, HttpClientError.HttpClientError> => {
  // at a fraction of the cost
  if (isShort(response, maxBytes)) return response.text
  const tooLong = new HttpClientError.HttpClientError({
    reason: new HttpClientError.DecodeError({
      request: response.request,
      response,
      description: `the answer is longer than ${maxBytes} bytes`,
    }),
  })
  const chunks: Array<Uint8Array> = []
  let size = 0
  return response.stream.pipe(
    Stream.runForEach((chunk) => {
      size += chunk.length
      chunks.push(chunk)
      return size > maxBytes ? Effect.fail(tooLong) : Effect.void
    }),
    Effect.catchIf(
      ({ reason }) => reason._tag === "EmptyBodyError",
      () => Effect.void,
    ),
    Effect.map(() => new TextDecoder().decode(Buffer.concat(chunks))),
  )
}
