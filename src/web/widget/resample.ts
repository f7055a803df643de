/**
 * Changes the sample rate of a stream without clicks at the seams: blocks of any size go in, and the samples that come out
 * are those of one pass over the whole stream. Band-limited (a windowed sinc, evaluated at every phase the two rates can
 * have), so speech at 48 kHz comes down to 16 kHz without aliases.
 */

/** Zero crossings of the sinc on each side: the steeper the more. */
const CROSSINGS = 16
/** The share of the lower rate's band that is kept; the rest is the filter's slope. */
const PASSBAND = 0.92

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b))

/** A stream from one rate to another, both whole numbers of samples a second. */
export class Resampler {
  /** `from : to` in lowest terms: each output sample is `step / phases` input samples after the one before */
  private readonly step: number
  private readonly phases: number
  /** input samples on each side that an output sample depends on */
  private readonly reach: number
  private readonly kernels: ReadonlyArray<Float32Array>
  /** input not yet used up; begins with silence, so that the first output sample has a past */
  private pending: Float32Array
  /** where the next output sample lies between `pending[reach]` and the one after, in phases */
  private phase = 0

  constructor(from: number, to: number) {
    const divisor = gcd(from, to)
    this.step = from / divisor
    this.phases = to / divisor
    const cutoff = Math.min(1, to / from) * PASSBAND
    this.reach = from === to ? 0 : Math.ceil(CROSSINGS / cutoff)
    this.kernels = Array.from({ length: this.phases }, (_, phase) => kernel(this.reach, phase / this.phases, cutoff))
    this.pending = new Float32Array(this.reach)
  }

  /** The output that this block completes; what it does not is kept for the next. */
  push(block: Float32Array): Float32Array {
    const input = new Float32Array(this.pending.length + block.length)
    input.set(this.pending)
    input.set(block, this.pending.length)
    const output: Array<number> = []
    let at = this.reach
    while (at + this.reach < input.length) {
      output.push(weigh(input, at - this.reach, this.kernels[this.phase]))
      const next = this.phase + this.step
      at += Math.floor(next / this.phases)
      this.phase = next % this.phases
    }
    this.pending = input.slice(at - this.reach)
    return Float32Array.from(output)
  }
}

const weigh = (input: Float32Array, start: number, weights: Float32Array | undefined): number => {
  if (weights === undefined) return 0
  let sum = 0
  for (let index = 0; index < weights.length; index++) sum += (input[start + index] ?? 0) * (weights[index] ?? 0)
  return sum
}

/** The weights of an output sample `fraction` of an input sample after the middle one; they add up to 1. */
const kernel = (reach: number, fraction: number, cutoff: number): Float32Array => {
  if (reach === 0) return Float32Array.of(1)
  const weights = Array.from({ length: 2 * reach + 1 }, (_, index) => {
    const distance = index - reach - fraction
    return sinc(cutoff * distance) * hann(distance / (reach + 1))
  })
  const sum = weights.reduce((total, weight) => total + weight, 0)
  return Float32Array.from(weights, (weight) => weight / sum)
}

const sinc = (x: number): number => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x))

const hann = (x: number): number => (Math.abs(x) >= 1 ? 0 : 0.5 + 0.5 * Math.cos(Math.PI * x))
