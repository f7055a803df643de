/** The addresses from which a key may be used: IPv4 and IPv6 addresses and CIDRs. */
import { parseAddress } from "../../lib/ip/address.ts"
import { parseRange, type Range, RangeSet } from "../../lib/ip/ranges.ts"

const MAX_KEY_ADDRESSES = 50

/** Refuses brackets, which belong to URLs, and zone ids, which only one machine knows. */
const rangeOf = (entry: string): Range | undefined => (/[[\]%]/.test(entry) ? undefined : parseRange(entry))

/** The entries without spaces and repetitions. */
export const cleanAddresses = (entries: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...new Set(entries.map((entry) => entry.trim()).filter((entry) => entry !== "")),
]

/** What is wrong with a list that was cleaned; undefined when it is valid. */
export const addressProblem = (entries: ReadonlyArray<string>): string | undefined => {
  if (entries.length > MAX_KEY_ADDRESSES) return `the key's addresses: Expected at most ${MAX_KEY_ADDRESSES}.`
  const wrong = entries.flatMap((entry, index) => (rangeOf(entry) === undefined ? [index + 1] : []))
  if (wrong.length === 0) return undefined
  return `the key's addresses, number ${wrong.join(", ")}: Expected an address such as 203.0.113.7 or a CIDR such as 203.0.113.0/24.`
}

/** Compiled lists; a cached key keeps its list, so it is compiled once. */
const compiled = new WeakMap<ReadonlyArray<string>, RangeSet>()

/**
 * Whether a key with this list may be used from the address.
 *
 * @param entries empty for any address
 * @param address of the client; one that is unknown is not allowed by any list
 */
export const allowsAddress = (entries: ReadonlyArray<string>, address: string): boolean => {
  if (entries.length === 0) return true
  const parsed = parseAddress(address)
  if (parsed === undefined) return false
  const known = compiled.get(entries)
  if (known !== undefined) return known.has(parsed)
  const ranges = entries.map(rangeOf).filter((range) => range !== undefined)
  const set = new RangeSet(ranges)
  compiled.set(entries, set)
  return set.has(parsed)
}
