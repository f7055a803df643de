/**
 * Limits the log lines about wrong console tokens per address, so that guesses cannot fill the log. Guesses are not limited otherwise:
 * a token has at least 16 characters, so guessing does not find it, and a check is cheap. A limit would lock out an operator who is
 * behind the same address.
 */
import { makeWindows } from "../../lib/windows.ts"

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
  const windows = makeWindows(WINDOW_MILLIS, ADDRESSES)
  return {
    note: (address, now) => {
      const lines = windows.add(address, now)
      if (lines > LOGGED) return undefined
      const last = lines === LOGGED ? " Further ones from this address are not logged for 15 minutes." : ""
      return `A wrong token for the console came from ${address}.${last}`
    },
  }
}
