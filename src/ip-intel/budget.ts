/**
 * Budgets of lookups: one of the whole process, and shares of it, so that no network spends it alone.
 */
import { boundedCache } from "../bounded-cache.ts"
import type { Address } from "./address.ts"

const WINDOW_MILLIS = 60_000

/** Takes one lookup at the time `now` (milliseconds); false when the budget is used up. */
export type Budget = (now: number) => boolean

/**
 * Never more than `perMinute` in any 60 seconds of this process. Remembers when each of the last `perMinute` lookups was made,
 * so unlike a fixed window it lets no double burst through at a boundary.
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

/** The most networks whose shares are remembered; when there are more, the one that was idle longest begins anew. */
const MOST_NETWORKS = 20_000

interface Share {
  readonly since: number
  taken: number
}

/** What each of many may take in a minute, which begins with the first that it takes. */
const makeShares = (perMinute: number) => {
  const shares = boundedCache<Share>(MOST_NETWORKS)
  const current = (name: string, now: number): Share | undefined => {
    const share = shares.get(name)
    return share !== undefined && now - share.since < WINDOW_MILLIS ? share : undefined
  }
  return {
    isLeft: (name: string, now: number): boolean => (current(name, now)?.taken ?? 0) < perMinute,
    take: (name: string, now: number): void => {
      const share = current(name, now)
      if (share === undefined) shares.set(name, { since: now, taken: 1 })
      else share.taken += 1
    },
  }
}

/** The /16 of IPv4, the /32 of IPv6: about what one provider of addresses has. */
const widerKey = ({ words: [first, ...rest] }: Address): string =>
  rest.length === 0 ? `4:${first >>> 16}` : `6:${first}`

/**
 * Takes one lookup of an address at the time `now` (milliseconds). Otherwise says whose budget is spent, and takes nothing:
 * that of the address's network (/24, /48), that of the wider network (/16, /32), or the whole.
 */
export type SharedBudget = (address: Address, now: number) => "taken" | "network" | "wider" | "whole"

/** A network may take `ofNetwork` of `perMinute` lookups, a wider network half of them. */
export const makeSharedBudget = (perMinute: number, ofNetwork: number): SharedBudget => {
  const whole = makeBudget(perMinute)
  const networks = makeShares(ofNetwork)
  const wider = makeShares(widerShare(perMinute, ofNetwork))
  return (address, now) => {
    const [network, range] = [address.networkKey, widerKey(address)]
    if (!networks.isLeft(network, now)) return "network"
    if (!wider.isLeft(range, now)) return "wider"
    if (!whole(now)) return "whole"
    networks.take(network, now)
    wider.take(range, now)
    return "taken"
  }
}

/** What a wider network may take of `perMinute` lookups. */
export const widerShare = (perMinute: number, ofNetwork: number): number =>
  Math.max(ofNetwork, Math.ceil(perMinute / 2))
