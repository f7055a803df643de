/** Reads what the gate needs of a node request, once and cheaply. */
import type { IncomingMessage } from "node:http"
import { Effect, Result } from "effect"
import { clientAddress, type TrustedProxies } from "../ip-intel/client-address.ts"
import { type Answer, MAX_BODY_BYTES, refusals } from "./answer.ts"

/** One header's value; several of one name are joined by commas. */
export const header = (request: IncomingMessage, name: string): string | undefined => {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(", ") : value
}

/** The caller's address, from the socket or over trusted proxies. */
export const callerOf = (request: IncomingMessage, trusted: TrustedProxies): string | undefined =>
  clientAddress({
    socketAddress: request.socket.remoteAddress,
    forwardedFor: header(request, "x-forwarded-for"),
    trusted,
  })

/** Whether a proxy says that it passed the request on. */
export const isForwarded = ({ headers }: IncomingMessage): boolean =>
  Object.keys(headers).some((name) => name === "forwarded" || name === "via" || /^x-(?:forwarded-|real-ip$)/.test(name))

const JSON_MEDIA_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i

/** Whether the request says that its body is JSON. */
export const isJson = (request: IncomingMessage): boolean => JSON_MEDIA_TYPE.test(header(request, "content-type") ?? "")

/**
 * The body of a request that somebody has read before, from what body parsers leave: `rawBody` (bytes or text), or `body`,
 * as it is when it is bytes or text, else written as JSON again, which are not the same bytes.
 */
const keptBody = (
  request: IncomingMessage & { readonly body?: unknown; readonly rawBody?: unknown },
  verbatim: boolean,
): string | Answer => {
  const kept = request.rawBody ?? request.body
  const bytes =
    typeof kept === "string" ? kept : kept instanceof Uint8Array ? Buffer.from(kept).toString("utf8") : undefined
  const text = bytes ?? (verbatim || kept === undefined ? undefined : JSON.stringify(kept))
  if (text === undefined) return refusals.bodyTaken
  return Buffer.byteLength(text) > MAX_BODY_BYTES ? refusals.tooLarge : text
}

/** What can be said without reading: what somebody kept, or why there is nothing to read. */
const unreadable = (request: IncomingMessage, verbatim: boolean): string | Answer | undefined => {
  if (request.readableDidRead || request.readableEnded) return keptBody(request, verbatim)
  if (Number(header(request, "content-length") ?? "0") > MAX_BODY_BYTES) return refusals.tooLarge
  // gone before it was read: that would never come to an end here
  return request.destroyed ? refusals.malformedJson : undefined
}

/**
 * Reads the whole body as text; one that is too large is refused as soon as that is known. Where a host's body parser was
 * first, what it kept is taken; `verbatim` asks for the very bytes, as a signature needs them. `done` is called once.
 */
export const collectBody = (
  request: IncomingMessage,
  verbatim: boolean,
  done: (body: string | Answer) => void,
): void => {
  const known = unreadable(request, verbatim)
  if (known !== undefined) {
    done(known)
    return
  }
  const chunks: Array<Buffer> = []
  let size = 0
  let over = false
  const finish = (body: string | Answer): void => {
    if (over) return
    over = true
    done(body)
  }
  request.on("data", (chunk: Buffer) => {
    size += chunk.length
    if (size > MAX_BODY_BYTES) finish(refusals.tooLarge)
    else chunks.push(chunk)
  })
  request.on("end", () => {
    const [first] = chunks
    finish((chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)).toString("utf8"))
  })
  // nobody is left to read this answer; node emits no error to those who do not listen for one
  const gone = (): void => finish(refusals.malformedJson)
  request.on("close", gone)
}

/** `collectBody` as an effect. */
export const readBody = (request: IncomingMessage, verbatim = false): Effect.Effect<string, Answer> =>
  Effect.callback((resume) =>
    collectBody(request, verbatim, (body) =>
      resume(typeof body === "string" ? Effect.succeed(body) : Effect.fail(body)),
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
