/**
 * What the gates know of the campaign's platform: one state, which all gates, callers and operators are told.
 *
 * - `at_capacity`, `rate_limited`: the platform answers, and starts nothing: it has no free slot, or it limits the key's requests. Ends
 *   with the next session that starts, or when nobody waits any more.
 * - `webhooks_missing`: it serves callers, and does not report the ends of their calls: the audit has found `UNREPORTED` ended calls in a row
 *   of which no webhook came, over `UNREPORTED_MILLIS` at least. Ends with the next webhook about a call, or when the gates no longer accept
 *   any for the campaign and a call has ended. Any other state comes first.
 * - `unavailable`: it gives no usable answer. `rejected`: it refuses what the operator must mend, such as the key. In both, one ticket at
 *   a time is called to probe it (`disrupted` in `meta`, which older gates know). Ends with the next session that starts.
 *
 * Starts decide. A gate also reads the platform (`watchPlatform`), because while every slot is held or nobody waits no start would tell: a failed
 * read begins `unavailable` or `rejected`, and a successful one ends it, unless starts have failed within `STARTS_COUNT_MILLIS`. Reads
 * that go on failing while sessions start say nothing of starts, so they are ignored for `READS_IGNORED_MILLIS` or until one succeeds.
 */

import { decode, encode, isNumber, isObject, isText, wordsOf } from "../../../store/rules/native.ts"
import type { Watched } from "../../answers.ts"
import type { Heard } from "../../inputs.ts"
import type { PlatformState } from "../../operator/schemas.ts"
import { meta, type Step } from "./step.ts"

/** Why nobody is served; absent while the platform serves callers. */
export type PlatformTrouble = "at_capacity" | "rate_limited" | "unavailable" | "rejected"

/** A successful read does not end a state that a start has shown within this time (ms): starts may fail while reads succeed. */
export const STARTS_COUNT_MILLIS = 30_000
/** How long failed reads are ignored after a session has started while reads failed (ms). */
const READS_IGNORED_MILLIS = 3_600_000

/** How often the platform is read while somebody waits or every slot is held, or it does not work (ms). */
export const WATCH_MILLIS = 10_000
/** The same while somebody waits and every slot is held: nobody starts, so nothing else would tell those who wait (ms). */
export const WATCH_HELD_MILLIS = 5_000
/** The same while calls run and slots are free (ms). */
export const WATCH_CALM_MILLIS = 60_000
/** The shortest time between two reads, when a call to the platform has just failed (ms). */
export const WATCH_SUSPECT_MILLIS = 2_000

/**
 * A start that is refused for what its caller sent is the caller's fault, unless as many callers, or starts while others wait, have been
 * refused in a row: then the platform refuses what the gate sends of everybody, such as an agent that was deleted or the wrong address.
 */
export const REFUSED_CALLERS = 3
export const REFUSED_STARTS = 5

/** How many starts must fail in a row, and for how long (ms), before failures that could be their callers' are the platform's. */
export const FAILURES_IN_A_ROW = 5
export const FAILING_MILLIS = 30_000
/** A start that the platform refuses is a sign about its caller alone as long as another one has succeeded within this time (ms). */
export const RECENT_START_MILLIS = 60_000

/** The states as numbers, so that an admission reads them with its other figures. */
const STATE_NUMBERS: { readonly [state in PlatformTrouble]: number } = {
  at_capacity: 1,
  rate_limited: 2,
  unavailable: 3,
  rejected: 4,
}
export const REJECTED: number = STATE_NUMBERS.rejected
/** Whether the number stands for a platform that answers and starts nothing. */
export const isFullNumber = (state: number): boolean =>
  state === STATE_NUMBERS.at_capacity || state === STATE_NUMBERS.rate_limited

const isTrouble = (state: unknown): state is PlatformTrouble =>
  state === "at_capacity" || state === "rate_limited" || state === "unavailable" || state === "rejected"

const isDisrupting = (state: PlatformState["state"]): boolean => state === "unavailable" || state === "rejected"

