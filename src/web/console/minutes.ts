/** The counts of the last hour per minute, for the charts. The gate sends buckets of ten seconds, of which only new ones are asked for. */
import type { CountName, View } from "../../operator/shapes.ts"

const HOUR = 3_600_000
const MINUTE = 60_000
const BUCKET = 10_000

export interface Minutes {
  /** the start of each minute, in seconds since 1970; the last minute is not over */
  readonly x: ReadonlyArray<number>
  readonly perMinute: (name: CountName) => ReadonlyArray<number>
  /** a count in the whole hour */
  readonly total: (name: CountName) => number
  /** the names of all counts of the hour that are not 0 */
  readonly names: ReadonlyArray<string>
}

export interface CountHistory {
  /** the buckets to ask for: those since this time (ms), because the newest known ones may have grown */
  readonly since: () => number
  readonly add: (view: View) => void
  readonly minutes: (now: number) => Minutes
}

export const createCountHistory = (): CountHistory => {
  const buckets = new Map<number, View["buckets"][number]["counts"]>()
  let newest = 0
  return {
    // clocks of instances differ a little, so the bucket before the newest may grow too
    since: () => Math.max(0, newest - BUCKET),
    add: (view) => {
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
      const perName = new Map<string, Array<number>>()
      for (const [at, counts] of buckets) {
        const minute = Math.floor(at / MINUTE) - first
        if (!(minute in x)) continue
        for (const [name, count] of Object.entries(counts)) {
          const sums = perName.get(name) ?? x.map(() => 0)
          sums[minute] = (sums[minute] ?? 0) + count
          perName.set(name, sums)
        }
      }
      const perMinute = (name: CountName): ReadonlyArray<number> => perName.get(name) ?? x.map(() => 0)
      return {
        x,
        perMinute,
        total: (name) => perMinute(name).reduce((sum, count) => sum + count, 0),
        names: [...perName.keys()],
      }
    },
  }
}
