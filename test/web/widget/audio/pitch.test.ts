/** How the lateness of sound is measured: by the pitch of a tone that rises steadily. */
import { expect, it } from "vitest"
import { pitch } from "./pitch.ts"

const RATE = 48_000

/** 40 ms of a tone. */
const tone = (hertz: number): Float32Array =>
  Float32Array.from({ length: 0.04 * RATE }, (_, index) => Math.sin((2 * Math.PI * hertz * index) / RATE))

it("the pitch is exact for a tone, and unknown for silence and for a few periods", () => {
  for (const hertz of [300, 780, 2_400]) expect(pitch(tone(hertz), RATE)).toBeCloseTo(hertz, 0)
  expect(pitch(new Float32Array(0.04 * RATE), RATE)).toBeUndefined()
  expect(pitch(tone(780).subarray(0, 200), RATE)).toBeUndefined()
})

it("the pitch is unknown where the sound has a gap, which would make the tone lower", () => {
  for (const millis of [5, 10, 20]) {
    const samples = tone(900)
    samples.fill(0, 400, 400 + (millis / 1_000) * RATE)
    expect(pitch(samples, RATE)).toBeUndefined()
  }
})
