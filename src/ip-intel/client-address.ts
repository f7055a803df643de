/**
 * Whose address a request comes from: the socket's, or, behind configured proxies, the nearest address in
 * `X-Forwarded-For` that is not itself a trusted proxy. What a client writes into the header is never believed.
 */
import { type Address, parseAddress } from "./address.ts"
import { parseRange, type Range, RangeSet } from "./ranges.ts"

/** The proxies whose `X-Forwarded-For` is believed. */
export interface TrustedProxies {
  readonly has: (address: Address) => boolean
}

/**
 * Compiles `Security.TrustedProxies`: addresses and CIDRs. Throws a `TypeError` that names the entry for anything else;
 * `parseRange` tells beforehand.
 */
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
 * Walks `forwardedFor` from the right for as long as the address so far is a trusted proxy. An entry that is no address
 * ends the walk: the last good address counts, since what stands left of it was not written by a proxy we know.
 */
export const clientAddress = (from: {
  readonly socketAddress: string | undefined
  /** the header's value; several headers joined by commas, in their order */
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
    // lastIndexOf takes a negative position for 0, which would read a leading comma twice
    const comma: number = end === 0 ? -1 : header.lastIndexOf(",", end - 1)
    const next: Address | undefined = parseAddress(withoutPort(header.slice(comma + 1, end).trim()))
    if (next === undefined) break
    address = next
    end = comma
  }
  return address.text
}
