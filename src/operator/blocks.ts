/** Which addresses and networks operators may block, and by which names. */
import { limitKey, networkKey, parseAddress } from "../lib/ip/address.ts"

/** The hash of an address, as `Privacy.Addresses: hashed` shows it (`CallerNames`). */
const HASHED = /^h[\w-]{16}$/
const NETWORK = /^(.+)\/(24|48|64)$/

/**
 * The name of what an operator blocks: of an IP address (of IPv6 its /64), of a network (/24 of IPv4, /48 of IPv6), or the hash of one.
 * Undefined for anything else.
 *
 * @param nameOf the name of an address or a network
 */
export const blockedName = (nameOf: (key: string) => string, given: string): string | undefined => {
  const text = given.trim()
  if (HASHED.test(text)) return text
  if (parseAddress(text) !== undefined) return nameOf(limitKey(text))
  const [, base = "", bits] = NETWORK.exec(text) ?? []
  const address = parseAddress(base)
  if (address === undefined) return undefined
  const isIPv4 = address.words.length === 1
  if (isIPv4 !== (bits === "24")) return undefined
  const key = bits === "64" ? limitKey(base) : networkKey(base)
  return key === "" ? undefined : nameOf(key)
}
