/**
 * Maps a network to one of 65,536 groups. Two networks rarely share a group, yet a group does not identify a network: about 250
 * IPv4 networks map to each. So it may be stored with a ticket where an address may not.
 */
const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193

/** The group of a network (the /24 of IPv4, the /48 of IPv6), or of its name where addresses are hashed. */
export const callerGroup = (network: string): string => {
  // FNV-1a, folded to 16 bits
  let hash = FNV_OFFSET
  for (let i = 0; i < network.length; i++) hash = Math.imul(hash ^ network.charCodeAt(i), FNV_PRIME)
  return ((hash >>> 16) ^ (hash & 0xffff)).toString(36)
}
