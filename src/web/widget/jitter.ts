/**
 * A jitter buffer: samples arrive irregularly from the network and are played without gaps if they arrive in time. It buffers a
 * little before playback starts, and again after an underrun. The buffered length grows after each gap in speech, and shrinks slowly
 * while there are none. Times in seconds.
 */

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

export class JitterBuffer {
  private readonly rate: number
  private readonly blocks: Array<Float32Array> = []
  /** samples in `blocks` still to play, and how many of the first block are already played */
  private buffered = 0
  private offset = 0
  private playing = false
  private target = INITIAL
  private sinceArrival = 0
  private sinceUnderrun = Number.POSITIVE_INFINITY
  private sinceGap = 0

  constructor(rate: number) {
    this.rate = rate
  }

  push(block: Float32Array): void {
    if (block.length === 0 || this.buffered > MAX_BUFFERED * this.rate) return
    if (!this.playing && this.buffered === 0 && this.sinceUnderrun < PAUSE) {
      this.target = Math.min(MAX, this.target + STEP)
      this.sinceGap = 0
    }
    this.blocks.push(block)
    this.buffered += block.length
    this.sinceArrival = 0
  }

  /** Fills a silent block of output with the samples that are due. */
  pull(output: Float32Array): void {
    const passed = output.length / this.rate
    this.sinceArrival += passed
    this.sinceUnderrun += passed
    this.sinceGap += passed
    if (this.sinceGap > CALM) {
      this.target = Math.max(MIN, this.target - STEP / 2)
      this.sinceGap = 0
    }
    // The end of speech is played even if it is shorter than the target, once no more arrives.
    const enough = this.buffered >= this.target * this.rate || this.sinceArrival > this.target
    if (this.buffered > 0 && enough) this.playing = true
    if (this.playing) this.fill(output)
  }

  private fill(output: Float32Array): void {
    let filled = 0
    while (filled < output.length) {
      const block = this.blocks[0]
      if (block === undefined) {
        this.playing = false
        this.sinceUnderrun = 0
        return
      }
      const part = block.subarray(this.offset, this.offset + output.length - filled)
      output.set(part, filled)
      filled += part.length
      this.offset += part.length
      this.buffered -= part.length
      if (this.offset < block.length) continue
      this.blocks.shift()
      this.offset = 0
    }
  }
}