/** The stored state; undefined while the platform works. */
export const platformState = (s: Step): PlatformState | undefined => {
  const stored = s.db.hget(s.keys.meta, "platformState")
  const found = stored === undefined ? undefined : decode(stored)
  if (!isObject(found)) return undefined
  const { code, setting, since, startAt, state } = found
  return isTrouble(state) && isNumber(since) && isNumber(startAt) && isText(code) && isText(setting)
    ? { state, since, startAt, code, setting }
    : undefined
}

/** How many ended calls in a row must be unreported, and since when the first (ms), before webhooks are missing: one may only be late. */
export const UNREPORTED = 3
export const UNREPORTED_MILLIS = 60_000

/**
 * A call has ended, and the platform has not reported it.
 * @lazy
 */
export const countUnreported = (s: Step): void => {
  if (s.db.hincrby(s.keys.meta, "unreported", 1) === 1) s.db.hset(s.keys.meta, "unreportedSince", `${s.now}`)
}

/** The platform has reported the end of a call. */
export const clearUnreported = (s: Step): void => {
  if (meta(s, "unreported") === 0) return
  s.db.hdel(s.keys.meta, "unreported")
  s.db.hdel(s.keys.meta, "unreportedSince")
}

/** The state, also of a platform that serves callers and does not report the ends of their calls; undefined while all is well. */
export const shownPlatformState = (s: Step, known: PlatformState | undefined): PlatformState | undefined => {
  if (known !== undefined || meta(s, "unreported") < UNREPORTED) return known
  const since = meta(s, "unreportedSince")
  if (s.now - since < UNREPORTED_MILLIS) return undefined
  return { state: "webhooks_missing", since, startAt: 0, code: "", setting: "" }
}

/** The platform works, as far as this state says. */
export const clearPlatformState = (s: Step): void => {
  s.db.hdel(s.keys.meta, "platformState")
  s.db.hdel(s.keys.meta, "platform")
}

/** The platform can be asked again: it is neither unavailable, nor does it refuse what the operator must mend. */
export const endDisruption = (s: Step): void => {
  s.db.hdel(s.keys.meta, "disrupted")
  s.db.hdel(s.keys.meta, "probeUntil")
  const known = platformState(s)
  if (known !== undefined && isDisrupting(known.state)) clearPlatformState(s)
}

const savePlatformState = (s: Step, state: PlatformTrouble, startAt: number, code: string, setting: string): void => {
  const known = platformState(s)
  const since = known !== undefined && known.state === state ? known.since : s.now
  const noted: PlatformState = { state, since, startAt, code, setting }
  s.db.hset(s.keys.meta, "platformState", encode(noted))
  s.db.hset(s.keys.meta, "platform", `${STATE_NUMBERS[state]}`)
  if (isDisrupting(state)) s.db.hset(s.keys.meta, "disrupted", "1")
}

export const noteStartTrouble = (s: Step, state: PlatformTrouble, code: string, setting: string): void =>
  savePlatformState(s, state, s.now, code, setting)

export const noteStarted = (s: Step): void => {
  const { db, keys, now } = s
  db.hset(keys.meta, "startedAt", `${now}`)
  db.hdel(keys.meta, "failing")
  db.hdel(keys.meta, "failingSince")
  db.hdel(keys.meta, "refused")
  db.hdel(keys.meta, "refusedCallers")
  const known = platformState(s)
  if (known === undefined) return
  if (isDisrupting(known.state) && known.startAt === 0) db.hset(keys.meta, "readsContradictedAt", `${now}`)
  clearPlatformState(s)
}

/** True when so many have failed in a row, and for so long, that the platform is the cause. */
export const countFailedStart = (s: Step): boolean => {
  const failing = s.db.hincrby(s.keys.meta, "failing", 1)
  if (failing === 1) s.db.hset(s.keys.meta, "failingSince", `${s.now}`)
  return failing >= FAILURES_IN_A_ROW && s.now - meta(s, "failingSince") >= FAILING_MILLIS
}

/**
 * Counts a start that was refused for what its caller sent. True when the platform refuses everybody.
 * @lazy
 */
