/**
 * The client address of a request: the socket's, or, behind configured proxies, the nearest address in `X-Forwarded-For` that
 * is not a trusted proxy. Entries that the client wrote into the header are never trusted.
 */
import { type Address, parseAddress } from "./address.ts"
import { parseRange, type Range, RangeSet } from "./ranges.ts"

/** The proxies whose `X-Forwarded-For` is trusted. */
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

/**
 * The caller's address in canonical form, or undefined when the socket has none.
 *
 * Walks `forwardedFor` from the right while the current address is a trusted proxy. An invalid entry ends the walk with the last
 * valid address, because no known proxy wrote the entries to its left.
 */
export const clientAddress = (from: {
  readonly socketAddress: string | undefined
  /** the header's value; several headers joined by commas, in order */
  readonly forwardedFor: string | undefined
  readonly trusted: TrustedProxies
}): string | undefined => {
  if (from.socketAddress === undefined) return undefined
  let address = parseAddress(from.socketAddress)
  if (address === undefined) return undefined
  const header = from.forwardedFor
  if (header === undefined) return address.text
  let end = header.length
  while (end >= 0 && from.trusted.has(address)) {
    // lastIndexOf treats a negative position as 0, which would read a leading comma twice
    const comma: number = end === 0 ? -1 : header.lastIndexOf(",", end - 1)
    const next: Address | undefined = parseAddress(withoutPort(header.slice(comma + 1, end).trim()))
    if (next === undefined) break
    address = next
    end = comma
  }
  return address.text
}
