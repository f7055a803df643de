/**
 * Limits the log lines about wrong console tokens per address, so that guesses cannot fill the log. Guesses are not limited otherwise:
 * a token has at least 16 characters, so guessing does not find it, and a check is cheap. A limit would lock out an operator who is
 * behind the same address.
 */
import { isOpen } from "../../lib/age.ts"
import { boundedCache } from "../../lib/bounded-cache.ts"

/** Maximum lines about one address (IPv6: one /64) in `WINDOW_MILLIS`. */
export const LOGGED = 10
export const WINDOW_MILLIS = 15 * 60_000
/** Maximum addresses that are remembered; the least recent ones are forgotten. */
const ADDRESSES = 10_000

export interface WrongTokens {
  /** Counts a wrong token. Returns the line to log, undefined when the address has reached its limit. `now` in ms. */
  readonly note: (address: string, now: number) => string | undefined
}

export const makeWrongTokens = (): WrongTokens => {
  const windows = boundedCache<{ readonly endsAt: number; lines: number }>(ADDRESSES)
  return {
    note: (address, now) => {
      const known = windows.get(address)
      const window =
        known !== undefined && isOpen(known.endsAt, WINDOW_MILLIS, now)
          ? known
          : { endsAt: now + WINDOW_MILLIS, lines: 0 }
      windows.set(address, window)
      if (window.lines === LOGGED) return undefined
      window.lines++
      const last = window.lines === LOGGED ? " Further ones from this address are not logged for 15 minutes." : ""
      return `A wrong token for the console came from ${address}.${last}`
    },
  }
}
