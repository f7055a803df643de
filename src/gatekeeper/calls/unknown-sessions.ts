/**
 * Warns if most session-ended webhooks name unknown sessions. Such sessions belong to another gate that serves the same campaign
 * with another store, or were started without a gate. If the other store is on another server, this is the only sign of it.
 */

import { Clock, Effect } from "effect"
import { ageOf } from "../../lib/age.ts"

/** The period in which webhooks are counted, with at most one warning (ms). */
export const COUNTED_MILLIS = 3_600_000
/** The minimum number of unknown sessions for a warning. */
export const MIN_UNKNOWN = 10

export type EndResult = "released" | "repeat" | "unknown"

export type NoteEnd = (result: EndResult) => Effect.Effect<void>

export const makeUnknownEnds = (): NoteEnd => {
  let since = Number.NEGATIVE_INFINITY
  let unknown = 0
  let released = 0
  let warned = false
  return (result) => {
    if (result === "repeat") return Effect.void
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      if (ageOf(since, now) >= COUNTED_MILLIS) {
        since = now
        unknown = released = 0
        warned = false
      }
      if (result === "unknown") unknown++
      else released++
      if (warned || unknown < MIN_UNKNOWN || unknown <= released) return Effect.void
      warned = true
      return Effect.logWarning(
        `${unknown} of the last ${unknown + released} session-ended webhooks name sessions that this gate does not know. Another gate ` +
          "may serve the same campaign with another store (StoreConnectionString), so that each counts its slots separately; or calls " +
          "are started without the gate.",
      )
    })
  }
}
