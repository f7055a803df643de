/**
 * When no gate served the campaign: none ran, none could reach the store, or none has it in its settings. So none has swept for
 * `UNATTENDED_MILLIS`. The campaign remembers the latest such times, `MAX_UNATTENDED` of them: `unattended` has when each began and ended, oldest first.
 *
 * Gates of an older version know the latest one alone, `unattendedFrom` and `unattendedUntil`. So these two are kept too, and one that such a gate
 * has noted counts. Where such a gate has removed them, because the store's time has gone back, nothing is known any more.
 */
import { numberOf, textOf, wordsOf } from "../../../store/rules/native.ts"
import { meta, type Step } from "./step.ts"

/**
 * When nobody has swept for this long (ms), the store or every gate was down, so no ticket could be shown to be present. Waiting tickets
 * then get a new grace.
 */
export const UNATTENDED_MILLIS = 5_000
/** How many such times are remembered. More within one call, beyond its limit, are charged to it, so a campaign's data stay small. */
export const MAX_UNATTENDED = 32

/** No gate has swept for `UNATTENDED_MILLIS`. */
export const isUnattended = (s: Step): boolean => {
  const sweptAt = meta(s, "sweptAt")
  return sweptAt > 0 && s.now - sweptAt > UNATTENDED_MILLIS
}

/**
 * The times that are remembered: when each began and ended (ms), oldest first.
 * @lazy
 */
const remembered = (s: Step): ReadonlyArray<number> => {
  const [from = 0, until = 0] = s.db.hgetNumbers(s.keys.meta, ["unattendedFrom", "unattendedUntil"])
  if (until === 0) return []
  const times: Array<number> = []
  for (const word of wordsOf(s.db.hget(s.keys.meta, "unattended") ?? "")) times.push(numberOf(word))
  const last = times.length === 0 ? 0 : (times[times.length - 1] as number)
  if (last === until) return times
  // of a gate that knows the latest time alone; before it, time has gone back if the others are later
  if (last > from) return [from, until]
  times.push(from)
  times.push(until)
  return times
}

/**
 * The first sweep since `sweptAt` (ms), after a time in which no gate served the campaign.
 * @lazy
 */
export const noteUnattended = (s: Step, sweptAt: number): void => {
  const times = remembered(s)
  let text = ""
  for (let i = Math.max(0, times.length - 2 * (MAX_UNATTENDED - 1)); i < times.length; i++)
    text = `${text}${textOf(times[i] as number)} `
  s.db.hset(s.keys.meta, "unattended", `${text}${textOf(sweptAt)} ${textOf(s.now)}`)
  s.db.hset(s.keys.meta, "unattendedFrom", `${sweptAt}`)
  s.db.hset(s.keys.meta, "unattendedUntil", `${s.now}`)
}

/**
 * The store's time has gone back, as by a failover: when no gate served the campaign is not known any more.
 * @lazy
 */
export const forgetUnattended = (s: Step): void => {
  s.db.hdel(s.keys.meta, "unattended")
  s.db.hdel(s.keys.meta, "unattendedFrom")
  s.db.hdel(s.keys.meta, "unattendedUntil")
}

/**
 * For how long no gate served the campaign after a moment (ms), as far as it is remembered: before the last sweep, and since then.
 * @lazy
 */
export const unattendedSince = (s: Step, moment: number): number => {
  const times = remembered(s)
  let counted = moment
  let sum = 0
  for (let i = 0; i + 1 < times.length; i += 2) {
    const until = Math.min(times[i + 1] as number, s.now)
    sum += Math.max(0, until - Math.max(times[i] as number, counted))
    counted = Math.max(counted, until)
  }
  if (isUnattended(s)) sum += Math.max(0, s.now - Math.max(meta(s, "sweptAt"), counted))
  return sum
}
