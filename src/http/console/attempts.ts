/**
 * Limits wrong tokens by address (IPv6 by /64), in this process: it must hold while the store is away, which is when
 * operators look. With several instances an address has as many tries at each.
 */
import { LRUCache } from "lru-cache"

/** So many wrong tokens in this time; then the address waits until the oldest of them is that old. */
export const ATTEMPTS = 10
export const ATTEMPTS_MILLIS = 15 * 60_000
/** Addresses remembered; the ones that have not tried for longest make way. */
const ADDRESSES = 10_000

export interface Attempts {
  /** How long the address has to wait, in milliseconds; 0 when it may try. */
  readonly wait: (caller: string, now: number) => number
  readonly failed: (caller: string, now: number) => void
}

export const makeAttempts = (): Attempts => {
  const failures = new LRUCache<string, ReadonlyArray<number>>({ max: ADDRESSES })
  const recent = (caller: string, now: number): ReadonlyArray<number> =>
    (failures.get(caller) ?? []).filter((at) => at > now - ATTEMPTS_MILLIS)
  return {
    wait: (caller, now) => {
      const [oldest = now, ...rest] = recent(caller, now)
      return rest.length + 1 < ATTEMPTS ? 0 : oldest + ATTEMPTS_MILLIS - now
    },
    failed: (caller, now) => {
      failures.set(caller, [...recent(caller, now), now].slice(-ATTEMPTS))
    },
  }
}
