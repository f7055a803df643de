/**
 * Distinguishes audio that the network delayed from audio that its sender sent early. Playback catches up only with the first,
 * because only the first makes the conversation late.
 *
 * A sender that follows real time can never be ahead of it: after a gap of one second in which nothing arrived, at most one second is
 * overdue. So:
 *
 * - `steady` is a sender whose audio has been seen to arrive as fast as it is spoken (`STEADY` seconds, without a longer gap than
 *   `MAX_SPACING`). What is buffered of it was delayed.
 * - A sender that sends more than was overdue is ahead of real time: it sends whole answers at once. Nothing that is buffered of it is
 *   late, and it counts as steady again only after `STEADY_AGAIN` seconds. What is buffered then is its `lead`.
 * - A sender that has shown neither yet is played at natural speed.
 *
 * A message that arrives in a gap proves that the line was open, so the gap was the sender's and nothing was overdue.
 *
 * Times and lengths in seconds.
 */

/** How long audio must arrive steadily, at first and of a sender that was ahead of real time. */
const STEADY = 1.5
const STEADY_AGAIN = 5
/** How far the arrived length may be from the time that has passed, as a fraction. */
const TOLERANCE = 0.15
/** The longest gap between arrivals of a steady sender; a longer one is a pause or a stall. */
const MAX_SPACING = 0.5
/** How far a sender may be ahead of real time without notice: jitter, and frames of different length. */
const SLACK = 0.3
/** The longest stall that makes audio overdue; a longer gap is the sender's pause, or ends the call. */
const MAX_OVERDUE = 20
/** How much of the first audio may have waited for the audio thread to start. */
const START_UP = 1
/** How long after a gap the overdue audio may take to arrive, on a slow line. */
const CATCH_UP = 2
/** Messages within this time arrived together. */
const BURST = 0.25
/** How fast a sender's advance is forgiven, per second: clocks differ by less. */
const FORGIVE = 0.02

export class Pace {
  private now = 0
  private lastArrival = Number.NEGATIVE_INFINITY
  /** the last other message, and the last one before it that was not part of the same burst */
  private message = Number.NEGATIVE_INFINITY
  private messageBefore = Number.NEGATIVE_INFINITY
  /** length that may still arrive without being ahead of real time; negative when it is ahead */
  private overdue = 0
  private overdueUntil = 0
  /** the current window of steady arrivals: its start, the length that arrived since, its longest gap */
  private since = 0
  private arrived = 0
  private longestGap = 0
  private wasAhead = false
  /** whether the sender follows real time */
  steady = false
  /** the usual time between arrivals of a steady sender */
  spacing = 0
  /** how much a steady sender sends in advance on purpose */
  lead = 0

  pass(seconds: number): void {
    this.now += seconds
    if (this.overdue < 0) this.overdue += FORGIVE * seconds
  }

  /** A message that is not audio arrived. */
  alive(): void {
    if (this.now - this.message > BURST) this.messageBefore = this.message
    this.message = this.now
  }

  /** Audio of this length arrived; `buffered` was there before. */
  arrive(length: number, buffered: number): void {
    const gap = this.now - this.lastArrival
    this.lastArrival = this.now
    if (gap > MAX_SPACING) {
      // What was sent in a stall arrives at once when it ends, so a message of the same moment proves nothing.
      const proof = this.now - this.message > BURST ? this.message : this.messageBefore
      const most = gap === Number.POSITIVE_INFINITY ? START_UP : MAX_OVERDUE
      const stalled = Math.min(gap, this.now - proof, most)
      this.overdue = Math.min(MAX_OVERDUE, Math.max(0, this.overdue) + stalled)
      this.overdueUntil = this.now + CATCH_UP
      this.restart()
    } else {
      this.overdue += gap
      // What was overdue has arrived, or was never sent.
      if (this.now > this.overdueUntil) this.overdue = Math.min(this.overdue, SLACK)
    }
    this.overdue -= length
    if (this.overdue < -SLACK) {
      this.overdue = 0
      this.steady = false
      this.wasAhead = true
      this.restart()
    }
    this.watch(gap, length, buffered)
  }

  private restart(): void {
    this.since = this.now
    this.arrived = 0
    this.longestGap = 0
  }

  private watch(gap: number, length: number, buffered: number): void {
    const passed = this.now - this.since
    if (gap <= MAX_SPACING) this.longestGap = Math.max(this.longestGap, gap)
    if (passed >= (this.wasAhead ? STEADY_AGAIN : STEADY)) {
      if (Math.abs(this.arrived / passed - 1) < TOLERANCE) {
        if (this.wasAhead) this.lead = buffered
        this.wasAhead = false
        this.steady = true
        this.spacing = this.longestGap
      }
      this.restart()
    }
    // Counted after the window has begun, so that a window's first arrival is its start.
    this.arrived += length
  }
}
