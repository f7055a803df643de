/**
 * Processes samples on the audio thread. `voicegate-capture` converts the microphone's audio from the device's rate to the session's
 * format, in frames of 20 ms. `voicegate-playback` plays bytes in the session's format. Each gets a port to the line (`call/line.ts`) as its
 * first message, so that the bytes do not pass through the page's thread, and posts loudness to the page.
 */
import { type AudioFormat, Decoder, encode, Framer, frameSamples, loudness } from "./format.ts"
import type { Captured, Played } from "./frames.ts"
import { JitterBuffer } from "./jitter.ts"
import { Resampler } from "./resample.ts"

export interface ProcessorOptions {
  readonly processorOptions: AudioFormat
}

/** How often the loudness of played audio is posted, in seconds. */
const REPORT_EVERY = 0.05

/** Registers both processors; only the audio thread can. */
export const registerProcessors = (): void => {
  class Capture extends AudioWorkletProcessor {
    private readonly format: AudioFormat
    private readonly resampler: Resampler
    private readonly framer: Framer
    private line: MessagePort | undefined

    constructor({ processorOptions }: ProcessorOptions) {
      super()
      this.port.onmessage = ({ data }: MessageEvent<MessagePort>) => {
        this.line = data
      }
      this.format = processorOptions
      this.resampler = new Resampler(sampleRate, processorOptions.sampleRate)
      this.framer = new Framer(frameSamples(processorOptions))
    }

    /** Leaves the output silent; the output exists only so that the processor runs. */
    process(inputs: ReadonlyArray<ReadonlyArray<Float32Array>>): boolean {
      // Without a source there is no channel; with one it is mono, as the node requires.
      const channel = inputs[0]?.[0]
      if (channel === undefined) return true
      for (const samples of this.framer.push(this.resampler.push(channel))) {
        const captured: Captured = { frame: encode(samples, this.format), loudness: loudness(samples) }
        this.port.postMessage(captured.loudness)
        this.line?.postMessage(captured, [captured.frame])
      }
      return true
    }
  }

  class Playback extends AudioWorkletProcessor {
    private readonly buffer = new JitterBuffer(sampleRate)
    private readonly report = new Framer(Math.round(sampleRate * REPORT_EVERY))

    constructor({ processorOptions }: ProcessorOptions) {
      super()
      const decoder = new Decoder(processorOptions)
      const resampler = new Resampler(processorOptions.sampleRate, sampleRate)
      this.port.onmessage = ({ data: line }: MessageEvent<MessagePort>) => {
        line.onmessage = ({ data }: MessageEvent<Played>) => {
          if (data === undefined) this.buffer.alive()
          else this.buffer.push(resampler.push(decoder.push(data)))
        }
      }
    }

    process(_inputs: ReadonlyArray<ReadonlyArray<Float32Array>>, outputs: Array<Array<Float32Array>>): boolean {
      const channel = outputs[0]?.[0]
      if (channel === undefined) return true
      this.buffer.pull(channel)
      for (const samples of this.report.push(channel)) this.port.postMessage(loudness(samples))
      return true
    }
  }

  registerProcessor("voicegate-capture", Capture)
  registerProcessor("voicegate-playback", Playback)
}
