/** Limits of the length of calls, in minutes; the dashboard's page uses them too. */

/**
 * The default maximum length of a campaign's calls. It equals the default of `Queue.MaxCallMinutes`, after which the gate reclaims the
 * slot.
 */
export const DEFAULT_MAX_CALL_MINUTES = 30
/** The maximum that a campaign may set. */
export const MAX_CALL_MINUTES = 1_440
