/**
 * Says when most session-ended webhooks name sessions that nobody here knows. They are those of another gate that serves the same
 * campaign with another store, which is noticed by nothing else when its store is another server; or of calls that are started past
 * the gate.
 */
import { Clock, Effect } from "effect"

/** Webhooks are counted for so long, and there is at most one line in it. */
export const COUNTED_MILLIS = 3_600_000
/** Fewer unknown sessions than this are said to nobody. */
export const FEWEST = 10

export type EndResult = "released" | "repeat" | "unknown"

/** Notes what a webhook came to. */
export type NoteEnd = (result: EndResult) => Effect.Effect<void>

export const makeUnknownEnds = (): NoteEnd => {
  let since = Number.NEGATIVE_INFINITY
  let unknown = 0
  let released = 0
  let said = false
  return (result) => {
    if (result === "repeat") return Effect.void
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      if (now - since >= COUNTED_MILLIS) {
        since = now
        unknown = released = 0
        said = false
      }
      if (result === "unknown") unknown++
      else released++
      if (said || unknown < FEWEST || unknown <= released) return Effect.void
      said = true
      return Effect.logWarning(
        `${unknown} of the last ${unknown + released} session-ended webhooks name sessions that this gate does not know. Another gate ` +
          "may serve the same campaign with another store (StoreConnectionString), so that each counts slots of its own; or calls " +
          "are started past the gate.",
      )
    })
  }
}
