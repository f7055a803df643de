/**
 * Evens out the arrival of what is to be played: samples go in whenever the network brings them and come out without gaps
 * as long as they arrive in time. It holds back a little at first, and again whenever it ran dry; after a gap in the
 * middle of speech it holds back more, and by and by less again when all goes well. Times in seconds.
 */

/** How much must be there before playing begins: at first, at least, at most. */
const CUSHION = 0.08
const LEAST = 0.06
const MOST = 0.24
/** How much more after a gap, and less after so long without one. */
const STEP = 0.04
const CALM = 10
/** Running dry for longer than this is a pause of the speaker, no gap. */
const PAUSE = 0.3
/** An agent may send a long answer at once; what is beyond this is dropped. */
const MOST_HELD = 120

export class JitterBuffer {
  private readonly rate: number
  private readonly blocks: Array<Float32Array> = []
  /** samples in `blocks` that are yet to be played, and how many of the first are played already */
  private held = 0
  private offset = 0
  private playing = false
  private cushion = CUSHION
  private sinceArrival = 0
  private sinceDry = Number.POSITIVE_INFINITY
  private sinceGap = 0

  constructor(rate: number) {
    this.rate = rate
  }

  push(block: Float32Array): void {
    if (block.length === 0 || this.held > MOST_HELD * this.rate) return
    if (!this.playing && this.held === 0 && this.sinceDry < PAUSE) {
      this.cushion = Math.min(MOST, this.cushion + STEP)
      this.sinceGap = 0
    }
    this.blocks.push(block)
    this.held += block.length
    this.sinceArrival = 0
  }

  /** Fills a block of output, which comes silent, with what is due. */
  pull(output: Float32Array): void {
    const passed = output.length / this.rate
    this.sinceArrival += passed
    this.sinceDry += passed
    this.sinceGap += passed
    if (this.sinceGap > CALM) {
      this.cushion = Math.max(LEAST, this.cushion - STEP / 2)
      this.sinceGap = 0
    }
    // A last word shorter than the cushion is played too, once nothing more comes.
    const enough = this.held >= this.cushion * this.rate || this.sinceArrival > this.cushion
    if (this.held > 0 && enough) this.playing = true
    if (this.playing) this.fill(output)
  }

  private fill(output: Float32Array): void {
    let filled = 0
    while (filled < output.length) {
      const block = this.blocks[0]
      if (block === undefined) {
        this.playing = false
        this.sinceDry = 0
        return
      }
      const part = block.subarray(this.offset, this.offset + output.length - filled)
      output.set(part, filled)
      filled += part.length
      this.offset += part.length
      this.held -= part.length
      if (this.offset < block.length) continue
      this.blocks.shift()
      this.offset = 0
    }
  }
}
