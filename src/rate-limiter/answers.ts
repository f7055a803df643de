/** What the rules of the rate limiter answer. Their types come from here. */
import { Schema } from "effect"

const { Boolean: Flag, Finite, Literals, Struct, optionalKey } = Schema

/** A limit that is exhausted. */
export const LimitName = Literals(["hour", "day", "concurrent"])
export type LimitName = typeof LimitName.Type

/**
 * Used units after a take. A reset is the time (ms since 1970) when the budget gains a unit, or 0. `openReset` is
 * set only when nothing was taken: the time when the oldest open unit expires by itself.
 */
export const Usage = Struct({
  hour: Finite,
  hourReset: Finite,
  day: Finite,
  dayReset: Finite,
  open: Finite,
  openReset: Finite,
})
export type Usage = typeof Usage.Type

/** Which limits the caller is near, after this take. */
export const Near = Struct({ hour: Flag, day: Flag })
export type Near = typeof Near.Type

/** What became of a take. `near` is set only where the usage was not asked for, and absent for a caller who is near no limit. */
export const Taken = Struct({ taken: Flag, usage: optionalKey(Usage), near: optionalKey(Near) })
export type Taken = typeof Taken.Type

/** What a caller has used and what was given back: removed by this step, or found. `open`: of tickets that are open, which is kept. */
export const ForgottenUnits = Struct({ units: Finite, open: Finite, more: Flag })
export type ForgottenUnits = typeof ForgottenUnits.Type
