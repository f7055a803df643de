/** The jitter buffer on synthetic time: how late it plays, at which speed and at which pitch. */
import { describe, expect, it } from "vitest"
import { JitterBuffer } from "../../../../src/web/widget/audio/jitter.ts"
import { pitch } from "./pitch.ts"

const RATE = 48_000
const BLOCK = 128
const FRAME = 0.02

/** A recording whose pitch tells the place in it: at second `s` it has `300 + 100 s` Hz. */
const FROM = 300
const PER_SECOND = 100
const sweep = (seconds: number): Float32Array =>
  Float32Array.from({ length: seconds * RATE }, (_, index) => {
    const time = index / RATE
    return 0.5 * Math.sin(2 * Math.PI * (FROM * time + (PER_SECOND / 2) * time * time))
  })

/** What arrives: samples of a recording, each part at its time (s), in order. */
interface Arrival {
  readonly at: number
  readonly samples: Float32Array
}

/** Frames of 20 ms of a recording, sent as they are spoken from `start` on, each `late(time)` seconds on its way. */
const live = (recording: Float32Array, start: number, late: (time: number) => number): Array<Arrival> => {
  const arrivals: Array<Arrival> = []
  let last = 0
  for (let from = 0; from < recording.length; from += FRAME * RATE) {
    const spoken = start + from / RATE + FRAME
    last = Math.max(last, spoken + late(spoken))
    arrivals.push({ at: last, samples: recording.slice(from, from + FRAME * RATE) })
  }
  return arrivals
}

/** A network that lets nothing through from `begin` on for `length` seconds, and everything at once after it. */
const stall =
  (begin: number, length: number) =>
  (time: number): number =>
    time >= begin && time < begin + length ? begin + length - time : 0

const play = (
  buffer: JitterBuffer,
  seconds: number,
  arrivals: ReadonlyArray<Arrival>,
  messages: Array<number> = [],
) => {
  const played = new Float32Array(Math.ceil((seconds * RATE) / BLOCK) * BLOCK)
  let next = 0
  for (let from = 0; from < played.length; from += BLOCK) {
    for (; (arrivals[next]?.at ?? Number.POSITIVE_INFINITY) <= from / RATE; next++) {
      buffer.push(arrivals[next]?.samples ?? new Float32Array())
    }
    while ((messages[0] ?? Number.POSITIVE_INFINITY) <= from / RATE) {
      messages.shift()
      buffer.alive()
    }
    buffer.pull(played.subarray(from, from + BLOCK))
  }
  return played
}

const at = (played: Float32Array, time: number, length = 0.04): Float32Array =>
  played.subarray(Math.round((time - length / 2) * RATE), Math.round((time + length / 2) * RATE))

const pitchOf = (samples: Float32Array): number | undefined => pitch(samples, RATE)

/** How long after it was spoken the sweep is heard at a time; undefined while nothing is heard. */
const delay = (played: Float32Array, time: number, start = 0): number | undefined => {
  const heard = pitchOf(at(played, time))
  return heard === undefined ? undefined : time - start - (heard - FROM) / PER_SECOND
}

const random = (seed: number) => () => {
  seed = (seed * 1_664_525 + 1_013_904_223) % 2 ** 32
  return seed / 2 ** 32
}

