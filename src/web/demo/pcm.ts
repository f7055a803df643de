/**
 * The audio of the session's WebSocket: 16 kHz, 16 bit little-endian, mono. Out it goes in frames of 20 ms; in it comes in
 * chunks of any size, which may part in the middle of a sample.
 */

/** Samples a second on the wire. */
export const WIRE_RATE = 16_000
/** Samples of a frame of 20 ms; 640 bytes. */
export const FRAME_SAMPLES = WIRE_RATE / 50

/** Samples between -1 and 1 as bytes; louder ones are clipped. */
export const encode = (samples: Float32Array): ArrayBuffer => {
  const view = new DataView(new ArrayBuffer(samples.length * 2))
  samples.forEach((sample, index) => {
    view.setInt16(index * 2, Math.round(Math.max(-1, Math.min(1, sample)) * 0x7fff), true)
  })
  return view.buffer
}

/** Cuts a stream of samples into frames. */
export class Framer {
  private readonly frame = new Float32Array(FRAME_SAMPLES)
  private filled = 0

  /** The frames that these samples complete. */
  push(samples: Float32Array): Array<Float32Array> {
    const frames: Array<Float32Array> = []
    for (const sample of samples) {
      this.frame[this.filled++] = sample
      if (this.filled < FRAME_SAMPLES) continue
      frames.push(this.frame.slice())
      this.filled = 0
    }
    return frames
  }
}

/** Reads a stream of bytes as samples between -1 and 1. */
export class Decoder {
  /** the first byte of a sample whose second is yet to come */
  private odd: number | undefined

  push(chunk: ArrayBuffer): Float32Array {
    const bytes = new Uint8Array(chunk)
    const carried = this.odd === undefined ? 0 : 1
    const whole = new Uint8Array(carried + bytes.length)
    if (this.odd !== undefined) whole[0] = this.odd
    whole.set(bytes, carried)
    this.odd = whole.length % 2 === 1 ? whole.at(-1) : undefined
    const view = new DataView(whole.buffer)
    return Float32Array.from({ length: whole.length >> 1 }, (_, index) => view.getInt16(index * 2, true) / 0x8000)
  }
}

/** The loudness of some samples: the root of their mean square, 0 to 1. */
export const loudness = (samples: Float32Array): number => {
  let sum = 0
  for (const sample of samples) sum += sample * sample
  return samples.length === 0 ? 0 : Math.sqrt(sum / samples.length)
}
