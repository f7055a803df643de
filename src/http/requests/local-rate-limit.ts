/**
 * Limits requests per minute of an address and of its network. Counted in process memory, so that a refusal costs the store
 * nothing; each instance counts separately.
 */

import { Clock, Effect, Schedule, type Scope } from "effect"
import { limitKey, networkKey } from "../../lib/ip/address.ts"
import { makeWindows, type Windows } from "../../lib/windows.ts"

const MINUTE = 60_000
/** The limit of a network (the /24 of IPv4, the /48 of IPv6), as a multiple of the limit of an address, unless another is given. */
export const NETWORK_FACTOR = 5
/** Maximum addresses, and networks, that are counted at once; the least recently used is dropped. */
const MAX_COUNTED = 10_000

export interface LocalRateLimit {
  /** Seconds until `address` may send another request; 0 if it may now. Counts nothing. */
  readonly retryAfter: (address: string, now: number) => number
  /** The same, by the limit of the address alone. */
  readonly ownRetryAfter: (address: string, now: number) => number
  /** The same as `retryAfter`, and counts the request if it is allowed. */
  readonly take: (address: string, now: number) => number
  /** Gives back the unit of a request that was allowed within this minute. */
  readonly giveBack: (address: string, now: number) => void
  /** Drops expired counts to free their memory. */
  readonly dropExpired: (now: number) => void
}

/**
 * `readPerMinute` is called for each request and returns the limit of an address (IPv6: of a /64); 0 is no limit. Expired counts stay in
 * memory until `dropExpired`.
 */
export const makeLocalRateLimit = (
  readPerMinute: () => number,
  networkFactor: number = NETWORK_FACTOR,
): LocalRateLimit => {
  const [addresses, networks] = [makeWindows(MINUTE, MAX_COUNTED), makeWindows(MINUTE, MAX_COUNTED)]

  const retryAfterOf = (windows: Windows, key: string, limit: number, now: number): number =>
    windows.used(key, now) < limit ? 0 : Math.ceil((windows.endsAt(key, now) - now) / 1000)
  const retryAfter: LocalRateLimit["retryAfter"] = (address, now) => {
    const perMinute = readPerMinute()
    if (perMinute === 0) return 0
    const network = networkKey(address)
    return Math.max(
      retryAfterOf(addresses, limitKey(address), perMinute, now),
      network === "" ? 0 : retryAfterOf(networks, network, perMinute * networkFactor, now),
    )
  }
  return {
    retryAfter,
    ownRetryAfter: (address, now) => {
      const perMinute = readPerMinute()
      return perMinute === 0 ? 0 : retryAfterOf(addresses, limitKey(address), perMinute, now)
    },
    giveBack: (address, now) => {
      addresses.giveBack(limitKey(address), now)
      networks.giveBack(networkKey(address), now)
    },
    take: (address, now) => {
      const seconds = retryAfter(address, now)
      if (seconds > 0 || readPerMinute() === 0) return seconds
      addresses.add(limitKey(address), now)
      const network = networkKey(address)
      if (network !== "") networks.add(network, now)
      return 0
    },
    dropExpired: (now) => {
      addresses.dropEnded(now)
      networks.dropEnded(now)
    },
  }
}

/** The same limit, which drops expired counts once a minute. */
export const localRateLimit = (
  readPerMinute: () => number,
  networkFactor?: number,
): Effect.Effect<LocalRateLimit, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const limit = makeLocalRateLimit(readPerMinute, networkFactor)
    yield* Effect.sync(() => limit.dropExpired(clock.currentTimeMillisUnsafe())).pipe(
      Effect.schedule(Schedule.spaced(MINUTE)),
      Effect.forkScoped,
    )
    return limit
  })