describe("a live sender", () => {
  const calm = (): number => 0

  it("is heard within 120 ms on a calm network, for ever", () => {
    const played = play(new JitterBuffer(RATE), 18, live(sweep(18), 0, calm))
    for (let time = 1; time < 18; time += 0.5) expect(delay(played, time)).toBeLessThan(0.12)
  })

  for (const seconds of [0.2, 0.5, 1, 2, 4]) {
    it(`is as timely as before within 3 s after a stall of ${seconds} s`, () => {
      const played = play(new JitterBuffer(RATE), 18, live(sweep(18), 0, stall(6, seconds)))
      const before = delay(played, 5.9) ?? 0
      expect(delay(played, 6 + seconds + 0.2)).toBeGreaterThan(seconds / 2)
      for (let time = 6 + seconds + 3; time < 17.9; time += 0.25) {
        expect(delay(played, time)).toBeLessThan(before + 0.1)
      }
    })
  }

  it("is as timely as before within 3 s after jitter", () => {
    const next = random(7)
    const jitter = (time: number): number => (time > 6 && time < 16 ? 0.02 + 0.13 * next() : 0)
    const played = play(new JitterBuffer(RATE), 26, live(sweep(26), 0, jitter))
    const before = delay(played, 5.9) ?? 0
    // the jitter had to be buffered, and what was buffered for it is given up
    expect(delay(played, 15.9)).toBeGreaterThan(before + 0.1)
    for (let time = 19; time < 25.9; time += 0.25) expect(delay(played, time)).toBeLessThan(before + 0.04)
  })

  it("keeps what it buffers for jitter that comes in spells, after the first of them has shown it", () => {
    const next = random(7)
    const spells = (time: number): number => (time % 6 > 4 ? 0.02 + 0.13 * next() : 0)
    const played = play(new JitterBuffer(RATE), 60, live(sweep(60), 0, spells))
    // a gap is a block of silence
    const gaps = (from: number, to: number): number => {
      let count = 0
      for (let at = from * RATE; at < to * RATE; at += BLOCK) {
        if (played.subarray(at, at + BLOCK).every((sample) => sample === 0)) count++
      }
      return count
    }
    expect(gaps(1, 18)).toBeGreaterThan(0)
    expect(gaps(18, 59)).toBe(0)
  })

  it("is heard whole and at its own pitch while a backlog is worked off", () => {
    // The tone has one pitch, so a different pitch in the output comes from the compression.
    const tone = Float32Array.from(
      { length: 18 * RATE },
      (_, index) => 0.5 * Math.sin((2 * Math.PI * 220 * index) / RATE),
    )
    const played = play(new JitterBuffer(RATE), 14, live(tone, 0, stall(5, 2)))
    for (let time = 7.1; time < 13; time += 0.05) expect(pitchOf(at(played, time))).toBeCloseTo(220, -0.8)
    // no clicks: a tone of this pitch and loudness never changes faster from one sample to the next
    const steepest = (0.5 * 2 * Math.PI * 220) / RATE
    const catchingUp = played.subarray(7.1 * RATE, 10 * RATE)
    for (let index = 1; index < catchingUp.length; index++) {
      expect(Math.abs((catchingUp[index] ?? 0) - (catchingUp[index - 1] ?? 0))).toBeLessThan(2 * steepest)
    }
  })

  it("is not later after a minute of jitter than after five seconds", () => {
    const next = random(7)
    const recording = sweep(60)
    const played = play(
      new JitterBuffer(RATE),
      60,
      live(recording, 0, () => 0.02 + 0.13 * next()),
    )
    for (let time = 5; time < 59; time += 1) expect(delay(played, time)).toBeLessThan(0.5)
  })

  it("is timely after losses that stop the line for 250 ms each", () => {
    const losses = (time: number): number => Math.max(0, 0.25 - (time % 3))
    const played = play(new JitterBuffer(RATE), 40, live(sweep(40), 0, losses))
    for (let time = 5; time < 39; time += 0.5) {
      const late = delay(played, time)
      if (late !== undefined) expect(late).toBeLessThan(0.65)
    }
  })

  it("catches up in its pauses first: silence is left out", () => {
    const recording = sweep(18)
    // half a second of pause in every second
    for (let index = 0; index < recording.length; index++) if ((index / RATE) % 1 >= 0.5) recording[index] = 0
    const buffer = new JitterBuffer(RATE)
    const arrivals = live(recording, 0, stall(6, 2))
    play(buffer, 9.5, arrivals)
    expect(buffer.buffered).toBeLessThan(0.3)
  })
})

describe("a sender of whole answers", () => {
  /** An answer that is sent in `parts` pieces, each much faster than it is spoken. */
  const answer = (recording: Float32Array, start: number, parts: number, every: number): Array<Arrival> => {
    const length = Math.ceil(recording.length / parts)
    return Array.from({ length: parts }, (_, part) => ({
      at: start + part * every,
      samples: recording.slice(part * length, (part + 1) * length),
    }))
  }
  const natural = (played: Float32Array, start: number, seconds: number): void => {
    for (let time = 0.5; time < seconds - 0.5; time += 0.25) {
      expect(pitchOf(at(played, start + time))).toBeGreaterThan(FROM + PER_SECOND * (time - 0.2))
      expect(pitchOf(at(played, start + time))).toBeLessThan(FROM + PER_SECOND * (time + 0.05))
    }
  }

  it("is played whole and at natural speed, sent at once", () => {
    const played = play(new JitterBuffer(RATE), 32, answer(sweep(30), 1, 1, 0))
    natural(played, 1, 30)
  })

  it("is played whole and at natural speed, sent in pieces faster than real time", () => {
    const played = play(new JitterBuffer(RATE), 32, answer(sweep(30), 1, 300, 0.03))
    natural(played, 1, 30)
  })

  it("is played at natural speed through a stall", () => {
    const arrivals = answer(sweep(30), 1, 300, 0.03).map(({ at, samples }) => ({
      at: at > 4 && at < 6.5 ? 6.5 : at,
      samples,
    }))
    natural(play(new JitterBuffer(RATE), 32, arrivals), 1, 30)
  })

  it("keeps the two seconds that it sends in advance before live speech, and loses what a stall adds to them", () => {
    const recording = sweep(30)
    const early = live(recording, 1, () => 0).map(({ at, samples }) => ({ at: Math.max(1, at - 2), samples }))
    const stalled = early.map(({ at, samples }) => ({ at: at > 16 && at < 20 ? 20 : at, samples }))
    const played = play(new JitterBuffer(RATE), 30, stalled)
    natural(played.subarray(0, 16 * RATE), 1, 15)
    for (let time = 23; time < 27; time += 0.25) expect(delay(played, time, 1)).toBeLessThan(0.4)
  })

  it("is played at natural speed between live speech", () => {
    const before = live(sweep(6), 0, () => 0)
    const played = play(new JitterBuffer(RATE), 40, [...before, ...answer(sweep(25), 6.3, 1, 0)])
    natural(played, 6.3, 25)
  })

  it("is played at natural speed after a pause of live speech in which messages show that the line is open", () => {
    const before = live(sweep(6), 0, () => 0)
    const pongs = Array.from({ length: 40 }, (_, index) => index)
    const played = play(new JitterBuffer(RATE), 40, [...before, ...answer(sweep(8), 15.5, 1, 0)], pongs)
    natural(played, 15.5, 8)
  })
})
