/**
 * The times in answers of the queue that callers, hosts and operators are told as a time of day. Where the store's time is another one
 * (`Store.aheadMillis`), they are moved; all other times of an answer are compared with the store's time and stay.
 */
import type { Signal } from "../protocol/signals.ts"
import type { StepResult } from "./step.ts"

const TOLD = ["endsAt", "pausedUntil", "resumesAt", "silentUntil", "startBefore"] as const

/** Returns the value itself if it has no times. */
export const movedBy = <A>(value: A, millis: number): A => {
  if (millis === 0 || typeof value !== "object" || value === null) return value
  const moved: Partial<Record<(typeof TOLD)[number], number>> = {}
  for (const field of TOLD) {
    const time: unknown = Reflect.get(value, field)
    // no deadline is 0
    if (typeof time === "number" && time !== 0) moved[field] = time + millis
  }
  return Object.keys(moved).length === 0 ? value : { ...value, ...moved }
}

const signalMovedBy = (signal: Signal, millis: number): Signal => ({ ...signal, kind: movedBy(signal.kind, millis) })

export const resultMovedBy = <A>(step: StepResult<A>, millis: number): StepResult<A> =>
  millis === 0
    ? step
    : {
        ...step,
        result: movedBy(step.result, millis),
        signals: step.signals.map((each) => signalMovedBy(each, millis)),
        ...(step.elsewhere === undefined
          ? {}
          : { elsewhere: step.elsewhere.map((each) => signalMovedBy(each, millis)) }),
      }
