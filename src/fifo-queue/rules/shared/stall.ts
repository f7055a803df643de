/** Detects steps that took long to arrive at the store: they came through an outage, or the store is slow. */
import { meta, type Step } from "./step.ts"

/** A step that took this long to arrive was delayed (ms). */
export const STALL_MILLIS = 500
/** Delayed steps that follow each other within this time (ms) are one series. */
export const STALL_SERIES_MILLIS = 5_000

/** The time (ms) at which this step arrived, if it was delayed. */
const delayedUntil = (s: Step): number | undefined => {
  const time = s.db.time()
  return time - s.now < STALL_MILLIS ? undefined : time
}

/** Whether a delayed step that arrived at `time` continues a series. A stall in the future was noted before a clock was set back. */
const continuesSeries = (s: Step, time: number): boolean => {
  const last = meta(s, "stalledAt")
  return time - last < STALL_SERIES_MILLIS && last <= time
}

/**
 * Whether an outage delayed this step. Such a step does not show that its gate can reach the store: earlier requests of the gate may have
 * failed. A step that was sent after a series of delayed steps had begun came through a slow store, which its gate does reach.
 */
export const isCutOff = (s: Step): boolean => {
  if (s.cutOff === undefined) {
    const time = delayedUntil(s)
    s.cutOff = time !== undefined && !(continuesSeries(s, time) && meta(s, "stallsSince") <= s.now)
  }
  return s.cutOff
}

/** Notes a delayed step: `first` when it begins a series, `next` when it continues one. Undefined when this step was not delayed. */
export const noteDelay = (s: Step): "first" | "next" | undefined => {
  // judged by what was noted before this step
  isCutOff(s)
  const time = delayedUntil(s)
  if (time === undefined) return undefined
  const isFirst = !continuesSeries(s, time)
  s.db.hset(s.keys.meta, "stalledAt", `${time}`)
  if (isFirst) s.db.hset(s.keys.meta, "stallsSince", `${time}`)
  return isFirst ? "first" : "next"
}
