/** The sound of a call by WebSocket: PCM of 16 bits, which the vendor may send faster than it is spoken. */
import { keepRunning } from "../audio/context.ts"
import { type AudioFormat, Decoder, encode } from "../audio/format.ts"
import type { Captured } from "../audio/frames.ts"
import { Resampler } from "../audio/resample.ts"
import { formatOf } from "../client/options.ts"
import type { Caller } from "./vendor.ts"

/** How far ahead the first sound after a pause is played, in seconds: the next may be late. */
const AHEAD = 0.08

const pcm = (sampleRate: number): AudioFormat => ({ encoding: "pcm", sampleRate, bitsPerSample: 16 })

/** Gives the microphone's sound at this rate to `take`, in frames of 20 ms, until the call is over. */
export const capture = (
  { options, ready: { sound }, watch }: Caller,
  rate: number,
  take: (frame: ArrayBuffer) => void,
): void => {
  let convert = (frame: ArrayBuffer): ArrayBuffer => frame
  sound.capture.onmessage = ({ data: { frame } }: MessageEvent<Captured>) => take(convert(frame))
  sound.begin(watch)
  const given = formatOf(options.input)
  if (given.encoding === "pcm" && given.bitsPerSample === 16 && given.sampleRate === rate) return
  const decoder = new Decoder(given)
  const resampler = new Resampler(given.sampleRate, rate)
  convert = (frame) => encode(resampler.push(decoder.push(frame)), pcm(rate))
}

/** Plays what the vendor sends, in its order. */
export interface Player {
  readonly push: (bytes: ArrayBuffer) => void
  /** The caller interrupts: what is not played yet never is. */
  readonly clear: () => void
  readonly close: () => void
}

export const createPlayer = (caller: Caller, rate: number): Player => {
  const context = new AudioContext()
  keepRunning(context, caller.signal)
  const speaker = new MediaStreamAudioDestinationNode(context)
  caller.play(speaker.stream)
  const decoder = new Decoder(pcm(rate))
  const playing = new Set<AudioBufferSourceNode>()
  let next = 0
  return {
    push: (bytes) => {
      const samples = new Float32Array(decoder.push(bytes))
      if (samples.length === 0 || context.state === "closed") return
      const buffer = new AudioBuffer({ length: samples.length, sampleRate: rate })
      buffer.copyToChannel(samples, 0)
      const source = new AudioBufferSourceNode(context, { buffer })
      source.connect(speaker)
      source.onended = () => playing.delete(source)
      playing.add(source)
      if (next < context.currentTime) next = context.currentTime + AHEAD
      source.start(next)
      next += buffer.duration
    },
    clear: () => {
      for (const source of playing) source.stop()
      playing.clear()
      next = 0
    },
    close: () => void context.close().catch(() => {}),
  }
}

/** Bytes as base64, and back. */
export const toBase64 = (bytes: ArrayBuffer): string => btoa(String.fromCharCode(...new Uint8Array(bytes)))
export const fromBase64 = (text: string): ArrayBuffer =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0)).buffer
