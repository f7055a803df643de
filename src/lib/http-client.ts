/**
 * Guards for outgoing HTTP requests, to the platform and to providers. Redirects are not followed, so the key cannot leak.
 * A response body is read up to a limit, which counts decompressed bytes.
 */
import { Effect, Predicate, Stream } from "effect"
import { FetchHttpClient, HttpClient, HttpClientError, type HttpClientResponse } from "effect/http"

/** The limit for a response body of the platform or a provider, in bytes. */
export const MAX_ANSWER_BYTES = 1024 * 1024
/** The limit for a downloaded list of addresses, in bytes. */
export const MAX_LIST_BYTES = 64 * 1024 * 1024

/** Returns a redirect as an ordinary response. Works for fetch only: another client needs its own setting. */
export const withoutRedirects = Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" })

/**
 * No span of the HTTP client, and no trace id in the request: the URL of a provider has a caller's address, that of a list perhaps a
 * key, and a third party has no use for trace ids.
 */
export const withoutClientSpan = Effect.provideService(HttpClient.TracerDisabledWhen, () => true)

/** Whether the headers prove that the body is short: it is not compressed, and `content-length` is small enough. */
const isShort = ({ headers }: HttpClientResponse.HttpClientResponse, maxBytes: number): boolean =>
  headers["content-encoding"] === undefined && Number(headers["content-length"] ?? Number.NaN) <= maxBytes

/** The response's body as text. Stops reading and fails when the body is longer than `maxBytes`. */
export const boundedText = (
  response: HttpClientResponse.HttpClientResponse,
  maxBytes: number,
): Effect.Effect<string, HttpClientError.HttpClientError> => {
  // reading the text at once costs a fraction of reading the stream
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

/** The error code at the bottom of a chain of causes, such as ECONNREFUSED. */
export const codeOf = (error: unknown): { readonly code: string; readonly connecting: boolean } => {
  let current = error
  for (let depth = 0; depth < 5 && Predicate.isObject(current); depth++) {
    if (Predicate.hasProperty(current, "code") && typeof current.code === "string") {
      const connecting = Predicate.hasProperty(current, "syscall") && current.syscall === "connect"
      return { code: current.code, connecting }
    }
    current = Predicate.hasProperty(current, "cause") ? current.cause : undefined
  }
  return { code: "", connecting: false }
}

/** Whether a code says that a server which was asked in TLS does not speak it. */
export const speaksNoTls = (code: string): boolean => /^(?:ERR_SSL_|EPROTO$)/.test(code)

/** Whether a code says that the certificate of a server was rejected. */
export const hasBadCertificate = (code: string): boolean =>
  /^(CERT_|ERR_TLS_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/.test(code)

/** What such a code means, and what to check; undefined where the code says nothing about the address. */
const meaningOf = (code: string): string | undefined => {
  if (hasBadCertificate(code)) return "its certificate is not accepted: NODE_EXTRA_CA_CERTS may name a file with its CA"
  if (code === "ENOTFOUND")
    return "this machine's DNS does not know its name: check the internet connection, and the spelling if you have set this address"
  if (code === "EAI_AGAIN") return "its name could not be looked up: check this machine's DNS"
  if (code === "ECONNREFUSED") return "nothing listens there: check name and port"
  return /^(?:EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/.test(code)
    ? "no connection comes about: check the address, the network and its firewalls"
    : undefined
}

/** The code of a failed connection and its meaning, to follow the words that say what failed; empty without a code. */
export const explained = (code: string): string => {
  const meaning = meaningOf(code)
  if (code === "") return ""
  return meaning === undefined ? ` (${code})` : ` (${code}); ${meaning}`
}
