/** Counts what each key holds, such as the open connections of a caller, up to a limit. A key that holds nothing takes no memory. */
export interface Held {
  /** Counts one more; false, and nothing counted, when the key holds as many as it may. */
  readonly acquire: (key: string) => boolean
  readonly release: (key: string) => void
  /** How many the key holds. */
  readonly of: (key: string) => number
  /** Every key that holds something, and how many. */
  readonly all: () => ReadonlyMap<string, number>
}

/** @param most how many a key may hold; without a limit if absent */
export const makeHeld = (most: number = Number.POSITIVE_INFINITY): Held => {
  const counts = new Map<string, number>()
  const of: Held["of"] = (key) => counts.get(key) ?? 0
  return {
    acquire: (key) => {
      const held = of(key)
      if (held < most) counts.set(key, held + 1)
      return held < most
    },
    release: (key) => {
      const left = of(key) - 1
      if (left > 0) counts.set(key, left)
      else counts.delete(key)
    },
    of,
    all: () => counts,
  }
}

/** A network (the /24 of IPv4, the /48 of IPv6) may hold as much as so many addresses. */
export const NETWORK_FACTOR = 16

/**
 * Counts what each address (IPv6: each /64) holds, and what its network does: one household may have 256 of the /64. An address that is not public
 * has no network, which is empty then.
 */
export interface HeldByNetwork {
  /** Counts one more; false, and nothing counted, when the address or the network holds as much as it may. */
  readonly acquire: (address: string, network: string) => boolean
  readonly release: (address: string, network: string) => void
}

/** @param most how many an address may hold */
export const makeHeldByNetwork = (most: number): HeldByNetwork => {
  const ofAddress = makeHeld(most)
  const ofNetwork = makeHeld(most * NETWORK_FACTOR)
  return {
    acquire: (address, network) => {
      if (!ofAddress.acquire(address)) return false
      if (network === "" || ofNetwork.acquire(network)) return true
      ofAddress.release(address)
      return false
    },
    release: (address, network) => {
      ofAddress.release(address)
      if (network !== "") ofNetwork.release(network)
    },
  }
}
