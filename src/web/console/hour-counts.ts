/** Sums of the last hour over all campaigns. The gate sends buckets of ten seconds, of which only new ones are asked for. */
import type { CountName, View } from "../../operator/shapes.ts"

const HOUR = 3_600_000
const BUCKET = 10_000

export interface HourCounts {
  /** the buckets to ask for: those since this time (ms), because the newest known ones may have grown */
  readonly since: () => number
  readonly add: (view: View) => void
  /** a count in the last hour */
  readonly total: (name: CountName) => number
}

export const createHourCounts = (): HourCounts => {
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
      for (const at of buckets.keys()) if (at < view.now - HOUR) buckets.delete(at)
    },
    total: (name) => [...buckets.values()].reduce((sum, counts) => sum + (counts[name] ?? 0), 0),
  }
}
