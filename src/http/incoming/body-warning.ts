/**
 * Warns that a body was read before the gate, which is a fault of how the host mounts it. Anyone can send such a request, so there is at
 * most one warning a minute.
 */

import { Clock, Effect } from "effect"
import { ageOf } from "../../lib/age.ts"
import { refusals } from "../answers/answer.ts"

const WARNING_INTERVAL_MILLIS = 60_000

/** Logs what to change, unless that was logged within the last minute. */
export const makeBodyWarning = (): Effect.Effect<void> => {
  let warnedAt = Number.NEGATIVE_INFINITY
  return Effect.flatMap(Clock.currentTimeMillis, (now) => {
    if (ageOf(warnedAt, now) < WARNING_INTERVAL_MILLIS) return Effect.void
    warnedAt = now
    return Effect.logWarning(
      `A request was answered with ${refusals.bodyTaken.outcome}: the host read its body before the gate. ` +
        "Mount the gate before body parsers, or keep the bytes as request.rawBody.",
    )
  })
}
