/**
 * Limits the lines of the access log, because requests cost a client nothing and could fill the disk. Refusals and answered requests
 * are limited apart, so that a flood of one kind hides nothing of the other. Omitted lines are counted, and the count is logged once a
 * second.
 */
import { limitKey, networkKey } from "../../lib/ip/address.ts"

/** Maximum lines in a second. At 250 bytes a line, one caller writes at most 1 GB a day, one network 4 GB, and all together 22 GB. */
export interface Bounds {
  /** of one caller (address; IPv6: /64) */
  readonly caller: number
  /** of one network (IPv4 /24, IPv6 /48); addresses that are not public have none */
  readonly network: number
  readonly total: number
}

/** Of refused requests: status 400 and above, and connections that were closed. */
export const REFUSED: Bounds = { caller: 20, network: 100, total: 500 }
/** Of all other requests. */
export const SERVED: Bounds = { caller: 50, network: 200, total: 1_000 }

export interface LogLimit {
  /** Whether a line about this address may be written. */
  readonly admits: (address: string, nowMillis: number) => boolean
  /** The number of lines omitted since the last call. */
  readonly takeOmitted: () => number
}

export const makeLogLimit = ({ caller, network, total }: Bounds): LogLimit => {
  /** lines of this second by caller and by network */
  const counts = new Map<string, number>()
  let second = Number.NaN
  let lines = 0
  let omitted = 0
  const has = (key: string, max: number): boolean => (counts.get(key) ?? 0) < max
  const add = (key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1)
  return {
    admits: (address, nowMillis) => {
      const current = Math.floor(nowMillis / 1_000)
      if (current !== second) {
        second = current
        lines = 0
        counts.clear()
      }
      if (lines >= total) {
        omitted++
        return false
      }
      const callerKey = limitKey(address)
      const key = networkKey(address)
      if (!has(callerKey, caller) || (key !== "" && !has(key, network))) {
        omitted++
        return false
      }
      lines++
      add(callerKey)
      if (key !== "") add(key)
      return true
    },
    takeOmitted: () => {
      const count = omitted
      omitted = 0
      return count
    },
  }
}
