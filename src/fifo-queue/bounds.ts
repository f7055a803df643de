/** Bounds that rules and gates both keep. Durations in ms. Rules are compiled with this file, so it imports nothing. */

/** How long a start may take before its slot is freed; longer than the platform client's timeout. */
export const START_LEASE_MILLIS = 30_000
/**
 * The longest time for which a slot is held for a start that may have happened. The URL of a session can be opened for about five minutes,
 * so no caller can join such a session later.
 */
export const DOUBT_MILLIS: number = 5 * 60_000
/** The longest backoff after a refusal of the key's request rate, whatever the platform asks for. */
export const LIMITED_LONGEST_MILLIS = 5_000

/** How long before the time limit of a call its page is warned for the first and for the last time. */
export const FIRST_WARNING_MILLIS = 60_000
export const LAST_WARNING_MILLIS = 10_000

export const MAX_WITHDRAWN_PER_STEP = 200
/** The most tickets that a gate holds that one step lists. */
export const MAX_HELD_PER_STEP = 500

/** A number of slots that says that nobody knows it: the largest whole number that JSON keeps. */
export const UNKNOWN_SLOTS = 9_007_199_254_740_991
/** A larger number of slots is not known: it is `UNKNOWN_SLOTS`, or what an account of unknown capacity leaves of it. */
const MOST_KNOWN = 1_000_000_000

export const isKnownNumber = (slots: number): boolean => slots <= MOST_KNOWN

/** A network's share of slots or free places: at least one; all of them when the share is 1. */
export const shareOf = (share: number, of: number): number => (share >= 1 ? of : Math.max(1, Math.floor(share * of)))
