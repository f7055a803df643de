/** How long calls may be, in minutes; read by the dashboard's page too. */

/** The longest call of a campaign unless said: the same as the gate's `Queue.MaxCallMinutes`, which reclaims the slot then. */
export const DEFAULT_MAX_CALL_MINUTES = 120
/** The longest that it may be set to. */
export const MOST_CALL_MINUTES = 1_440
