/**
 * Internet addresses as the gate compares, counts and looks them up. One address has one canonical text, whatever form it
 * arrived in: IPv4-mapped IPv6 is IPv4, IPv6 is compressed lower case, zone ids and brackets are gone. Anything else
 * (octal or short IPv4, a host name, a port) is not an address. Taking IPv4 apart costs less than looking it up, so
 * only the last one is remembered; of other texts, the last 1,000.
 */
import { isIPv4 } from "node:net"
import ipaddr from "ipaddr.js"
import { LRUCache } from "lru-cache"

/** An address taken apart once. */
export interface Address {
  /** canonical form */
  readonly text: string
  /** big-endian 32-bit words: one for IPv4, four for IPv6 */
  readonly words: readonly [number] | readonly [number, number, number, number]
  /** routed on the public internet, so that a provider may know it */
  readonly isPublic: boolean
  /** what a caller's budgets are counted by: IPv4 itself, the /64 of IPv6 */
  readonly limitKey: string
}

/** Longest text worth parsing: a bracketed IPv6 address with a zone id. */
const MAX_TEXT = 80

/**
 * Ranges (as ipaddr.js names them) that a caller on the internet can come from. The tunnels 6to4 and Teredo are among
 * them: were they skipped, they would be a way around the check.
 */
const PUBLIC_RANGES: ReadonlySet<string> = new Set(["unicast", "6to4", "teredo"])

const DOT = 46
const ZERO = 48

/** Four decimal parts without leading zeros, which is the canonical form already. */
class IPv4 implements Address {
  readonly text: string
  readonly words: readonly [number]
  constructor(text: string) {
    this.text = text
    let word = 0
    let part = 0
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      if (code === DOT) {
        word = (word << 8) | part
        part = 0
      } else {
        part = part * 10 + code - ZERO
      }
    }
    this.words = [((word << 8) | part) >>> 0]
  }
  get limitKey(): string {
    return this.text
  }
  get isPublic(): boolean {
    const [word] = this.words
    const octets = [word >>> 24, (word >>> 16) & 255, (word >>> 8) & 255, word & 255]
    return PUBLIC_RANGES.has(new ipaddr.IPv4(octets).range())
  }
}

const fromIPv6 = (address: ipaddr.IPv6): Address => {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = address.parts
  return {
    // a new one, without the zone id
    text: new ipaddr.IPv6(address.parts).toString(),
    words: [((a << 16) | b) >>> 0, ((c << 16) | d) >>> 0, ((e << 16) | f) >>> 0, ((g << 16) | h) >>> 0],
    isPublic: PUBLIC_RANGES.has(address.range()),
    limitKey: `${new ipaddr.IPv6([a, b, c, d, 0, 0, 0, 0]).toString()}/64`,
  }
}

/** Takes an address apart without remembering it: for long lists. Undefined when the text is no address. */
export const parseOnce = (text: string): Address | undefined => {
  if (text.length > MAX_TEXT) return undefined
  // net's check is strict: four decimal parts, no leading zeros
  if (isIPv4(text)) return new IPv4(text)
  const bare = text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text
  if (!bare.includes(":") || !ipaddr.IPv6.isValid(bare)) return undefined
  const address = ipaddr.IPv6.parse(bare)
  return address.isIPv4MappedAddress() ? new IPv4(address.toIPv4Address().toString()) : fromIPv6(address)
}

// misses are remembered too: a client may send the same garbage with every request
const parsed = new LRUCache<string, { readonly address: Address | undefined }>({ max: 1_000 })

/** A request's address is taken apart by each that looks at it, one after the other. */
let last: IPv4 | undefined

/** Takes an address apart. Undefined when the text is no address; never throws. */
export const parseAddress = (text: string): Address | undefined => {
  if (last?.text === text) return last
  if (isIPv4(text)) {
    last = new IPv4(text)
    return last
  }
  const known = parsed.get(text)
  if (known !== undefined) return known.address
  const address = parseOnce(text)
  if (text.length <= MAX_TEXT) parsed.set(text, { address })
  return address
}

/** The one text of an address, or undefined when it is none. */
export const canonicalAddress = (text: string): string | undefined => parseAddress(text)?.text

/** Whether an address is routed on the public internet; false for what is no address. */
export const isPublic = (address: string): boolean => parseAddress(address)?.isPublic === true

/** What a caller's budgets are counted by: an IPv4 address itself, an IPv6 address's /64 (`2001:db8:1:2::/64`). */
export const limitKey = (address: string): string => parseAddress(address)?.limitKey ?? address
