/** Defaults and limits of a platform and its users; the dashboard's page uses them too. In a separate file, because the modules that use them are slow to load. */
import type { Limits } from "./keys/Budgets.ts"

/**
 * 60 requests per minute and key, as the reference documents. Starts of sessions and calls are counted separately and may be ten per
 * second: a gate under load makes all its starts with a single key, and the account's concurrency limits them.
 */
export const DEFAULT_LIMITS: Limits = { requestsPerMinute: 60, startsPerMinute: 600 }

/** How long a caller may be silent before the session ends, in seconds; 0 is no limit. */
export const DEFAULT_IDLE_SECONDS = 300

/** Open connections of one address: those of a gate that starts hundreds of calls at once, and of a page or two. */
export const DEFAULT_CONNECTIONS = 1_024

/** A user's concurrent calls. */
export const DEFAULT_CALL_CONCURRENCY = 10

/**
 * The default maximum length of a campaign's calls. It equals the default of `Queue.MaxCallMinutes`, after which the gate reclaims the
 * slot.
 */
export const DEFAULT_MAX_CALL_MINUTES = 30
/** The maximum that a campaign may set. */
export const MAX_CALL_MINUTES = 1_440
