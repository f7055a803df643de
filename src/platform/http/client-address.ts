/**
 * The address of a request's caller: the connection's, or the one that a trusted proxy names, as at the gate
 * (`lib/ip/client-address.ts`). Such a proxy also says by which host and scheme the caller came (`X-Forwarded-Host`,
 * `X-Forwarded-Proto`).
 */
import { Effect, Option } from "effect"
import { Headers, HttpMiddleware, HttpServerRequest } from "effect/http"
import { parseAddress } from "../../lib/ip/address.ts"
import { clientAddress, type TrustedProxies } from "../../lib/ip/client-address.ts"

export interface Proxies {
  readonly trusted: TrustedProxies
  /** the header in which they name their client's address, in lower case */
  readonly header: string
}

/** Of a list, the nearest proxy has added the last value. */
const lastOf = (value: string | undefined): string | undefined => value?.split(",").at(-1)?.trim().toLowerCase()

const HOST = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/

const read = (
  request: HttpServerRequest.HttpServerRequest,
  { header, trusted }: Proxies,
): HttpServerRequest.HttpServerRequest => {
  const socketAddress = Option.getOrUndefined(request.peerAddress)
  const peer = parseAddress(socketAddress ?? "")
  if (peer === undefined || !trusted.has(peer)) return request
  const address = clientAddress({ socketAddress, header, value: request.headers[header], trusted })
  const protocol = lastOf(request.headers["x-forwarded-proto"])
  const host = lastOf(request.headers["x-forwarded-host"])
  return request.modify({
    peerAddress: request.peerAddress,
    remoteAddress: Option.fromNullishOr(address),
    ...(host !== undefined && HOST.test(host) && { headers: Headers.set(request.headers, "host", host) }),
    ...((protocol === "http" || protocol === "https") && { protocol }),
  })
}

export const callerAddress = (proxies: Proxies) =>
  HttpMiddleware.make((handler) =>
    Effect.updateService(handler, HttpServerRequest.HttpServerRequest, (request) => read(request, proxies)),
  )
