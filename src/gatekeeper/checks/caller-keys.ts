/** How a caller is known to the limiter by the subject or the address, and to the queue and the platform's circuit by the address. */
import type { CallerNames } from "../../caller-names/CallerNames.ts"
import { limitKey, networkKey, shortNetworkKey } from "../../lib/ip/address.ts"
import type { Identity } from "../../protocol/identity.ts"

const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193

/**
 * One of 65,536 groups of networks (the /24 of IPv4, the /48 of IPv6), or of their names where addresses are hashed. Two networks rarely
 * share a group, yet a group does not identify a network: about 250 IPv4 networks map to each. So it may be stored with a ticket where an
 * address may not.
 */
const callerGroup = (network: string): string => {
  // FNV-1a, folded to 16 bits
  let hash = FNV_OFFSET
  for (let i = 0; i < network.length; i++) hash = Math.imul(hash ^ network.charCodeAt(i), FNV_PRIME)
  return ((hash >>> 16) ^ (hash & 0xffff)).toString(36)
}

export interface CallerKeys {
  /** the rate limiter's key: the name of the subject where it is known, else that of the address */
  readonly caller: string
  /** the network whose share of the queue it counts toward; empty for none */
  readonly network: string
}

type KnownCaller = Pick<Identity, "subject"> | undefined

export const callerOf = (names: CallerNames["Service"], address: string, identity: KnownCaller): string =>
  identity === undefined ? names.of(limitKey(address)) : names.subject(identity.subject)

export const callerKeys = (names: CallerNames["Service"], address: string, identity: KnownCaller): CallerKeys => {
  const short = shortNetworkKey(address)
  return { caller: callerOf(names, address, identity), network: short === "" ? "" : names.of(short) }
}

export const groupOfCaller = (names: CallerNames["Service"], address: string): string =>
  callerGroup(names.of(networkKey(address) || limitKey(address)))
