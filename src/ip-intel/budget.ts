/** Budgets for lookups: one per process, and a share per network, so that no network can use it up alone. */
import { boundedCache } from "../bounded-cache.ts"
import type { Address } from "./address.ts"

const WINDOW_MILLIS = 60_000

/** Takes one lookup at the time `now` (ms); false when the budget is used up. */
export type Budget = (now: number) => boolean

/**
 * A sliding window: never more than `perMinute` lookups of this process in any 60 seconds. Stores the times of the last
 * `perMinute` lookups, so unlike a fixed window it does not allow a double burst at a boundary.
 */
export const makeBudget = (perMinute: number): Budget => {
  const taken = new Float64Array(Math.max(0, perMinute)).fill(Number.NEGATIVE_INFINITY)
  let oldest = 0
  return (now) => {
    const at = taken[oldest]
    if (at === undefined || now - at < WINDOW_MILLIS) return false
    taken[oldest] = now
    oldest = (oldest + 1) % taken.length
    return true
  }
}

/** The number of networks whose shares are tracked; beyond it, the one that was idle the longest starts with a fresh share. */
const MAX_NETWORKS = 20_000

interface Share {
  readonly since: number
  taken: number
}

/** A fixed window per name: each may take `perMinute` in the minute that starts with its first one. */
const makeShares = (perMinute: number) => {
  const shares = boundedCache<Share>(MAX_NETWORKS)
  const current = (name: string, now: number): Share | undefined => {
    const share = shares.get(name)
    return share !== undefined && now - share.since < WINDOW_MILLIS ? share : undefined
  }
  return {
    hasLeft: (name: string, now: number): boolean => (current(name, now)?.taken ?? 0) < perMinute,
    take: (name: string, now: number): void => {
      const share = current(name, now)
      if (share === undefined) shares.set(name, { since: now, taken: 1 })
      else share.taken += 1
    },
  }
}

/** The /16 of IPv4, the /32 of IPv6: roughly the range of one internet provider. */
const widerKey = ({ words: [first, ...rest] }: Address): string =>
  rest.length === 0 ? `4:${first >>> 16}` : `6:${first}`

/**
 * Takes one lookup of an address at the time `now` (ms). When a budget is used up it takes nothing and returns which one: that
 * of the address's network (/24, /48), of the wider network (/16, /32), or of the whole process.
 */
export type SharedBudget = (address: Address, now: number) => "taken" | "network" | "wider" | "whole"

/** @param ofNetwork how many of the `perMinute` lookups one network may take; a wider network may take half of them */
export const makeSharedBudget = (perMinute: number, ofNetwork: number): SharedBudget => {
  const whole = makeBudget(perMinute)
  const networks = makeShares(ofNetwork)
  const wider = makeShares(widerShare(perMinute, ofNetwork))
  return (address, now) => {
    const [network, range] = [address.networkKey, widerKey(address)]
    if (!networks.hasLeft(network, now)) return "network"
    if (!wider.hasLeft(range, now)) return "wider"
    if (!whole(now)) return "whole"
    networks.take(network, now)
    wider.take(range, now)
    return "taken"
  }
}

/** How many of `perMinute` lookups a wider network may take. */
export const widerShare = (perMinute: number, ofNetwork: number): number =>
  Math.max(ofNetwork, Math.ceil(perMinute / 2))
