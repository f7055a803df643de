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
): Effect.Effect<string, Answer> => {
  const kept = request.rawBody ?? request.body
  const bytes =
    typeof kept === "string" ? kept : kept instanceof Uint8Array ? Buffer.from(kept).toString("utf8") : undefined
  const text = bytes ?? (verbatim || kept === undefined ? undefined : JSON.stringify(kept))
  if (text === undefined) return Effect.fail(refusals.bodyTaken)
  return Buffer.byteLength(text) > MAX_BODY_BYTES ? Effect.fail(refusals.tooLarge) : Effect.succeed(text)
}

/**
 * Reads the whole body as text; one that is too large is refused as soon as that is known. Where a host's body parser was
 * first, what it kept is taken; `verbatim` asks for the very bytes, as a signature needs them.
 */
export const readBody = (request: IncomingMessage, verbatim = false): Effect.Effect<string, Answer> =>
  Effect.callback<string, Answer>((resume) => {
    if (request.readableDidRead || request.readableEnded) {
      resume(keptBody(request, verbatim))
      return
    }
    if (Number(header(request, "content-length") ?? "0") > MAX_BODY_BYTES) {
      resume(Effect.fail(refusals.tooLarge))
      return
    }
    // gone before it was read: that would never come to an end here
    if (request.destroyed) {
      resume(Effect.fail(refusals.malformedJson))
      return
    }
    const chunks: Array<Buffer> = []
    let size = 0
    const stop = (): void => {
      request.off("data", onData)
      request.off("end", onEnd)
      request.off("error", onGone)
      request.off("close", onGone)
    }
    const onData = (chunk: Buffer): void => {
      size += chunk.length
      if (size > MAX_BODY_BYTES) {
        stop()
        resume(Effect.fail(refusals.tooLarge))
      } else {
        chunks.push(chunk)
      }
    }
    const onEnd = (): void => {
      stop()
      resume(Effect.succeed(Buffer.concat(chunks).toString("utf8")))
    }
    // nobody is left to read this answer
    const onGone = (): void => {
      stop()
      resume(Effect.fail(refusals.malformedJson))
    }
    request.on("data", onData)
    request.on("end", onEnd)
    request.on("error", onGone)
    request.on("close", onGone)
  })

/** Parses JSON without throwing. */
export const parseJson = (text: string): Result.Result<unknown, Answer> => {
  try {
    return Result.succeed(JSON.parse(text))
  } catch {
    return Result.fail(refusals.malformedJson)
  }
}
