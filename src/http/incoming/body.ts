/** Reads parts of a node request: headers, the caller's address and the body. */
import { isUtf8 } from "node:buffer"
import { IncomingMessage } from "node:http"
import { Effect, Result } from "effect"
import { HttpServerRequest } from "effect/http"
import { ADDRESS_HEADERS } from "../../serving/address-watch.ts"
import { header } from "../../serving/repeated-headers.ts"
import { type Answer, bodyTooLarge, MAX_BODY_BYTES, refusals } from "../answers/answer.ts"

export const incoming = Effect.map(HttpServerRequest.HttpServerRequest, ({ source }) => {
  if (source instanceof IncomingMessage) return source
  throw new TypeError("the gate's routes are served by node:http alone")
})

/** All headers, by their names in lower case. */
export const headersOf = (request: IncomingMessage): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(Object.keys(request.headers).map((name) => [name, header(request, name)]))

const FORWARDED = new Set<string>([...ADDRESS_HEADERS, "via"])

/** Whether a header shows that a proxy forwarded the request. */
export const isForwarded = ({ headers }: IncomingMessage): boolean =>
  Object.keys(headers).some((name) => FORWARDED.has(name) || name.startsWith("x-forwarded-"))

const JSON_MEDIA_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i

export const isJson = (request: IncomingMessage): boolean => JSON_MEDIA_TYPE.test(header(request, "content-type") ?? "")

export const isSdp = (request: IncomingMessage): boolean =>
  /^application\/sdp\s*(?:;|$)/i.test(header(request, "content-type") ?? "")

/** Empty if it has none. */
export const bearerOf = (request: IncomingMessage): string =>
  /^Bearer +(\S+) *$/i.exec(header(request, "authorization") ?? "")?.[1] ?? ""

/**
 * The body of a request whose stream a body parser has already read, from `rawBody` (bytes or text) or `body`. A parsed `body` is
 * serialised again, which may not give the original bytes, so it is not used if `verbatim`.
 */
const parsedBody = (
  request: IncomingMessage & { readonly body?: unknown; readonly rawBody?: unknown },
  verbatim: boolean,
  maxBytes: number,
): string | Answer => {
  const kept = request.rawBody ?? request.body
  const bytes =
    typeof kept === "string" ? kept : kept instanceof Uint8Array ? Buffer.from(kept).toString("utf8") : undefined
  const text = bytes ?? (verbatim || kept === undefined ? undefined : JSON.stringify(kept))
  if (text === undefined) return refusals.bodyTaken
  return Buffer.byteLength(text) > maxBytes ? bodyTooLarge(maxBytes) : text
}

/**
 * The result if the stream must not be read: a body kept by a parser, or a refusal; undefined if it must be read. `bodyUsed` comes from
 * a host's `Request` (`embedded/fetch.ts`).
 */
const withoutReading = (request: IncomingMessage, verbatim: boolean, maxBytes: number): string | Answer | undefined => {
  const isRead = "bodyUsed" in request && request.bodyUsed === true
  if (isRead || request.readableDidRead || request.readableEnded) return parsedBody(request, verbatim, maxBytes)
  if (Number(header(request, "content-length") ?? "0") > maxBytes) return bodyTooLarge(maxBytes)
  // a sender may sign the plain or the compressed bytes, so a mismatch here would not show that the key is wrong
  if (!/^(?:identity)?$/i.test(header(request, "content-encoding") ?? "")) return refusals.encoded
  // the client disconnected before the body was read, so no event would follow
  return request.destroyed ? refusals.malformedJson : undefined
}

/**
 * Reads the whole body as text, and refuses one that is too large as early as possible. If a host's body parser ran first, its
 * copy is used; `verbatim` requires the original bytes, as for checking a signature. Calls `done` once.
 */
export const collectBody = (
  request: IncomingMessage,
  verbatim: boolean,
  done: (body: string | Answer) => void,
  maxBytes: number = MAX_BODY_BYTES,
): void => {
  const known = withoutReading(request, verbatim, maxBytes)
  if (known !== undefined) {
    done(known)
    return
  }
  const chunks: Array<Buffer> = []
  let size = 0
  let finished = false
  const finish = (body: string | Answer): void => {
    if (finished) return
    finished = true
    done(body)
  }
  request.on("data", (chunk: Buffer) => {
    size += chunk.length
    if (size > maxBytes) finish(bodyTooLarge(maxBytes))
    else chunks.push(chunk)
  })
  request.on("end", () => {
    const [first] = chunks
    const bytes = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)
    // as text they would be other bytes than those that were signed
    finish(verbatim && !isUtf8(bytes) ? refusals.notUtf8 : bytes.toString("utf8"))
  })
  // the client has disconnected, so nobody reads this answer; without a listener node emits no error
  const onClose = (): void => finish(refusals.malformedJson)
  request.on("close", onClose)
}

/** `collectBody` as an effect. */
export const readBody = (
  request: IncomingMessage,
  verbatim = false,
  maxBytes: number = MAX_BODY_BYTES,
): Effect.Effect<string, Answer> =>
  Effect.callback((resume) =>
    collectBody(
      request,
      verbatim,
      (body) => resume(typeof body === "string" ? Effect.succeed(body) : Effect.fail(body)),
      maxBytes,
    ),
  )

/** Parses JSON without throwing. */
export const parseJson = (text: string): Result.Result<unknown, Answer> => {
  try {
    return Result.succeed(JSON.parse(text))
  } catch {
    return Result.fail(refusals.malformedJson)
  }
}
