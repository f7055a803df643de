/** Limits of the length of calls, in minutes; the dashboard's page uses them too. */

/** A campaign's default longest call. It equals the default of the gate's `Queue.MaxCallMinutes`, which then reclaims the slot. */
export const DEFAULT_MAX_CALL_MINUTES = 120
/** The maximum that a campaign may set. */
export const MAX_CALL_MINUTES = 1_440