export const countRefusedStart = (s: Step, caller: string): boolean => {
  const { db, keys } = s
  const refused = db.hincrby(keys.meta, "refused", 1)
  const before = db.hget(keys.meta, "refusedCallers") ?? ""
  const callers = wordsOf(before)
  let count = callers.length
  let isKnown = caller === "" || count >= REFUSED_CALLERS
  for (const each of callers) if (each === caller) isKnown = true
  if (!isKnown) {
    count++
    db.hset(keys.meta, "refusedCallers", `${before} ${caller}`)
  }
  return count >= REFUSED_CALLERS || (refused >= REFUSED_STARTS && db.zcard(keys.waiting) > 0)
}

/** Whether a refused start is the first since one that has just succeeded. Such a refusal may concern its caller alone. */
export const mayBeOfCaller = (s: Step): boolean => {
  const startedAt = meta(s, "startedAt")
  return meta(s, "failing") <= 1 && startedAt > 0 && s.now - startedAt < RECENT_START_MILLIS
}

/**
 * Takes note of what reading the platform has shown. True when that ended a disruption.
 * @lazy
 */
export const hearPlatform = (s: Step, { at, code = "", setting = "", state }: Heard): boolean => {
  const known = platformState(s)
  if (state === "ok" || state === "answers") {
    s.db.hset(s.keys.meta, "heardAt", `${s.now}`)
    s.db.hdel(s.keys.meta, "readsContradictedAt")
    if (known === undefined || !isDisrupting(known.state)) return false
    if (state === "answers" && known.state === "rejected") return false
    // the read began before the state did
    if (at < known.since || at - known.startAt < STARTS_COUNT_MILLIS) return false
    endDisruption(s)
    return true
  }
  // a session has started meanwhile
  if (meta(s, "startedAt") > at) return false
  const contradictedAt = meta(s, "readsContradictedAt")
  if (contradictedAt > 0 && s.now - contradictedAt < READS_IGNORED_MILLIS) return false
  savePlatformState(s, state, known === undefined || !isDisrupting(known.state) ? 0 : known.startAt, code, setting)
  return false
}

/** A full platform with nobody waiting refuses nobody. A disruption that an older gate has begun or ended becomes the state. */
const agreedState = (s: Step, waiting: number, leases: number): PlatformState | undefined => {
  const known = platformState(s)
  const disrupted = meta(s, "disrupted") === 1
  if (known === undefined) {
    if (!disrupted) return undefined
    savePlatformState(s, "unavailable", s.now, "", "")
    return platformState(s)
  }
  // a ticket that is called or starts waits for the platform, too
  const asks = waiting > 0 || leases > meta(s, "live") + meta(s, "doubts")
  const isOver = isDisrupting(known.state) ? !disrupted : !asks
  if (!isOver) return known
  clearPlatformState(s)
  return undefined
}

/**
 * @param suspect a call to the platform has failed at this gate
 */
export const watchPlatform = (s: Step, waiting: number, leases: number, suspect: boolean): Watched => {
  const known = agreedState(s, waiting, leases)
  const shown = shownPlatformState(s, known)
  const state: Watched = shown === undefined ? {} : { platform: shown }
  let interval = 0
  if (suspect) interval = WATCH_SUSPECT_MILLIS
  else if (known === undefined && waiting > 0 && leases >= s.slots) interval = WATCH_HELD_MILLIS
  else if (known !== undefined || waiting > 0 || (leases > 0 && leases >= s.slots)) interval = WATCH_MILLIS
  else if (leases > 0) interval = WATCH_CALM_MILLIS
  if (interval === 0) return state
  const [startedAt = 0, heardAt = 0, watchedAt = 0] = s.db.hgetNumbers(s.keys.meta, [
    "startedAt",
    "heardAt",
    "watchedAt",
  ])
  const last = known === undefined ? Math.max(startedAt, heardAt, watchedAt) : watchedAt
  // a time in the future was noted before a clock was set back
  if (s.now - last < interval && last - s.now < WATCH_CALM_MILLIS) return state
  s.db.hset(s.keys.meta, "watchedAt", `${s.now}`)
  return { ...state, watch: true }
}

/** How many calls a full platform serves: those that run there now. Undefined while it is not full. */
export const servedWhileFull = (s: Step): number | undefined =>
  isFullNumber(meta(s, "platform")) ? Math.max(0, meta(s, "live")) : undefined
