/**
 * The last hour's counts as the gate keeps them, in buckets of ten seconds, gathered by the minute for the charts. The gate
 * sends what is new; what is older than an hour is forgotten.
 */
import type { CountName, View } from "../../operator/shapes.ts"

const HOUR = 3_600_000
const MINUTE = 60_000

export interface Minutes {
  /** the beginning of each minute, in seconds since 1970, the last one still running */
  readonly x: ReadonlyArray<number>
  /** what was counted in each of them under a name */
  readonly sum: (name: CountName) => ReadonlyArray<number>
  /** all of the hour */
  readonly total: (name: CountName) => number
}

export interface History {
  /** from when on buckets are asked for (ms); the newest one may have grown */
  readonly since: () => number
  readonly add: (view: View) => void
  readonly minutes: (now: number) => Minutes
}

export const createHistory = (): History => {
  const buckets = new Map<number, ReadonlyArray<number>>()
  let names: ReadonlyArray<string> = []
  let newest = 0
  return {
    // instances' clocks differ a little, so the bucket before may grow too
    since: () => Math.max(0, newest - 10_000),
    add: (view) => {
      names = view.counts
      for (const { at, counts } of view.buckets) {
        buckets.set(at, counts)
        newest = Math.max(newest, at)
      }
      for (const at of buckets.keys()) if (at < view.now - HOUR - MINUTE) buckets.delete(at)
    },
    minutes: (now) => {
      const last = Math.floor(now / MINUTE)
      const first = last - HOUR / MINUTE + 1
      const x = Array.from({ length: HOUR / MINUTE }, (_, i) => (first + i) * 60)
      const sum = (name: CountName): ReadonlyArray<number> => {
        const index = names.indexOf(name)
        const sums = x.map(() => 0)
        for (const [at, counts] of buckets) {
          const minute = Math.floor(at / MINUTE) - first
          if (minute in sums) sums[minute] = (sums[minute] ?? 0) + (counts[index] ?? 0)
        }
        return sums
      }
      return { x, sum, total: (name) => sum(name).reduce((all, n) => all + n, 0) }
    },
  }
}
