/**
 * Log lines about wrong tokens of the console, a few for each address: a flood of guesses must not fill the log. Nobody is
 * refused because of them. A token is at least 16 characters and its check costs two digests, so guesses neither find it nor
 * take anything from its owner, who may be behind the same address.
 */
import { boundedCache } from "../../bounded-cache.ts"

/** Lines about one address (IPv6: one /64) in `WINDOW_MILLIS`. */
export const LOGGED = 10
export const WINDOW_MILLIS = 15 * 60_000
/** Addresses remembered; the ones that have not tried for longest make way. */
const ADDRESSES = 10_000

export interface WrongTokens {
  /** Counts a wrong token of an address at a time in milliseconds; the line to log, undefined when it has had its lines. */
  readonly note: (address: string, now: number) => string | undefined
}

export const makeWrongTokens = (): WrongTokens => {
  const windows = boundedCache<{ readonly endsAt: number; lines: number }>(ADDRESSES)
  return {
    note: (address, now) => {
      const known = windows.get(address)
      const window = known !== undefined && known.endsAt > now ? known : { endsAt: now + WINDOW_MILLIS, lines: 0 }
      windows.set(address, window)
      if (window.lines === LOGGED) return undefined
      window.lines++
      const last = window.lines === LOGGED ? " Further ones from there are not logged for 15 minutes." : ""
      return `A wrong token for the console came from ${address}.${last}`
    },
  }
}
