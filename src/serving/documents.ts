/**
 * Documents that are prepared once: plain and gzipped, each with a strong ETag (RFC 9110 §8.8.3). Sending one costs the same
 * whatever its size, and pending copies share one body.
 */
import { createHash } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { promisify } from "node:util"
import { constants, gzip } from "node:zlib"

type Headers = Readonly<Record<string, string>>

interface Variant {
  readonly body: Buffer
  readonly headers: Headers
}

export interface Document {
  readonly plain: Variant
  readonly gzipped: Variant
}

const variant = (body: Buffer, headers: Headers): Variant => ({
  body,
  headers: { ...headers, vary: "Accept-Encoding", etag: `"${createHash("sha256").update(body).digest("base64url")}"` },
})

/** Prepares a document; `headers` are sent with it. */
export const makeDocument = async (body: Buffer, headers: Headers): Promise<Document> => {
  const gzipped = await promisify(gzip)(body, { level: constants.Z_BEST_COMPRESSION })
  return { plain: variant(body, headers), gzipped: variant(gzipped, { ...headers, "content-encoding": "gzip" }) }
}

/** Whether an `Accept-Encoding` header allows gzip (RFC 9110 §12.5.3). */
const acceptsGzip = (accepted: string): boolean =>
  /(?:^|,)\s*gzip\s*(?:,|$|;(?!\s*q=0(?:\.0*)?\s*(?:,|$)))/i.test(accepted)

export const isDocumentRequest = ({ method }: IncomingMessage): boolean => method === "GET" || method === "HEAD"

/** The response to a request with these headers: 200 with a body, or 304 without one when the client has it in its cache. */
export const answerWith = (
  requested: { readonly "accept-encoding"?: string | undefined; readonly "if-none-match"?: string | undefined },
  document: Document,
): { readonly headers: Headers; readonly body: Buffer | undefined } => {
  const { body, headers } = acceptsGzip(requested["accept-encoding"] ?? "") ? document.gzipped : document.plain
  const known = (requested["if-none-match"] ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""))
  return { headers, body: known.includes(headers.etag ?? "") || known.includes("*") ? undefined : body }
}

/** Answers a GET or HEAD request with a document. */
export const sendDocument = (request: IncomingMessage, response: ServerResponse, document: Document): void => {
  if (response.headersSent || response.destroyed) return
  const { body, headers } = answerWith(request.headers, document)
  if (body === undefined) {
    response.writeHead(304, headers).end()
    return
  }
  response.writeHead(200, { ...headers, "content-length": body.length })
  response.end(request.method === "HEAD" ? undefined : body)
}

/** Prepares a document on first use; concurrent requests share the result, also a failure. After a failure the next one tries again. */
export const lazyDocument = (prepare: () => Promise<Document>): (() => Document | Promise<Document>) => {
  let ready: Document | undefined
  let preparing: Promise<Document> | undefined
  return () => {
    if (ready !== undefined) return ready
    preparing ??= prepare()
      .then((document) => {
        ready = document
        return document
      })
      .finally(() => {
        preparing = undefined
      })
    return preparing
  }
}
