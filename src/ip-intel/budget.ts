/** Budgets for lookups: one per process, and a share per network, so that no network can use it up alone. */
import { ageOf } from "../lib/age.ts"
import type { Address } from "../lib/ip/address.ts"
import { makeWindows } from "../lib/windows.ts"

const WINDOW_MILLIS = 60_000
const DAY_MILLIS = 24 * 60 * WINDOW_MILLIS
/** A network that takes its share of a minute for so long has used up that of a day. An IPv4 /24 has 256 addresses. */
const MINUTES_PER_DAY = 10

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
    if (at === undefined || ageOf(at, now) < WINDOW_MILLIS) return false
    taken[oldest] = now
    oldest = (oldest + 1) % taken.length
    return true
  }
}

/** The number of networks whose shares are tracked; beyond it, the one that was idle the longest starts with a fresh share. */
const MAX_NETWORKS = 20_000

/** The /16 of IPv4, the /32 of IPv6: roughly the range of one internet provider. */
const widerKey = ({ words: [first, ...rest] }: Address): string =>
  rest.length === 0 ? `4:${first >>> 16}` : `6:${first}`

/**
 * Takes one lookup of an address at the time `now` (ms). When a budget is used up it takes nothing and returns which one: that
 * of the address's network (/24, /48) in a minute or in a day, of the wider network (/16, /32), or of the whole process.
 */
export type SharedBudget = (address: Address, now: number) => "taken" | "network" | "day" | "wider" | "whole"

/** @param ofNetwork how many of the `perMinute` lookups one network may take; a wider network may take half of them */
export const makeSharedBudget = (perMinute: number, ofNetwork: number): SharedBudget => {
  const whole = makeBudget(perMinute)
  const networks = makeWindows(WINDOW_MILLIS, MAX_NETWORKS)
  const days = makeWindows(DAY_MILLIS, MAX_NETWORKS)
  const wider = makeWindows(WINDOW_MILLIS, MAX_NETWORKS)
  const [ofDay, ofWider] = [networkPerDay(ofNetwork), widerShare(perMinute, ofNetwork)]
  return (address, now) => {
    const [network, range] = [address.networkKey, widerKey(address)]
    if (networks.used(network, now) >= ofNetwork) return "network"
    if (days.used(network, now) >= ofDay) return "day"
    if (wider.used(range, now) >= ofWider) return "wider"
    if (!whole(now)) return "whole"
    networks.add(network, now)
    days.add(network, now)
    wider.add(range, now)
    return "taken"
  }
}

export const networkPerDay = (ofNetwork: number): number => Math.max(256, MINUTES_PER_DAY * ofNetwork)

export const widerShare = (perMinute: number, ofNetwork: number): number =>
  Math.max(ofNetwork, Math.ceil(perMinute / 2))
