/** What holds of a platform and its users where nothing else is said; apart from what uses it, which is slow to load. */
import type { Limits } from "./Access.ts"

/**
 * 60 requests a minute a key, as the reference documents. Starts of sessions and calls are counted apart and may be ten a
 * second: a gate under load starts one after the other with a single key, and what bounds those is the account's concurrency.
 */
export const DEFAULT_LIMITS: Limits = { requestsPerMinute: 60, startsPerMinute: 600 }

/** How long nothing may be said in a session before it ends, in seconds; 0 is for ever. */
export const DEFAULT_IDLE_SECONDS = 300

/** Calls of a user that may run at once. */
export const DEFAULT_CALL_CONCURRENCY = 10
