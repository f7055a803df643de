/**
 * Runs on the audio thread: takes what the microphone (or the test tone) gives at the device's rate and posts it in frames
 * of 20 ms at 16 kHz, each with its loudness. It writes nothing to its output, which is only there so that it is run.
 */
import { encode, Framer, loudness, WIRE_RATE } from "./pcm.ts"
import { Resampler } from "./resample.ts"

/** What is posted for each frame. */
export interface Captured {
  /** 640 bytes */
  readonly frame: ArrayBuffer
  /** 0 to 1 */
  readonly loudness: number
}

class CaptureProcessor extends AudioWorkletProcessor {
  private readonly resampler = new Resampler(sampleRate, WIRE_RATE)
  private readonly framer = new Framer()

  process(inputs: ReadonlyArray<ReadonlyArray<Float32Array>>): boolean {
    // Without a source there is no channel; with one it is mono, because the node asks for that.
    const channel = inputs[0]?.[0]
    if (channel === undefined) return true
    for (const samples of this.framer.push(this.resampler.push(channel))) {
      const captured: Captured = { frame: encode(samples), loudness: loudness(samples) }
      this.port.postMessage(captured, [captured.frame])
    }
    return true
  }
}

registerProcessor("capture", CaptureProcessor)
