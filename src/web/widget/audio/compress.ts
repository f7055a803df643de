/**
 * Time compression without change of pitch, by overlapping: where a signal resembles itself a little later (one or more periods of a
 * voice), the part in between is left out and the two ends are cross-faded. Silence is left out first, because nobody misses it.
 */
import { loudness } from "./format.ts"
import { SILENT } from "./frames.ts"

/** The length of a cross-fade, in seconds. */
const FADE = 0.01
/** How long a cut usually is, and by how much it may differ to find a resemblance: more than a period of a low voice. In seconds. */
const CUT = 0.0125
const SEARCH = 0.0075
/** At most this much silence is left out at once, and this much of a pause remains, so that words stay apart. In seconds. */
const MAX_SILENCE = 0.1
const PAUSE = 0.03
/** Samples a second that are enough to compare; all are compared around the best place. */
const COMPARED = 8_000

/** One cut: the cross-fade to play, and how many samples of the input it replaces. */
export interface Cut {
  readonly fade: Float32Array
  readonly consumed: number
  readonly silence: boolean
}

export class Compressor {
  private readonly rate: number
  /** samples of a cross-fade */
  readonly fade: number

  constructor(rate: number) {
    this.rate = rate
    this.fade = Math.round(FADE * rate)
  }

  /** How many samples `cut` looks at. */
  get window(): number {
    return 2 * this.fade + Math.ceil(MAX_SILENCE * this.rate)
  }

  /**
   * Cuts at the start of `samples`, at most `most` samples. Undefined if there is too little.
   *
   * @param speed how much faster than natural, above 1; a fast one needs longer cuts
   */
  cut(samples: Float32Array, most: number, speed: number): Cut | undefined {
    const { fade, rate } = this
    const room = Math.min(most, samples.length - fade)
    const quiet = this.quietLength(samples) - Math.round(PAUSE * rate)
    const usual = Math.max(CUT, (speed - 1) * FADE)
    const shortest = Math.round((usual - SEARCH) * rate)
    if (room < shortest) return undefined
    const silence = quiet > shortest
    const skip = silence
      ? Math.min(room, quiet)
      : bestShift(samples, fade, shortest, Math.min(room, Math.round((usual + SEARCH) * rate)), rate)
    const mixed = samples.slice(0, fade)
    for (let index = 0; index < fade; index++) {
      const share = (index + 0.5) / fade
      mixed[index] = (samples[index] ?? 0) * (1 - share) + (samples[index + skip] ?? 0) * share
    }
    return { fade: mixed, consumed: skip + fade, silence }
  }

  /** How many samples at the start are silence. */
  private quietLength(samples: Float32Array): number {
    let end = 0
    while (end < samples.length && loudness(samples.subarray(end, end + this.fade)) < SILENT) end += this.fade
    return Math.min(end, samples.length)
  }
}

/** The shift after which the signal resembles its first `length` samples most. */
const bestShift = (samples: Float32Array, length: number, shortest: number, longest: number, rate: number): number => {
  const stride = Math.max(1, Math.floor(rate / COMPARED))
  const coarse = search(samples, length, shortest, longest, stride)
  return search(samples, length, Math.max(shortest, coarse - stride), Math.min(longest, coarse + stride), 1)
}

const search = (samples: Float32Array, length: number, from: number, to: number, stride: number): number => {
  let [best, likeness] = [from, Number.NEGATIVE_INFINITY]
  for (let shift = from; shift <= to; shift += stride) {
    let [product, energy] = [0, 1e-9]
    for (let index = 0; index < length; index += stride) {
      const later = samples[index + shift] ?? 0
      product += (samples[index] ?? 0) * later
      energy += later * later
    }
    const found = product / Math.sqrt(energy)
    if (found > likeness) [best, likeness] = [shift, found]
  }
  return best
}
