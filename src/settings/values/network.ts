/** Schemas of network values: hosts, URLs, origins and trusted proxies. */
import { Schema, SchemaTransformation } from "effect"
import ipaddr from "ipaddr.js"
import { isLoopback } from "../../lib/ip/loopback.ts"
import { parseRange } from "../../lib/ip/ranges.ts"
import { list, parsed, type Text, unique, withNotes } from "./values.ts"

const NAME = /^(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?$/

const isIp = (address: string): boolean =>
  ipaddr.IPv4.isValidFourPartDecimal(address) || (ipaddr.IPv6.isValid(address) && !address.includes("%"))

export const host: Text<string> = Schema.String.check(
  // digits and dots alone are an address or a mistake, never a host name
  Schema.makeFilter((name) => isIp(name) || (NAME.test(name) && !/^[\d.]+$/.test(name)), {
    expected: "an address or a host name to listen on, without a port",
  }),
)

/** The name in a `Host` header, in lower case and without port, with IPv6 in brackets as in the header; or `*`. */
export const allowedHost = parsed(
  "a host name or address without scheme, port and path, such as gate.example, or *; one a list item",
  Schema.String,
  (given) => {
    const name = given.toLowerCase()
    const bare = name.replace(/^\[(.*)\]$/, "$1")
    if (ipaddr.IPv6.isValid(bare) && !bare.includes("%")) return new URL(`http://[${bare}]`).hostname
    return name === "*" || isIp(name) || (NAME.test(name) && !/^[\d.]+$/.test(name)) ? name : undefined
  },
)

/** Where the gate is below a host name: with a slash at its begin and none at its end; empty for the root. */
export const basePath = parsed("a path such as /voice, or / for the root", Schema.String, (given) => {
  const path = given.replace(/\/+$/, "")
  return given.startsWith("/") && /^(?:\/[\w.~-]+)*$/.test(path) ? path : undefined
})

/** An http(s) URL without credentials, query and fragment, with exactly one slash at its end. */
export const baseUrl = parsed("an http or https URL without user, query and fragment", Schema.String, (given) => {
  const url = URL.parse(given)
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) return undefined
  if (url.username !== "" || url.password !== "" || /[?#]/.test(given)) return undefined
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}/`
})

/** Where keys are read that decide whom the gate believes, or callers' data are sent: https, or http on this machine. */
export const secureUrl = parsed(
  "an https URL without user and fragment (http on this machine)",
  Schema.String,
  (given) => {
    const url = URL.parse(given)
    if (url === null || url.username !== "" || url.password !== "" || given.includes("#")) return undefined
    const isOwn = url.protocol === "http:" && isLoopback(url.hostname.replace(/^\[|\]$/g, ""))
    return url.protocol === "https:" || isOwn ? url.href : undefined
  },
)

/** The address of a server that pages reach by WebSocket and the gate by HTTP, in the form of a WebSocket, without a slash at its end. */
export const serverUrl = parsed("a wss or https URL without user, path, query and fragment", Schema.String, (given) => {
  const url = URL.parse(given)
  if (url === null || !/^(?:ws|http)s?:$/.test(url.protocol)) return undefined
  if (url.username !== "" || url.password !== "" || url.pathname !== "/" || /[?#]/.test(given)) return undefined
  return `${url.protocol.replace("http", "ws")}//${url.host}`
})

/**
 * `*` would not cover `Authorization`, so names are listed. A name that every object has, such as `constructor`, is
 * refused.
 */
const headerIn = (given: string): string | undefined => {
  const name = given.toLowerCase()
  return /^[!#$%&'+.^_`|~0-9a-z-]{1,128}$/.test(name) && !(name in {}) ? name : undefined
}

/** The name of a request header (RFC 9110 §5.6.2), in lower case. */
export const headerName = parsed("the name of a request header, such as X-Tenant", Schema.String, headerIn)

/** Headers that a client writes itself, or that have no address. */
const NO_ADDRESS =
  /^(?:host|via|origin|referer|user-agent|cookie|authorization|from|te|trailer|connection|upgrade|date|accept.*|content-.*|sec-.*|x-forwarded-(?:host|port|proto|server))$/

/** The name of the header in which a proxy names its client's address, in lower case. */
export const addressHeader = parsed(
  "the name of a header with an address, such as X-Forwarded-For",
  Schema.String,
  (given) => (NO_ADDRESS.test(given.toLowerCase()) ? undefined : headerIn(given)),
)

/** An origin as browsers send it (RFC 6454), or `*`. */
export const origin = parsed(
  "an origin such as https://shop.example (scheme, host, port and no path), or *; one a list item",
  Schema.String,
  (given) => {
    if (given === "*") return given
    const url = URL.parse(given)
    if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) return undefined
    return /^https?:\/\/[^/?#@*\\\s]+\/?$/i.test(given) ? url.origin : undefined
  },
)

const RANGES = new Map<string, ReadonlyArray<string>>([
  ["loopback", ["127.0.0.0/8", "::1/128"]],
  ["private", ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"]],
])

/** Whether the gate can compile it; brackets and zone ids are allowed in addresses of requests only. */
const isProxy = (given: string): boolean => !/[[\]%]/.test(given) && parseRange(given) !== undefined

/** The network of a CIDR without host bits: `10.0.0.0/8` for `10.1.2.3/8`. */
const networkOf = (cidr: string): string => {
  const [address, bits] = ipaddr.parseCIDR(cidr)
  const kind = address.kind() === "ipv4" ? ipaddr.IPv4 : ipaddr.IPv6
  return `${kind.networkAddressFromCIDR(cidr).toString()}/${bits}`
}

/** A CIDR with host bits trusts more than the one address that it names. */
const withoutHostBits: Text<string> = Schema.String.check(
  Schema.makeFilter((given) => {
    if (!given.includes("/") || !isProxy(given)) return true
    const [address, bits] = ipaddr.parseCIDR(given)
    const network = networkOf(given)
    const [first] = ipaddr.parseCIDR(network)
    if (first.toString() === address.toString()) return true
    const alone = given.slice(0, given.indexOf("/"))
    return `the network ${network}, or the address ${alone} alone: a CIDR has no bits after its first ${bits}`
  }),
)

const proxy = parsed(
  "an address, a CIDR such as 10.0.0.0/8 (no leading zeros), or one of the words loopback and private; one a list item",
  Schema.Array(Schema.String),
  (given) => RANGES.get(given.toLowerCase()) ?? (isProxy(given) ? [given] : undefined),
  withoutHostBits,
)

/** Addresses and CIDRs; `loopback` and `private` stand for several. */
export const proxies: Schema.Codec<ReadonlyArray<string>, string | ReadonlyArray<string>> = list(proxy).pipe(
  Schema.decodeTo(
    Schema.Array(Schema.String),
    SchemaTransformation.transform<ReadonlyArray<string>, ReadonlyArray<ReadonlyArray<string>>>({
      decode: (ranges) => unique(ranges.flat()),
      encode: (ranges) => ranges.map((range) => [range]),
    }),
  ),
  Schema.annotate(withNotes(proxy, { list: true })),
)
