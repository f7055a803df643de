/**
 * What instances share of the platform's concurrency: the slots that one of them found, and whose turn it is to ask. Whoever dies
 * after it was told to ask holds the others up for one period.
 *
 * Keys: a campaign's figures (hash: `slots`, `at` when they were asked for, `claim` until when somebody asks, `problem` why the last one
 * who asked found nothing). Times in ms since 1970. Slots that are no number are none.
 */
import type { Db } from "./db.ts"
import { numberOf, textOf } from "./native.ts"

/** Slots that nobody has confirmed for so long are forgotten (ms). */
const KEEP_SLOTS_MILLIS = 10 * 60_000

export interface CapacityLook {
  /** how old the slots may be (ms) */
  readonly period: number
  /**
   * an instance starts: without slots it does not wait for another that asks, because it must find out whether its key may ask
   */
  readonly starts: boolean
}

export interface CapacityKnown {
  /** whether the one who looked has to ask the platform */
  readonly mayAsk: boolean
  /** absent where they are not known */
  readonly slots?: number
  /** empty where there is none */
  readonly problem: string
}

/** What is known, and whether it is this instance's turn to ask. */
export const lookAtCapacity = (
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
    db.pexpire(figures, KEEP_SLOTS_MILLIS)
  }
  const problem = db.hget(figures, "problem") ?? ""
  return isKnown ? { mayAsk, slots, problem } : { mayAsk, problem }
}

/** What was found. */
export interface CapacityFound {
  /** absent where the platform did not say */
  readonly slots?: number | undefined
  /** why it did not; else empty */
  readonly problem: string
}

/** Tells the others what was found; `now` is when the platform was asked. */
export const tellCapacity = (
  db: Db,
  keys: ReadonlyArray<string>,
  now: number,
  { problem, slots }: CapacityFound,
): true => {
  const figures = keys[0] ?? ""
  if (slots !== undefined) {
    db.hsetMany(figures, ["slots", textOf(slots), "at", textOf(now)])
    db.pexpire(figures, KEEP_SLOTS_MILLIS)
  }
  db.hset(figures, "problem", problem)
  return true
}
