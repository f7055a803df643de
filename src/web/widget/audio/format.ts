/**
 * Encodes and decodes the audio of the session's WebSocket: mono samples in the format agreed with the platform. It is sent in frames
 * of 20 ms. It is received in chunks of any size, which may split a sample.
 */

/** Linear PCM (signed, little-endian), or G.711, which has 8 bits a sample. */
export interface AudioFormat {
  readonly encoding: "pcm" | "mulaw" | "alaw"
  /** samples a second, 8000 to 96000 */
  readonly sampleRate: number
  /** of PCM: 16, 24 or 32 */
  readonly bitsPerSample: number
}

export const bytesPerSample = ({ encoding, bitsPerSample }: AudioFormat): number =>
  encoding === "pcm" ? bitsPerSample / 8 : 1

/** Samples of a frame of 20 ms. */
export const frameSamples = ({ sampleRate }: AudioFormat): number => Math.round(sampleRate / 50)

/** Samples are between -1 and 1; values outside are clipped. */
export const encode = (samples: Float32Array, format: AudioFormat): ArrayBuffer => {
  const width = bytesPerSample(format)
  const bytes = new Uint8Array(samples.length * width)
  const maxValue = 2 ** (width * 8 - 1) - 1
  samples.forEach((sample, index) => {
    const clipped = Math.max(-1, Math.min(1, sample))
    if (format.encoding === "pcm") {
      let value = Math.round(clipped * maxValue)
      for (let byte = 0; byte < width; byte++, value >>= 8) bytes[index * width + byte] = value & 0xff
    } else {
      bytes[index] = (format.encoding === "mulaw" ? toMulaw : toAlaw)(Math.round(clipped * 0x7fff))
    }
  })
  return bytes.buffer
}

/** Decodes a stream of bytes to samples between -1 and 1. */
export class Decoder {
  private readonly format: AudioFormat
  /** the first bytes of an incomplete sample */
  private remainder = new Uint8Array(0)

  constructor(format: AudioFormat) {
    this.format = format
  }

  push(chunk: ArrayBuffer): Float32Array {
    const { encoding } = this.format
    const width = bytesPerSample(this.format)
    const bytes = new Uint8Array(this.remainder.length + chunk.byteLength)
    bytes.set(this.remainder)
    bytes.set(new Uint8Array(chunk), this.remainder.length)
    const count = Math.floor(bytes.length / width)
    this.remainder = bytes.slice(count * width)
    const full = 2 ** (width * 8 - 1)
    return Float32Array.from({ length: count }, (_, index) => {
      if (encoding !== "pcm") return (encoding === "mulaw" ? fromMulaw : fromAlaw)(bytes[index] ?? 0) / 0x8000
      // The bytes are placed in the highest bits, so that the arithmetic shift extends the sign.
      let value = 0
      for (let byte = 0; byte < width; byte++) value |= (bytes[index * width + byte] ?? 0) << (32 - 8 * (width - byte))
      return (value >> (32 - 8 * width)) / full
    })
  }
}

/** ITU-T G.711 μ-law, from 16 bit. */
const toMulaw = (sample: number): number => {
  const magnitude = Math.min(Math.abs(sample), 32_635) + 132
  const exponent = 24 - Math.clz32(magnitude)
  const mantissa = (magnitude >> (exponent + 3)) & 15
  return ~((sample < 0 ? 128 : 0) | (exponent << 4) | mantissa) & 255
}

const fromMulaw = (byte: number): number => {
  const bits = ~byte
  const magnitude = ((((bits & 15) << 3) + 132) << ((bits >> 4) & 7)) - 132
  return bits & 128 ? -magnitude : magnitude
}

/** ITU-T G.711 A-law, from 16 bit. */
const toAlaw = (sample: number): number => {
  const mask = sample < 0 ? 0x55 : 0xd5
  const magnitude = (sample < 0 ? ~sample : sample) >> 3
  const exponent = Math.max(0, 27 - Math.clz32(magnitude))
  return ((exponent << 4) | ((magnitude >> Math.max(1, exponent)) & 15)) ^ mask
}

const fromAlaw = (byte: number): number => {
  const bits = byte ^ 0x55
  const exponent = (bits >> 4) & 7
  const mantissa = ((bits & 15) << 4) + 8
  const magnitude = exponent === 0 ? mantissa : (mantissa + 256) << (exponent - 1)
  return bits & 128 ? magnitude : -magnitude
}

/** Cuts a stream of samples into frames of one length. */
export class Framer {
  private readonly frame: Float32Array
  private filled = 0

  constructor(length: number) {
    this.frame = new Float32Array(length)
  }

  /** The frames that these samples complete. */
  push(samples: Float32Array): Array<Float32Array> {
    const frames: Array<Float32Array> = []
    for (const sample of samples) {
      this.frame[this.filled++] = sample
      if (this.filled < this.frame.length) continue
      frames.push(this.frame.slice())
      this.filled = 0
    }
    return frames
  }
}

/** The root of the samples' mean square, 0 to 1. */
export const loudness = (samples: Float32Array): number => {
  let sum = 0
  for (const sample of samples) sum += sample * sample
  return samples.length === 0 ? 0 : Math.sqrt(sum / samples.length)
}
