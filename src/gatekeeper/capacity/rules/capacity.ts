/**
 * What instances share about the platform's concurrency: the number of slots, and which instance asks the platform
 * next. An instance that dies after it claimed the request delays the others by one period.
 *
 * Keys: a campaign's capacity (hash: `slots`; `at`, when they were requested; `claim`, until when an instance is
 * asking; `problem`, why the last request returned nothing). Times in ms since 1970. A `slots` value that is not a
 * number counts as absent.
 */
import type { Db } from "../../../store/rules/db.ts"
import { numberOf, textOf } from "../../../store/rules/native.ts"

/** Slots that are not confirmed within this time are forgotten (ms). */
const SLOTS_LIFETIME_MILLIS = 10 * 60_000

export interface CapacityLook {
  /** maximum age of the slots (ms) */
  readonly period: number
  /**
   * The instance is starting up. Without slots it asks the platform even if another instance is asking, because it must
   * find out whether its own key may ask.
   */
  readonly starts: boolean
}

export interface CapacityKnown {
  /** whether this instance must ask the platform */
  readonly mayAsk: boolean
  /** absent when unknown */
  readonly slots?: number
  /** empty when there is none */
  readonly problem: string
}

/** Returns what is known, and claims the request to the platform when it is due. */
export const readCapacity = (
  db: Db,
  keys: ReadonlyArray<string>,
  now: number,
  { period, starts }: CapacityLook,
): CapacityKnown => {
  const figures = keys[0] ?? ""
  const stored = db.hget(figures, "slots")
  const slots = numberOf(stored)
  const isKnown = stored !== undefined && stored === textOf(slots)
  const isDue = !isKnown || now - numberOf(db.hget(figures, "at")) >= period
  const mayAsk = isDue && (starts || numberOf(db.hget(figures, "claim")) <= now)
  if (mayAsk) {
    db.hset(figures, "claim", textOf(now + period))
    db.pexpire(figures, SLOTS_LIFETIME_MILLIS)
  }
  const problem = db.hget(figures, "problem") ?? ""
  return isKnown ? { mayAsk, slots, problem } : { mayAsk, problem }
}

export interface CapacityFound {
  /** absent when the platform returned none */
  readonly slots?: number | undefined
  /** why there are no slots; else empty */
  readonly problem: string
}

/** Stores the result for the other instances. `now` is when the platform was asked. */
export const saveCapacity = (
  db: Db,
  keys: ReadonlyArray<string>,
  now: number,
  { problem, slots }: CapacityFound,
): true => {
  const figures = keys[0] ?? ""
  if (slots !== undefined) {
    db.hsetMany(figures, ["slots", textOf(slots), "at", textOf(now)])
    db.pexpire(figures, SLOTS_LIFETIME_MILLIS)
  }
  db.hset(figures, "problem", problem)
  return true
}
