/**
 * Warns that a body was read before the gate, which is a fault of how the host mounts it. Anyone can send such a request, so there is at
 * most one warning a minute.
 */

import { Effect } from "effect"
import { onceAMinute } from "../../lib/throttled-log.ts"
import { refusals } from "../answers/answer.ts"

/** Logs what to change, unless that was logged within the last minute. */
export const makeBodyWarning = (): Effect.Effect<void> =>
  onceAMinute<void>(() =>
    Effect.logWarning(
      `A request was answered with ${refusals.bodyTaken.outcome}: the host read its body before the gate. ` +
        "Mount the gate before body parsers, or keep the bytes as request.rawBody.",
    ),
  )(undefined)
