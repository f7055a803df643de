/**
 * When no gate served the campaign: none ran, none could reach the store, or none has it in its settings. So none has swept for
 * `UNATTENDED_MILLIS`. The campaign remembers the latest such time.
 */
import { meta, type Step } from "./step.ts"

/**
 * When nobody has swept for this long (ms), the store or every gate was down, so no ticket could be shown to be present. Waiting tickets
 * then get a new grace.
 */
export const UNATTENDED_MILLIS = 5_000

/** No gate has swept for `UNATTENDED_MILLIS`. */
export const isUnattended = (s: Step): boolean => {
  const sweptAt = meta(s, "sweptAt")
  return sweptAt > 0 && s.now - sweptAt > UNATTENDED_MILLIS
}

/**
 * The first sweep since `sweptAt` (ms), after a time in which no gate served the campaign.
 * @lazy
 */
export const noteUnattended = (s: Step, sweptAt: number): void => {
  s.db.hset(s.keys.meta, "unattendedFrom", `${sweptAt}`)
  s.db.hset(s.keys.meta, "unattendedUntil", `${s.now}`)
}

/**
 * The store's time has gone back, as by a failover: when no gate served the campaign is not known any more.
 * @lazy
 */
export const forgetUnattended = (s: Step): void => {
  s.db.hdel(s.keys.meta, "unattendedFrom")
  s.db.hdel(s.keys.meta, "unattendedUntil")
}

/**
 * For how long no gate served the campaign after a moment (ms), as far as it is remembered: the latest time before the last sweep, and the time since then.
 * @lazy
 */
export const unattendedSince = (s: Step, moment: number): number => {
  const [sweptAt = 0, from = 0, until = 0] = s.db.hgetNumbers(s.keys.meta, [
    "sweptAt",
    "unattendedFrom",
    "unattendedUntil",
  ])
  const before = Math.max(0, Math.min(until, s.now) - Math.max(from, moment))
  const present = isUnattended(s) ? Math.max(0, s.now - Math.max(sweptAt, until, moment)) : 0
  return before + present
}
