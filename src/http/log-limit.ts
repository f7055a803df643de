/**
 * Limits the lines for refusals in the access log, because refused requests cost a client nothing and could fill the disk. Omitted
 * lines are counted, and the count is logged once a second.
 */
import { limitKey } from "../ip-intel/address.ts"

/** Maximum lines for one caller (address; IPv6: /64) in a second. */
export const MAX_LINES = 20
/** Maximum lines for all callers in a second: at about 200 bytes a line, 9 GB a day. */
export const LINES = 500

export interface RefusalLogLimit {
  /** Whether a refusal of this address may be logged. */
  readonly admits: (address: string, nowMillis: number) => boolean
  /** The number of lines omitted since the last call. */
  readonly takeOmitted: () => number
}

export const makeRefusalLogLimit = (): RefusalLogLimit => {
  const callers = new Map<string, number>()
  let second = Number.NaN
  let lines = 0
  let omitted = 0
  return {
    admits: (address, nowMillis) => {
      const current = Math.floor(nowMillis / 1_000)
      if (current !== second) {
        second = current
        lines = 0
        callers.clear()
      }
      const caller = limitKey(address)
      const before = callers.get(caller) ?? 0
      if (lines >= LINES || before >= MAX_LINES) {
        omitted++
        return false
      }
      lines++
      callers.set(caller, before + 1)
      return true
    },
    takeOmitted: () => {
      const count = omitted
      omitted = 0
      return count
    },
  }
}
