/**
 * Checks webhook targets and restricts where their requests may go. A URL that a customer entered must not make this server call
 * into its own network (server-side request forgery): it connects only to public unicast addresses, whatever name resolves to them
 * and whenever it is resolved, unless private ones are allowed.
 */
import { lookup } from "node:dns"
import { Agent as HttpAgent } from "node:http"
import { Agent as HttpsAgent } from "node:https"
import { isIP, type LookupFunction, Socket } from "node:net"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Context, Effect, Layer, Redacted } from "effect"
import type { HttpClient } from "effect/http"
import { parseOnce } from "../../lib/ip/address.ts"
import { type Refused, refuse, type WebhookTarget } from "../model.ts"

const MAX_URL = 2_048
const MAX_HEADERS = 20
const MAX_HEADER_VALUE = 4_096
/** A header name of RFC 9110, 5.1. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/
/** Headers that the request itself sets. */
const OWN_HEADERS = /^(host|content-length|content-type|transfer-encoding|connection|upgrade|webhook-.*)$/i
/** Printable ASCII, and spaces within. */
const HEADER_VALUE = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/
/** Standard Webhooks 1.0: 24 to 64 bytes in base64. */
const SIGNING_SECRET = /^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/

/** ISATAP (RFC 5214): the words of the interface identifier before the IPv4 address. */
const ISATAP = new Set([0x0000_5efe, 0x0200_5efe])

/**
 * Whether an address is on the public internet: not in a range with a special use (private, loopback, link-local, shared,
 * multicast, discard-only, …). Mapped IPv4 is checked as IPv4. Every other form that embeds an IPv4 address and routes to it
 * (6to4, Teredo, NAT64, IPv4-compatible, IPv4-translated) is refused; ISATAP is refused when that address is not public.
 */
export const isPublicAddress = (text: string): boolean => {
  const address = parseOnce(text)
  if (address === undefined || !address.isPublic || address.embedded !== undefined) return false
  const [, , c, d = 0] = address.words
  if (c === undefined || !ISATAP.has(c)) return true
  return parseOnce([d >>> 24, (d >>> 16) & 255, (d >>> 8) & 255, d & 255].join("."))?.isPublic === true
}

/** The address was refused before a byte was sent. */
export class NotPublic extends Error {
  override readonly name = "NotPublic"
  constructor() {
    super("the address is not on the public internet")
  }
}

/** Resolves a name and fails when any of its addresses is not public. The connection uses the returned address. */
const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, "", 4)
    const [first] = addresses
    if (first === undefined || !addresses.every(({ address }) => isPublicAddress(address))) {
      return callback(new NotPublic(), "", 4)
    }
    if (options.all === true) return callback(null, addresses)
    callback(null, first.address, first.family)
  })
}

/** Node does not resolve literal addresses, so they are checked here. */
const refusesLiteral = (host: string | null | undefined): boolean => {
  const bare = (host ?? "").replace(/^\[|\]$/g, "")
  return isIP(bare) !== 0 && !isPublicAddress(bare)
}

class PublicHttpAgent extends HttpAgent {
  override createConnection(...[options, callback]: Parameters<HttpAgent["createConnection"]>) {
    if (refusesLiteral(options.host)) return void callback?.(new NotPublic(), new Socket())
    return super.createConnection({ ...options, lookup: publicLookup }, callback)
  }
}

class PublicHttpsAgent extends HttpsAgent {
  override createConnection(...[options, callback]: Parameters<HttpsAgent["createConnection"]>) {
    if (refusesLiteral(options.host)) return void callback?.(new NotPublic(), new Socket())
    return super.createConnection({ ...options, lookup: publicLookup }, callback)
  }
}

/** Connections are not kept alive, so that a name is resolved and checked for every request. */
const agents = (allowPrivate: boolean) =>
  Layer.effect(
    NodeHttpClient.HttpAgent,
    Effect.acquireRelease(
      Effect.sync(() =>
        allowPrivate
          ? { http: new HttpAgent(), https: new HttpsAgent() }
          : { http: new PublicHttpAgent(), https: new PublicHttpsAgent() },
      ),
      ({ http, https }) =>
        Effect.sync(() => {
          http.destroy()
          https.destroy()
        }),
    ),
  )

/** It does not follow redirects. */
export const client = (allowPrivate: boolean): Layer.Layer<HttpClient.HttpClient> =>
  NodeHttpClient.layerNodeHttpNoAgent.pipe(Layer.provide(agents(allowPrivate)))

export class WebhookRules extends Context.Service<
  WebhookRules,
  {
    /** Fails for an invalid target, with what is expected. */
    readonly check: (target: WebhookTarget) => Effect.Effect<void, Refused>
  }
>()("voicegate/platform/WebhookRules") {}

const problemOf = (target: WebhookTarget, allowPrivate: boolean): string | undefined => {
  const { headers, signingSecret, url } = target
  const parsed = url.length <= MAX_URL && URL.canParse(url) ? new URL(url) : undefined
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol) || parsed.username !== "" || parsed.password !== "") {
    return "the webhook's url: Expected an http or https address without credentials."
  }
  if (!allowPrivate && (refusesLiteral(parsed.hostname) || /(^|\.)localhost\.?$/i.test(parsed.hostname))) {
    return "the webhook's url: Expected an address on the public internet."
  }
  const entries = Object.entries(headers)
  if (entries.length > MAX_HEADERS) return `the webhook's headers: Expected at most ${MAX_HEADERS}.`
  for (const [name, value] of entries) {
    if (!HEADER_NAME.test(name) || OWN_HEADERS.test(name))
      return "the webhook's headers: Expected names other than those that the request itself sets."
    const text = Redacted.value(value)
    if (text.length > MAX_HEADER_VALUE || !HEADER_VALUE.test(text)) {
      return `the webhook's header ${name}: Expected 1 to ${MAX_HEADER_VALUE} printable characters.`
    }
  }
  if (signingSecret !== undefined && !SIGNING_SECRET.test(Redacted.value(signingSecret))) {
    return "the webhook's signingSecret: Expected whsec_ and 24 to 64 bytes in base64."
  }
  return undefined
}

export const layer = (allowPrivate: boolean): Layer.Layer<WebhookRules> =>
  Layer.succeed(WebhookRules, {
    check: (target) => {
      const problem = problemOf(target, allowPrivate)
      return problem === undefined ? Effect.void : Effect.fail(refuse("invalid", "WEBHOOK_INVALID", problem))
    },
  })
