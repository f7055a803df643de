/** The widget's sample arithmetic, which needs no browser. */
import { describe, expect, it } from "vitest"
import {
  type AudioFormat,
  Decoder,
  encode,
  Framer,
  frameSamples,
  loudness,
} from "../../../../src/web/widget/audio/format.ts"
import { JitterBuffer } from "../../../../src/web/widget/audio/jitter.ts"
import { Resampler } from "../../../../src/web/widget/audio/resample.ts"

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
    it(`preserves a tone in the speech band from ${from} to ${to} samples a second`, () => {
      const output = new Resampler(from, to).push(sine(1_000, from, 1))
      expect(Math.abs(output.length - to)).toBeLessThan(to / 50)
      const expected = sine(1_000, to, 1)
      const difference = middle(output.map((sample, index) => sample - (expected[index] ?? 0)))
      expect(loudness(difference)).toBeLessThan(0.003)
    })
  }

  it("removes frequencies above the lower rate's band", () => {
    const output = new Resampler(48_000, 16_000).push(sine(10_000, 48_000, 1))
    expect(loudness(middle(output))).toBeLessThan(0.002)
  })

  it("gives the same samples for one block and for many of uneven size", () => {
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

const PCM: AudioFormat = { encoding: "pcm", sampleRate: 16_000, bitsPerSample: 16 }

describe("audio formats", () => {
  it("encode a frame of 20 ms as 640 bytes, little-endian, and clip instead of wrapping", () => {
    const frame = new Float32Array(frameSamples(PCM))
    frame.set([1, -1, 2, -2, 0.5])
    const bytes = encode(frame, PCM)
    expect(bytes.byteLength).toBe(640)
    expect([...new Uint8Array(bytes, 0, 10)]).toEqual([0xff, 0x7f, 0x01, 0x80, 0xff, 0x7f, 0x01, 0x80, 0x00, 0x40])
  })

  // ITU-T G.711, tables 1a and 2a: silence, full scale and the ends of segments
  it("encode G.711 according to its tables", () => {
    const samples = Float32Array.of(0, 1, -1, 1_000 / 0x7fff, -1_000 / 0x7fff)
    const bytes = (encoding: "mulaw" | "alaw") => [
      ...new Uint8Array(encode(samples, { encoding, sampleRate: 8_000, bitsPerSample: 8 })),
    ]
    expect(bytes("mulaw")).toEqual([0xff, 0x80, 0x00, 0xce, 0x4e])
    expect(bytes("alaw")).toEqual([0xd5, 0xaa, 0x2a, 0xfa, 0x7a])
  })

  for (const [format, tolerance] of [
    [PCM, 0.0001],
    [{ ...PCM, bitsPerSample: 24 }, 0.000001],
    [{ ...PCM, bitsPerSample: 32 }, 0.000001],
    [{ encoding: "mulaw", sampleRate: 8_000, bitsPerSample: 8 }, 0.02],
    [{ encoding: "alaw", sampleRate: 8_000, bitsPerSample: 8 }, 0.02],
  ] as const) {
    it(`decode what was encoded as ${format.encoding} of ${format.bitsPerSample} bit`, () => {
      const samples = sine(440, format.sampleRate, 0.1)
      const read = new Decoder(format).push(encode(samples, format))
      expect(read).toHaveLength(samples.length)
      expect(Math.max(...read.map((sample, index) => Math.abs(sample - (samples[index] ?? 0))))).toBeLessThan(tolerance)
    })
  }

  it("are cut into whole frames, and the rest is kept", () => {
    const framer = new Framer(320)
    expect(framer.push(new Float32Array(319))).toHaveLength(0)
    expect(framer.push(new Float32Array(321))).toHaveLength(2)
  })

  for (const bitsPerSample of [16, 24]) {
    it(`are decoded across chunks that split a sample of ${bitsPerSample} bit`, () => {
      const format = { ...PCM, bitsPerSample }
      const samples = Float32Array.of(0.25, -0.5, 0.75, -1)
      const bytes = encode(samples, format)
      const decoder = new Decoder(format)
      const read = [0, 1, 4, 7].map((from, index, all) => decoder.push(bytes.slice(from, all[index + 1])))
      const joined = concat(read)
      expect(joined).toHaveLength(4)
      joined.forEach((sample, index) => {
        expect(sample).toBeCloseTo(samples[index] ?? 0, 3)
      })
    })
  }
})

describe("JitterBuffer", () => {
  const RATE = 16_000
  /** Plays `seconds` in blocks of 128 samples; `arrive` brings samples at its times. */
  const play = (buffer: JitterBuffer, seconds: number, arrive: (time: number) => Float32Array | undefined) => {
    const played: Array<number> = []
    for (let at = 0; at < seconds * RATE; at += 128) {
      const arrived = arrive(at / RATE)
      if (arrived !== undefined) buffer.push(arrived)
      const output = new Float32Array(128)
      buffer.pull(output)
      played.push(...output)
    }
    return played
  }
  /** 20 ms of ones at a time, the n-th `late(n)` seconds late. */
  const frames = (late: (index: number) => number) => {
    let next = 0
    return (time: number) => {
      if (time < next * 0.02 + late(next)) return undefined
      next++
      return new Float32Array(320).fill(1)
    }
  }

  it("plays irregular arrivals without a gap, once it has started", () => {
    const played = play(
      new JitterBuffer(RATE),
      2,
      frames((index) => (index % 5 === 4 ? 0.05 : 0)),
    )
    const begin = played.indexOf(1)
    expect(begin).toBeGreaterThan(0.04 * RATE)
    expect(begin).toBeLessThan(0.13 * RATE)
    expect(played.slice(begin, 1.9 * RATE).every((sample) => sample === 1)).toBe(true)
  })

  it("buffers more after a gap in speech", () => {
    const played = play(
      new JitterBuffer(RATE),
      8,
      frames((index) => (index % 50 === 49 ? 0.15 : 0)),
    )
    const gaps = (from: number, to: number): number =>
      played.slice(from * RATE, to * RATE).filter((sample, index, part) => sample === 0 && part[index - 1] === 1).length
    expect(gaps(0, 3)).toBeGreaterThan(0)
    expect(gaps(3, 8)).toBe(0)
  })

  it("plays the end of speech even if it is shorter than the buffered length", () => {
    const played = play(new JitterBuffer(RATE), 0.5, (time) => (time === 0 ? new Float32Array(320).fill(1) : undefined))
    expect(played.filter((sample) => sample === 1)).toHaveLength(320)
  })
})
