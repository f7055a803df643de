/**
 * How often one address, and its network, may ask something in a minute. Counted in this process's memory, so that a refusal
 * costs the store nothing; another instance counts anew.
 */
import { Clock, Effect, type Scope } from "effect"
import type { LRUCache } from "lru-cache"
import { boundedCache } from "../bounded-cache.ts"
import { limitKey, networkKey } from "../ip-intel/address.ts"

const MINUTE = 60_000
/** A network (the /24 of IPv4, the /48 of IPv6) may ask so many times as often as one address. */
export const NETWORK_TIMES = 5
/** The most addresses, and the most networks, that are counted at once; the longest silent one is forgotten first. */
const MOST_COUNTED = 10_000

/** What was asked in the minute that ends at this time (ms). */
interface Count {
  asked: number
  readonly until: number
}

export interface AskLimit {
  /** Seconds until `address` may ask again, or 0 when it may ask now. Counts nothing. */
  readonly wait: (address: string, now: number) => number
  /** The same, and counts this time where it may. */
  readonly ask: (address: string, now: number) => number
  /** Forgets the minutes that are over: they say nothing, and would keep their memory until others came. */
  readonly forget: (now: number) => void
}

/** `perMinute` is of one address, IPv6 of one /64; 0 is no limit. Minutes that are over stay until they are forgotten. */
export const makeAskLimit = (perMinute: number): AskLimit => {
  const counted = () => boundedCache<Count>(MOST_COUNTED)
  const [addresses, networks] = [counted(), counted()]

  const waitOf = (counts: LRUCache<string, Count>, key: string, most: number, now: number): number => {
    const count = counts.get(key)
    return count === undefined || count.until <= now || count.asked < most ? 0 : Math.ceil((count.until - now) / 1000)
  }
  const wait: AskLimit["wait"] = (address, now) => {
    if (perMinute === 0) return 0
    const network = networkKey(address)
    return Math.max(
      waitOf(addresses, limitKey(address), perMinute, now),
      network === "" ? 0 : waitOf(networks, network, perMinute * NETWORK_TIMES, now),
    )
  }
  const count = (counts: LRUCache<string, Count>, key: string, now: number): void => {
    const known = counts.get(key)
    if (known !== undefined && known.until > now) known.asked++
    else counts.set(key, { asked: 1, until: now + MINUTE })
  }
  return {
    wait,
    ask: (address, now) => {
      const seconds = wait(address, now)
      if (seconds > 0 || perMinute === 0) return seconds
      count(addresses, limitKey(address), now)
      const network = networkKey(address)
      if (network !== "") count(networks, network, now)
      return 0
    },
    forget: (now) => {
      for (const counts of [addresses, networks]) {
        for (const [key, { until }] of [...counts.entries()]) if (until <= now) counts.delete(key)
      }
    },
  }
}

/** The same limit, which forgets once a minute. */
export const askLimit = (perMinute: number): Effect.Effect<AskLimit, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const limit = makeAskLimit(perMinute)
    yield* Effect.sync(() => limit.forget(clock.currentTimeMillisUnsafe())).pipe(
      Effect.delay(MINUTE),
      Effect.forever,
      Effect.forkScoped,
    )
    return limit
  })
