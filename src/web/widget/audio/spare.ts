/**
 * How much of a jitter buffer is not needed: the shortest length that was buffered lately, less a reserve. What was needed a moment ago
 * is needed again if jitter comes in spells, so after a gap that follows such a reduction the buffer must be too long for longer.
 *
 * Times and lengths in seconds.
 */

/** What is always kept buffered. */
const RESERVE = 0.06
/** The length of a window of observation; the shortest length of this window and of the one before it counts. */
const WINDOW = 0.7
/** The same after a gap that came soon (`SOON`) after a reduction. */
const LONG_WINDOW = 3.5
const SOON = 10
/** A reduction is worth it from this length on. */
const LEAST = 0.04

export class Spare {
  private lowest = Number.POSITIVE_INFINITY
  private lowestBefore = 0
  private observed = 0
  private window = WINDOW
  private sinceReduction = Number.POSITIVE_INFINITY

  gap(): void {
    this.window = this.sinceReduction < SOON ? LONG_WINDOW : WINDOW
    this.restart()
  }

  /** Time passed while this length was buffered. Returns what was not needed at the end of a window, otherwise 0. */
  pass(seconds: number, buffered: number): number {
    this.sinceReduction += seconds
    this.observed += seconds
    this.lowest = Math.min(this.lowest, buffered)
    if (this.observed < this.window) return 0
    const spare = Math.min(this.lowest, this.lowestBefore) - RESERVE
    this.lowestBefore = this.lowest
    this.lowest = buffered
    this.observed = 0
    if (spare < LEAST) return 0
    this.sinceReduction = 0
    this.restart()
    return spare
  }

  private restart(): void {
    this.lowest = Number.POSITIVE_INFINITY
    this.lowestBefore = 0
    this.observed = 0
  }
}
