/**
 * Watches for requests whose caller's address may not be the caller's. A proxy that is not known gives all its callers one address, and so
 * one limit, in silence: the log says so once, with the setting.
 */
import type { IncomingMessage } from "node:http"
import { parseAddress } from "../lib/ip/address.ts"
import { seenAddress, type TrustedProxies } from "../lib/ip/client-address.ts"
import { header } from "./repeated-headers.ts"

/** Headers in which proxies and CDNs name the address of their client. */
export const ADDRESS_HEADERS = [
  "x-forwarded-for",
  "forwarded",
  "cf-connecting-ip",
  "true-client-ip",
  "x-real-ip",
  "x-client-ip",
  "x-cluster-client-ip",
  "fastly-client-ip",
  "fly-client-ip",
  "x-azure-clientip",
  "x-envoy-external-address",
] as const

export interface AddressWatch {
  /** the header in which trusted proxies name the caller's address, in lower case */
  readonly header: () => string
  readonly trusted: () => TrustedProxies
  /** the settings of both, for the warnings */
  readonly names: { readonly header: string; readonly proxies: string }
  /** Whether a request from a trusted proxy without the header is a caller's. */
  readonly needsAddress: (request: IncomingMessage) => boolean
  readonly warn: (text: string) => void
}

/** Warnings of one kind, for as many different proxies; a caller that only pretends to be one must not fill the log. */
const MOST_WARNINGS = 3

const TITLES = new Map([
  ["cf-connecting-ip", "CF-Connecting-IP"],
  ["true-client-ip", "True-Client-IP"],
  ["x-real-ip", "X-Real-IP"],
  ["fly-client-ip", "Fly-Client-IP"],
])
const titleOf = (name: string): string =>
  TITLES.get(name) ?? name.replace(/(^|-)([a-z])/g, (_, dash: string, letter: string) => dash + letter.toUpperCase())

/** A mistake shows in every request of a proxy: after so many requests, only one in `THEN_ONE_IN` is looked at, because a look costs as much as an address. */
const FIRST_LOOKS = 1_000
const THEN_ONE_IN = 64

/** What is wrong with how the address of a request's caller is found: the kind and the words; undefined if nothing is. */
const doubtOf = (
  request: IncomingMessage,
  { names, needsAddress, ...now }: AddressWatch,
): readonly [kind: "untrusted" | "header" | "entry" | "none", text: string] | undefined => {
  const name = now.header()
  const trusted = now.trusted()
  const peer = parseAddress(request.socket.remoteAddress ?? "")
  if (peer === undefined) return undefined
  const value = header(request, name)
  const shared = "All its callers count as one address, with one limit"
  if (!trusted.has(peer)) {
    const other = value === undefined ? ADDRESS_HEADERS.find((each) => each in request.headers) : name
    if (other === undefined) return undefined
    const text =
      `${peer.text} sends ${titleOf(other)}, and is not one of ${names.proxies}: the header is ignored. ` +
      `If it is your proxy or CDN, add it to ${names.proxies}. ${shared}.`
    return ["untrusted", text]
  }
  if (value === undefined) {
    const other = ADDRESS_HEADERS.find((each) => each in request.headers)
    if (other !== undefined) {
      const text =
        `The trusted proxy ${peer.text} sends ${titleOf(other)}, and no ${titleOf(name)}: set ${names.header} to ` +
        `${titleOf(other)} if your proxy sets that header itself and lets no caller choose it. ${shared}.`
      return ["header", text]
    }
    if (!needsAddress(request)) return undefined
    const text =
      `The trusted proxy ${peer.text} sends no ${titleOf(name)}: let it send the header, or name another one in ` +
      `${names.header}. ${shared}.`
    return ["none", text]
  }
  const seen = seenAddress({ socketAddress: peer.text, header: name, value, trusted })
  if (seen?.unreadable !== true) return undefined
  const text =
    `The trusted proxy ${peer.text} sends a ${titleOf(name)} that does not end with an address ` +
    `(${names.header}). ${shared}, that of the last proxy.`
  return ["entry", text]
}

/**
 * Looks at requests, and warns of each kind of mistake once for a proxy of this network, and for at most `MOST_WARNINGS` other addresses.
 */
export const makeAddressWatch = (watch: AddressWatch): ((request: IncomingMessage) => void) => {
  const warned = new Set<string>()
  const warnings = new Map<string, number>()
  let requests = 0
  return (request) => {
    requests++
    if (requests > FIRST_LOOKS && requests % THEN_ONE_IN !== 0) return
    const found = doubtOf(request, watch)
    if (found === undefined) return
    const [kind, text] = found
    const peer = parseAddress(request.socket.remoteAddress ?? "")
    // programs of the own network are believed to be proxies; anyone on the internet can send such a header
    const group = `${kind} ${peer?.isPublic === true ? "public" : "own"}`
    const count = warnings.get(group) ?? 0
    const key = `${kind} ${peer?.limitKey ?? ""}`
    if (count >= MOST_WARNINGS || warned.has(key)) return
    warned.add(key)
    warnings.set(group, count + 1)
    watch.warn(text)
  }
}
