/**
 * A jitter buffer: samples arrive irregularly from the network and are played without gaps if they arrive in time. It buffers a
 * little before playback starts, and again after an underrun. The buffered length grows after each gap in speech. It shrinks slowly
 * while there are none, and at once by what was not needed (`spare.ts`).
 *
 * What the network delayed (`pace.ts` tells it from an answer that was sent at once) does not stay late: beyond `LATE`, and after the
 * length has shrunk, the buffer is played faster, without change of pitch (`compress.ts`), until what is buffered is the usual length
 * again.
 *
 * Times in seconds.
 */
import { Compressor } from "./compress.ts"
import { Pace } from "./pace.ts"
import { SampleQueue } from "./sample-queue.ts"
import { Spare } from "./spare.ts"

/** The length buffered before playback starts: initial, minimum and maximum. */
const INITIAL = 0.08
const MIN = 0.06
const MAX = 0.24
/** Growth after a gap, and the time without a gap after which it shrinks. */
const STEP = 0.04
const CALM = 10
/** A longer underrun is a pause of the speaker, not a gap. */
const PAUSE = 0.3
/** An agent may send a long answer at once; audio beyond this length is dropped. */
const MAX_BUFFERED = 120
/** Delayed audio beyond this length is played faster. */
const LATE = 0.3
/** How long it may take to catch up, and the slowest and fastest speed that is used for it, where 1 is natural. */
const CATCH_UP = 2
const SLOWEST = 1.15
const FASTEST = 2.5
/** For how long too much must be buffered before the playback speeds up; longer for a sender with longer frames. */
const OBSERVED = 0.06

export class JitterBuffer {
  private readonly rate: number
  private readonly queue = new SampleQueue()
  private readonly pace = new Pace()
  private readonly compressor: Compressor
  private readonly spare = new Spare()
  private playing = false
  private target = INITIAL
  private sinceArrival = 0
  private sinceUnderrun = Number.POSITIVE_INFINITY
  private sinceGap = 0
  /** the shortest buffered length of the current and of the last window, and the age of the current one */
  private lowest = 0
  private lowestBefore = 0
  private observed = 0
  private speed = 1
  /** a cross-fade that is being played, and how many samples to play unchanged after it */
  private fade: Float32Array = new Float32Array(0)
  private unchanged = 0

  constructor(rate: number) {
    this.rate = rate
    this.compressor = new Compressor(rate)
  }

  get buffered(): number {
    return (this.queue.length + this.fade.length) / this.rate
  }

  push(block: Float32Array): void {
    if (block.length === 0 || this.buffered > MAX_BUFFERED) return
    if (!this.playing && this.buffered === 0 && this.sinceUnderrun < PAUSE) {
      this.target = Math.min(MAX, this.target + STEP)
      this.sinceGap = 0
      this.spare.gap()
    }
    this.pace.arrive(block.length / this.rate, this.buffered)
    this.queue.push(block)
    this.sinceArrival = 0
  }

  /** Something other than audio arrived. */
  alive(): void {
    this.pace.alive()
  }

  /** Fills a silent block of output with the samples that are due. */
  pull(output: Float32Array): void {
    const passed = output.length / this.rate
    this.pace.pass(passed)
    this.sinceArrival += passed
    this.sinceUnderrun += passed
    this.sinceGap += passed
    if (this.sinceGap > CALM) {
      this.target = Math.max(MIN, this.target - STEP / 2)
      this.sinceGap = 0
    }
    // The end of speech is played even if it is shorter than the target, once no more arrives.
    const enough = this.buffered >= this.target || this.sinceArrival > this.target
    if (this.buffered > 0 && enough) this.playing = true
    this.setSpeed(passed)
    if (this.playing) this.fill(output)
  }

  /** The length that a steady sender's audio needs. */
  private get wanted(): number {
    return this.target + this.pace.lead
  }

  private setSpeed(passed: number): void {
    this.lowest = Math.min(this.lowest, this.buffered)
    this.observed += passed
    const floor = Math.min(this.lowest, this.lowestBefore)
    if (this.observed >= Math.max(OBSERVED, 1.2 * this.pace.spacing)) {
      this.lowestBefore = this.lowest
      this.lowest = this.buffered
      this.observed = 0
    }
    const late = floor > this.pace.lead + Math.max(LATE, this.target + 2 * STEP)
    if (!this.pace.steady || (this.speed > 1 && this.buffered <= this.wanted)) this.speed = 1
    else if (late) {
      const needed = 1 + (floor - this.wanted) / CATCH_UP
      this.speed = Math.max(this.speed, SLOWEST, Math.min(FASTEST, needed))
    } else if (this.speed === 1) this.shrink(passed)
  }

  /** Gives up what was not needed lately, and plays a little faster until that is gone. */
  private shrink(passed: number): void {
    const spare = this.spare.pass(passed, this.buffered - this.pace.lead)
    if (spare === 0) return
    this.target = Math.max(INITIAL, this.target - spare)
    if (this.buffered > this.wanted + STEP) this.speed = SLOWEST
  }

  private fill(output: Float32Array): void {
    let filled = 0
    while (filled < output.length) {
      if (this.fade.length === 0 && this.unchanged <= 0 && this.speed > 1) this.compress()
      const isFade = this.fade.length > 0
      const most = output.length - filled
      const part = isFade
        ? this.fade.subarray(0, most)
        : this.queue.first(this.speed > 1 ? Math.min(most, Math.max(1, this.unchanged)) : most)
      if (part.length === 0) {
        this.playing = false
        this.sinceUnderrun = 0
        return
      }
      output.set(part, filled)
      filled += part.length
      if (isFade) this.fade = this.fade.subarray(part.length)
      else {
        this.queue.drop(part.length)
        this.unchanged -= part.length
      }
    }
  }

  /** Leaves a part out, and decides how much is played unchanged until the next cut, so that the speed is right on average. */
  private compress(): void {
    const { compressor, queue, speed } = this
    const most = queue.length - Math.round(this.wanted * this.rate)
    const cut = compressor.cut(queue.first(compressor.window), most, speed)
    if (cut === undefined) {
      this.speed = 1
      return
    }
    queue.drop(cut.consumed)
    this.fade = cut.fade
    const skipped = cut.consumed - compressor.fade
    // A cut that was too short is made up for by the next.
    const owed = Math.max(-compressor.fade, Math.min(0, this.unchanged))
    this.unchanged = cut.silence ? 0 : owed + Math.round(skipped / (speed - 1)) - compressor.fade
  }
}
