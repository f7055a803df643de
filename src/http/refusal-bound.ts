/**
 * How many lines refusals may take in the access log: whoever can be refused for nothing could otherwise fill the disk. What is
 * left out is counted, and the count is written once a second.
 */
import { limitKey } from "../ip-intel/address.ts"

/** Lines of one caller (address, IPv6 by /64) in a second. */
export const LINES_PER_CALLER = 20
/** Lines of all callers in a second: with some 200 bytes a line at most 9 GB a day. */
export const LINES = 500

export interface RefusalBound {
  /** Whether a refusal of this address may have its line. */
  readonly admits: (address: string, nowMillis: number) => boolean
  /** How many had none since this was asked last. */
  readonly takeLeftOut: () => number
}

export const makeRefusalBound = (): RefusalBound => {
  const callers = new Map<string, number>()
  let second = Number.NaN
  let lines = 0
  let leftOut = 0
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
      if (lines >= LINES || before >= LINES_PER_CALLER) {
        leftOut++
        return false
      }
      lines++
      callers.set(caller, before + 1)
      return true
    },
    takeLeftOut: () => {
      const count = leftOut
      leftOut = 0
      return count
    },
  }
}
