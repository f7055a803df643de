/**
 * Captured audio that cannot be sent now. It is bounded, so that the caller is heard in time when the line is back: silence is dropped
 * first, then the oldest frame.
 */
import { type Captured, SILENT } from "../audio/frames.ts"

/** How much is kept: frames of 20 ms, 0.2 s. With what the WebSocket may hold (`MAX_UNSENT` in `line.ts`) it is 0.3 s. */
export const MAX_HELD = 10

/** Adds a frame to those that are held, oldest first. */
export const hold = (held: Array<Captured>, captured: Captured): void => {
  held.push(captured)
  if (held.length <= MAX_HELD) return
  const silent = held.findIndex(({ loudness }) => loudness < SILENT)
  held.splice(Math.max(0, silent), 1)
}
