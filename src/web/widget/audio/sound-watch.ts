/**
 * Watches the audio of a call: whether the browser plays, and whether the source gives frames. A browser says so only sometimes, so the
 * reports of the processors are counted, which come from the audio thread.
 */

/** How often it is checked, in milliseconds. */
const CHECK_EVERY = 500
/** How many checks in a row must fail before it is told. A busy page may miss one. */
const TELL_AFTER = 2
/** Audio that stands still for this long is given up, in milliseconds; with the checks around it, within five seconds. */
const GIVE_UP_AFTER = 3_500
const GIVE_UP_CHECKS = GIVE_UP_AFTER / CHECK_EVERY
/** How many checks without a captured frame, while audio is played, mean that the source is gone. */
const DEAF_AFTER = 6

/** What has happened since the last check. */
export interface Beats {
  played: boolean
  captured: boolean
}

export interface WatchListener {
  /** whether the browser plays and captures */
  readonly audio: (running: boolean) => void
  /** The source gives nothing any more. */
  readonly deaf: () => void
  /** The audio stands still for too long, or can never go on. */
  readonly failed: () => void
}

/** Watches until `signal` aborts, or the audio has failed. Calls `resume` at each check while the audio stands still. */
export const watchSound = (
  context: AudioContext,
  resume: () => void,
  beats: Beats,
  listener: WatchListener,
  signal: AbortSignal,
): void => {
  let [stopped, deaf, since] = [0, 0, 0]
  const check = (): void => {
    const { captured, played } = beats
    beats.played = beats.captured = false
    if (context.state === "running" && played) {
      if (stopped >= TELL_AFTER) listener.audio(true)
      stopped = 0
      deaf = captured ? 0 : deaf + 1
      if (deaf === DEAF_AFTER) listener.deaf()
      return
    }
    resume()
    const now = performance.now()
    if (stopped++ === 0) since = now
    if (stopped === TELL_AFTER) listener.audio(false)
    if (context.state !== "closed" && (stopped <= GIVE_UP_CHECKS || now - since < GIVE_UP_AFTER)) return
    clearInterval(checking)
    listener.failed()
  }
  const checking = setInterval(check, CHECK_EVERY)
  signal.addEventListener("abort", () => clearInterval(checking))
}
