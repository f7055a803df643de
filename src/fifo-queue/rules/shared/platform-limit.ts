/**
 * How many slots a campaign may hold after the platform has refused a start at capacity: as many as the platform lets start. Where nobody
 * knows how many slots there are, nothing else limits them; else `MaxConcurrency` may say more than the platform has.
 *
 * - Before the platform has refused a start at capacity, there is no such limit.
 * - A refusal sets the limit to what is held without that start. Starts in flight together are refused one by one, so the
 *   last refusal leaves what the platform has let start. Whoever was refused keeps the place and waits.
 * - After the refusal's backoff one caller more is tried, and twice as many after each try that starts, so that calls of others that
 *   have ended at the platform are noticed. A try that is refused sets the limit again.
 * - Where the number of slots is known, whatever ends the backoff lets one caller more be tried, and the limit is forgotten when nothing
 *   was refused for `LEARNED_MILLIS`.
 * - A start in doubt, which may hold its slot for minutes, does not keep the next try from being made.
 *
 * So callers are called in the order of the queue, as many as the platform has room for, and not all at once when a backoff passes.
 */
import { isKnownNumber } from "../../bounds.ts"
import { meta, type Step } from "./step.ts"

/** Maximum callers that are tried at once. */
const MAX_TRIES = 1_024
/** How long a limit below the known number of slots holds without a refusal, from when one more could be tried (ms). */
export const LEARNED_MILLIS: number = 10 * 60_000

/**
 * How many slots of its own a campaign may hold by what the platform has let start, after a start was refused.
 * @lazy
 */
const slotsOfPlatform = (s: Step, tries: number): number => {
  const [limit = 0, tryAt = 0, backoffUntil = 0] = s.db.hgetNumbers(s.keys.meta, [
    "platformLimit",
    "platformTryAt",
    "backoffUntil",
  ])
  if (isKnownNumber(s.context.slots)) {
    // during the backoff only an operator calls
    if (backoffUntil > s.now || Math.abs(s.now - tryAt) > LEARNED_MILLIS) return s.context.slots
    return Math.min(s.context.slots, limit + tries)
  }
  return Math.min(s.context.slots, tryAt > s.now ? limit : limit + tries)
}

/**
 * How many slots the campaign may hold, but for what its account withholds.
 * @lazy
 */
export const ownSlots = (s: Step): number => {
  const tries = meta(s, "platformTries")
  return tries > 0 ? slotsOfPlatform(s, tries) : s.context.slots
}

/** Sets how many slots the campaign may hold in this step. Every step asks, so it reads one field where no start was refused. */
export const limitByPlatform = (s: Step): void => {
  const tries = meta(s, "platformTries")
  if (tries > 0) s.slots = Math.min(s.mostSlots, slotsOfPlatform(s, tries))
}

/**
 * The platform has refused a start at capacity; its slot is free again.
 * @param tryAt when one more may be tried (ms)
 * @lazy
 */
export const noteRefusal = (s: Step, tryAt: number): void => {
  s.db.hset(s.keys.meta, "platformLimit", `${s.db.zcard(s.keys.leases)}`)
  s.db.hset(s.keys.meta, "platformTries", "1")
  s.db.hset(s.keys.meta, "platformTryAt", `${tryAt}`)
}

/**
 * The platform has started a session. If it has room for more than was known, the next steps may try more.
 * @lazy
 */
export const noteRoom = (s: Step): void => {
  const tries = meta(s, "platformTries")
  const live = meta(s, "live")
  if (tries === 0 || live <= meta(s, "platformLimit")) return
  s.db.hset(s.keys.meta, "platformLimit", `${live}`)
  s.db.hset(s.keys.meta, "platformTries", `${Math.min(2 * tries, MAX_TRIES)}`)
}

/**
 * A start has come in doubt. It may hold its slot for minutes, so another one is tried meanwhile.
 * @lazy
 */
export const noteDoubt = (s: Step): void => {
  const tries = meta(s, "platformTries")
  if (tries === 0) return
  s.db.hset(s.keys.meta, "platformTries", `${Math.min(tries + 1, MAX_TRIES)}`)
  limitByPlatform(s)
}

/**
 * How many slots the platform has allowed, where nobody knows how many there are; undefined before it has refused a start.
 * @lazy
 */
export const allowedByPlatform = (s: Step): number | undefined =>
  isKnownNumber(s.context.slots) || meta(s, "platformTries") === 0 ? undefined : meta(s, "platformLimit")
