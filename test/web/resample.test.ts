/** The demo page's sample arithmetic, which needs no browser. */
import { describe, expect, it } from "vitest"
import { Decoder, encode, FRAME_SAMPLES, Framer, loudness } from "../../src/web/demo/pcm.ts"
import { Resampler } from "../../src/web/demo/resample.ts"

const sine = (frequency: number, rate: number, seconds: number): Float32Array =>
  Float32Array.from({ length: rate * seconds }, (_, index) => Math.sin((2 * Math.PI * frequency * index) / rate))

/** The middle of a signal, where no filter begins or ends. */
const middle = (samples: Float32Array): Float32Array =>
  samples.subarray(Math.floor(samples.length / 4), Math.floor((samples.length * 3) / 4))

const concat = (parts: ReadonlyArray<Float32Array>): Float32Array =>
  Float32Array.from(parts.flatMap((part) => [...part]))

describe("Resampler", () => {
  for (const [from, to] of [
    [48_000, 16_000],
    [44_100, 16_000],
    [96_000, 16_000],
    [16_000, 48_000],
    [16_000, 44_100],
    [16_000, 16_000],
    [8_000, 16_000],
  ] as const) {
    it(`keeps a tone of speech as it is from ${from} to ${to} samples a second`, () => {
      const output = new Resampler(from, to).push(sine(1_000, from, 1))
      expect(Math.abs(output.length - to)).toBeLessThan(to / 50)
      const expected = sine(1_000, to, 1)
      const difference = middle(output.map((sample, index) => sample - (expected[index] ?? 0)))
      expect(loudness(difference)).toBeLessThan(0.003)
    })
  }

  it("lets nothing through that the lower rate cannot carry", () => {
    const output = new Resampler(48_000, 16_000).push(sine(10_000, 48_000, 1))
    expect(loudness(middle(output))).toBeLessThan(0.002)
  })

  it("gives the same samples for one block as for many of uneven size", () => {
    const input = sine(700, 44_100, 0.5)
    const whole = new Resampler(44_100, 16_000).push(input)
    const resampler = new Resampler(44_100, 16_000)
    const parts: Array<Float32Array> = []
    for (let at = 0, size = 1; at < input.length; at += size, size = (size * 7) % 211) {
      parts.push(resampler.push(input.subarray(at, at + size)))
    }
    expect(concat(parts)).toEqual(whole)
  })
})

describe("PCM", () => {
  it("is 640 bytes for a frame of 20 ms, little-endian, and clipped instead of wrapped", () => {
    const frame = new Float32Array(FRAME_SAMPLES)
    frame.set([1, -1, 2, -2, 0.5])
    const bytes = encode(frame)
    expect(bytes.byteLength).toBe(640)
    expect([...new Uint8Array(bytes, 0, 10)]).toEqual([0xff, 0x7f, 0x01, 0x80, 0xff, 0x7f, 0x01, 0x80, 0x00, 0x40])
  })

  it("cuts a stream into whole frames and keeps the rest", () => {
    const framer = new Framer()
    expect(framer.push(new Float32Array(FRAME_SAMPLES - 1))).toHaveLength(0)
    expect(framer.push(new Float32Array(FRAME_SAMPLES + 1))).toHaveLength(2)
  })

  it("reads samples that are parted between two chunks", () => {
    const samples = Float32Array.of(0.25, -0.5, 0.75, -1)
    const bytes = encode(samples)
    const decoder = new Decoder()
    const read = [0, 1, 4, 7].map((from, index, all) => decoder.push(bytes.slice(from, all[index + 1])))
    const joined = concat(read)
    expect(joined).toHaveLength(4)
    joined.forEach((sample, index) => {
      expect(sample).toBeCloseTo(samples[index] ?? 0, 3)
    })
  })
})
