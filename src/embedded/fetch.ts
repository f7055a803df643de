/**
 * The gate for hosts with web-standard requests: `fetch(request, info)` answers a `Request` with a `Response`. It serves them through the
 * same listener as node's requests, over node's own `IncomingMessage` and `ServerResponse` on a connection in memory, so every check,
 * limit and answer is the same. Events are Server-Sent Events; a `Request` has no socket, so there are no WebSockets.
 */
import { type IncomingMessage, ServerResponse } from "node:http"
import { setImmediate as nextTurn } from "node:timers/promises"
import { refusals } from "../http/answers/answer.ts"
import { write } from "../http/answers/write-answer.ts"
import { canonicalAddress } from "../lib/ip/address.ts"
import { unknownFields } from "../lib/unknown-field.ts"
import { CompactRequest, TOO_MANY_PIECES } from "../serving/compact-body.ts"
import { MemorySocket } from "./memory-socket.ts"

/** What a `Request` does not tell. */
export interface FetchInfo {
  /**
   * The remote address of the connection. `X-Forwarded-For` counts only if this is one of `Security.TrustedProxies`. Never pass a
   * header of the client here: callers could choose their address.
   */
  readonly address: string
  /** the body's bytes, if the host has read the body; `request.clone()` before reading makes it unnecessary */
  readonly rawBody?: string | Uint8Array
}

/** Answers a request of the gate; rejects with a `TypeError` without the caller's address. */
export type Fetch = (request: Request, info: FetchInfo) => Promise<Response>

const INFO = { address: true, rawBody: true } satisfies { readonly [K in keyof Required<FetchInfo>]: true }

/** The caller's address. Throws if it is missing, because a caller without one could not be limited. */
const addressOf = (info: FetchInfo | undefined): string => {
  const unknown = unknownFields(info ?? {}, Object.keys(INFO))
  if (unknown.length > 0) {
    throw new TypeError(unknown.map(({ field, message }) => `info.${field}: ${message}`).join("\n"))
  }
  const given: unknown = info?.address
  const address = typeof given === "string" ? canonicalAddress(given) : undefined
  if (address !== undefined) return address
  throw new TypeError(
    `info.address: expected the caller's IPv4 or IPv6 address, found ${JSON.stringify(given) ?? "nothing"}. ` +
      "A Request has no address: pass the connection's, such as gate.fetch(request, { address: remoteAddress }).",
  )
}

/** A web request as node's; its body is read when the gate reads it. */
class FetchRequest extends CompactRequest {
  /** the host has read the body */
  readonly bodyUsed: boolean
  readonly rawBody: string | Uint8Array | undefined
  #isReading = false
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined

  constructor(socket: MemorySocket, request: Request, rawBody: FetchInfo["rawBody"]) {
    super(socket)
    const { host, pathname, search } = new URL(request.url)
    this.method = request.method
    this.url = pathname + search
    this.httpVersion = "1.1"
    this.httpVersionMajor = 1
    this.httpVersionMinor = 1
    // The host compresses: Next sends the body of a Response without its content-encoding, and a page could not read it.
    const { "accept-encoding": _, ...headers } = Object.fromEntries(request.headers)
    this.headers = { host, ...headers }
    this.rawHeaders = Object.entries(this.headers).flatMap(([name, value]) => [name, String(value)])
    // a body that somebody else is reading counts as read
    this.bodyUsed = request.bodyUsed || request.body?.locked === true
    this.rawBody = rawBody
    this.#reader = this.bodyUsed ? undefined : request.body?.getReader()
  }

  override _read(): void {
    if (this.#isReading) return
    this.#isReading = true
    this.#readBody().catch(() => this.destroy())
  }

  /** Reads until the consumer wants no more. An `IncomingMessage` does not ask for each chunk, because node's parser pushes them. */
  async #readBody(): Promise<void> {
    let wantsMore = true
    while (wantsMore && !this.complete) {
      const { done, value } = (await this.#reader?.read()) ?? { done: true }
      this.complete = done
      wantsMore = this.push(done ? null : (value ?? new Uint8Array()))
      // a body that is always ready would keep the process from answering, and so from closing it
      if (!done) await nextTurn()
    }
    this.#isReading = false
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#reader?.cancel().catch(() => {})
    super._destroy(error, callback)
  }
}

/** Throws if a host passes node's request, whose `headers` are a plain object. A host's own class of requests is accepted. */
const checkRequest = (request: Request | undefined): void => {
  const url: unknown = request?.url
  if (typeof url === "string" && URL.canParse(url) && typeof request?.headers.get === "function") return
  throw new TypeError(
    "request: expected a web-standard Request. gate.handler(request, response) takes node's requests.",
  )
}

/** The answer to a body in too many pieces, which has ended its connection; rejects with any other error. */
const answerOf = (error: unknown): Response => {
  if (!(error instanceof Error && "code" in error && error.code === TOO_MANY_PIECES)) throw error
  const { body, headers, status } = refusals.bodyPieces
  return new Response(body, { status, headers })
}

export const makeFetch =
  (handler: (request: IncomingMessage, response: ServerResponse) => void): Fetch =>
  async (request, info) => {
    checkRequest(request)
    const socket = new MemorySocket(addressOf(info))
    const incoming = new FetchRequest(socket, request, info.rawBody)
    const response = new ServerResponse(incoming)
    response.useChunkedEncodingByDefault = false
    response.shouldKeepAlive = false
    response.assignSocket(socket)
    response.once("finish", () => socket.end())
    socket.once("close", () => incoming.destroy())
    const abort = (): void => void socket.destroy()
    request.signal.addEventListener("abort", abort, { once: true })
    socket.once("close", () => request.signal.removeEventListener("abort", abort))
    if (request.signal.aborted) abort()
    else if (request.headers.get("upgrade")?.toLowerCase() === "websocket") write(response, refusals.upgradeRequired)
    else handler(incoming, response)
    return await socket.response.catch(answerOf)
  }
