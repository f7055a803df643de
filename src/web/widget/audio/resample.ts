/**
 * A streaming resampler: input blocks of any size produce the same samples as one pass over the whole stream, so there are no clicks
 * at block boundaries. Band-limited by a windowed sinc with one kernel for each phase between the two rates, so downsampling from
 * 48 kHz to 16 kHz does not alias.
 */

/** Zero crossings of the sinc on each side; more make the filter steeper. */
const CROSSINGS = 16
/** The fraction of the lower rate's band that passes; the rest is the transition band. */
const PASSBAND = 0.92

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b))

/** Resamples a stream between two integer rates. */
export class Resampler {
  /** `from : to` in lowest terms: output samples are `step / phases` input samples apart */
  private readonly step: number
  private readonly phases: number
  /** input samples on each side of an output sample that it depends on */
  private readonly reach: number
  private readonly kernels: ReadonlyArray<Float32Array>
  /** unconsumed input; starts with silence as history for the first output sample */
  private pending: Float32Array
  /** position of the next output sample between `pending[reach]` and the one after, in phases */
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

  /** The output samples that this block completes. */
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

/** The filter weights, with sum 1, of an output sample that lies `fraction` of an input sample after the middle one. */
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
