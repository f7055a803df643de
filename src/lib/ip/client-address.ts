/**
 * The client address of a request: the socket's, or, behind configured proxies, the nearest address in the header that they set
 * (`X-Forwarded-For` or another) that is not a trusted proxy. Entries that the client wrote into the header are never trusted.
 */
import { type Address, parseAddress } from "./address.ts"
import { parseRange, type Range, RangeSet } from "./ranges.ts"

/** The proxies whose header is trusted. */
export interface TrustedProxies {
  readonly has: (address: Address) => boolean
}

/** Compiles `Security.TrustedProxies`: addresses and CIDRs. Throws a `TypeError` that contains the entry for anything else. */
export const trustedProxies = (entries: ReadonlyArray<string>): TrustedProxies => {
  const ranges: Array<Range> = []
  for (const entry of entries) {
    const range = parseRange(entry.trim())
    if (range === undefined) throw new TypeError(`not an address or CIDR: ${JSON.stringify(entry)}`)
    ranges.push(range)
  }
  return new RangeSet(ranges)
}

/** Some proxies append the port: `192.0.2.1:4711` or `[2001:db8::1]:4711`. */
const withoutPort = (entry: string): string => {
  const colon = entry.lastIndexOf(":")
  if (colon < 0) return entry
  const isPort = entry.startsWith("[") ? entry[colon - 1] === "]" : entry.indexOf(":") === colon
  return isPort && /^\d{1,5}$/.test(entry.slice(colon + 1)) ? entry.slice(0, colon) : entry
}

/** Returns the entries of a list from the right, and undefined after the first. Empty ones, as after a comma at the end, do not count. */
const entriesFromRight = (list: string): (() => string | undefined) => {
  let end = list.length
  return () => {
    while (end >= 0) {
      // lastIndexOf treats a negative position as 0, which would read a leading comma twice
      const comma: number = end === 0 ? -1 : list.lastIndexOf(",", end - 1)
      const entry = list.slice(comma + 1, end).trim()
      end = comma
      if (entry !== "") return entry
    }
    return undefined
  }
}

const isEscaped = (text: string, at: number): boolean => {
  let first = at
  while (first > 0 && text[first - 1] === "\\") first--
  return (at - first) % 2 === 1
}

/**
 * The elements of a header in which texts in quotes may have commas, from the right. Quotes are read from the right too: a caller's quote
 * that is not closed must not hide what the proxy has added behind it.
 */
const elementsFromRight = (header: string): (() => string | undefined) => {
  let end = header.length
  return () => {
    while (end >= 0) {
      let at = end - 1
      for (let quoted = false; at >= 0; at--) {
        if (header[at] === '"' && !isEscaped(header, at)) quoted = !quoted
        else if (header[at] === "," && !quoted) break
      }
      const element = header.slice(at + 1, end).trim()
      end = at
      if (element !== "") return element
    }
    return undefined
  }
}

/** One parameter of an element of `Forwarded` (RFC 7239): `for=192.0.2.1` or `for="[2001:db8::1]:4711"`. */
const PARAMETER = /\s*([\w!#$%&'*+.^`|~-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s,;"]+))\s*(?:;|$)/y

/** `unknown` when it has none or cannot be read. */
const forOf = (element: string): string => {
  let node = "unknown"
  PARAMETER.lastIndex = 0
  while (PARAMETER.lastIndex < element.length) {
    const match = PARAMETER.exec(element)
    if (match === null) return "unknown"
    const [, name = "", quoted, plain = ""] = match
    if (name.toLowerCase() === "for") node = quoted === undefined ? plain : quoted.replace(/\\(.)/g, "$1")
  }
  return node
}

/** The header of RFC 7239. Every other header is a list of addresses, or a single one. */
const FORWARDED = "forwarded"

const entriesOf = (name: string, value: string): (() => string | undefined) => {
  if (name !== FORWARDED) return entriesFromRight(value)
  const next = elementsFromRight(value)
  return () => {
    const element = next()
    return element === undefined ? undefined : forOf(element)
  }
}

/** Where an address is from. */
export interface Seen {
  /** in canonical form */
  readonly address: string
  /** a trusted proxy sent an entry that is no address, so the address is that of the proxy */
  readonly unreadable?: true
}

/**
 * The caller's address, or undefined when the socket has none.
 *
 * Walks the header from the right while the current address is a trusted proxy. An entry that is no address (`unknown`) ends the walk with
 * the last valid address, because no known proxy wrote the entries to its left.
 */
export const seenAddress = (from: {
  readonly socketAddress: string | undefined
  /** the name of the header that proxies set, in lower case */
  readonly header: string
  /** several headers joined by commas, in order */
  readonly value: string | undefined
  readonly trusted: TrustedProxies
}): Seen | undefined => {
  if (from.socketAddress === undefined) return undefined
  let address = parseAddress(from.socketAddress)
  if (address === undefined) return undefined
  if (from.value === undefined || !from.trusted.has(address)) return { address: address.text }
  const next = entriesOf(from.header, from.value)
  for (let entry = next(); entry !== undefined; entry = next()) {
    const found: Address | undefined = parseAddress(withoutPort(entry))
    if (found === undefined) return { address: address.text, unreadable: true }
    address = found
    if (!from.trusted.has(address)) break
  }
  return { address: address.text }
}

/** The same without where it is from. */
export const clientAddress = (from: Parameters<typeof seenAddress>[0]): string | undefined => seenAddress(from)?.address
