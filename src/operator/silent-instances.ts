/**
 * When an instance counts as silent. This stands apart from the shapes, because the console's page uses it: with them the page would load all of
 * their schemas, which are 300 kB.
 */

/** An instance without a report for this long (ms) has died, or cannot reach the store. */
export const SILENT_MILLIS = 15_000
