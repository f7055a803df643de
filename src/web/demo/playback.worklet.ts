/**
 * Runs on the audio thread: plays the samples posted to it, 16 kHz, without gaps as long as they arrive in time. It holds
 * back a little at first, and again whenever it ran dry, so that uneven arrival is not heard. Posts the loudness of what
 * it plays, about every 50 ms.
 */
import { loudness, WIRE_RATE } from "./pcm.ts"
import { Resampler } from "./resample.ts"

/** Audio that must be there before playing begins, in seconds. */
const CUSHION = 0.08
/** An agent may send a long answer at once; what is beyond this is dropped. In seconds. */
const MOST_HELD = 120
/** How often the loudness is posted, in seconds. */
const REPORT_EVERY = 0.05

class PlaybackProcessor extends AudioWorkletProcessor {
  private readonly resampler = new Resampler(WIRE_RATE, sampleRate)
  private readonly blocks: Array<Float32Array> = []
  /** samples in `blocks`, and how many of the first are played already */
  private held = 0
  private offset = 0
  private playing = false
  private quietFor = 0
  private readonly report = new Float32Array(Math.round(sampleRate * REPORT_EVERY))
  private reported = 0

  constructor() {
    super()
    this.port.onmessage = ({ data }: MessageEvent<Float32Array>) => {
      if (this.held > MOST_HELD * sampleRate) return
      const block = this.resampler.push(data)
      if (block.length === 0) return
      this.blocks.push(block)
      this.held += block.length
      this.quietFor = 0
    }
  }

  process(_inputs: ReadonlyArray<ReadonlyArray<Float32Array>>, outputs: Array<Array<Float32Array>>): boolean {
    const channel = outputs[0]?.[0]
    if (channel === undefined) return true
    this.quietFor += channel.length
    // A last word shorter than the cushion is played too, once nothing more comes.
    const enough = this.held > CUSHION * sampleRate || this.quietFor > CUSHION * sampleRate
    if (!this.playing && this.held > 0 && enough) this.playing = true
    if (this.playing) this.fill(channel)
    this.measure(channel)
    return true
  }

  private fill(channel: Float32Array): void {
    let filled = 0
    while (filled < channel.length) {
      const block = this.blocks[0]
      if (block === undefined) {
        this.playing = false
        return
      }
      const part = block.subarray(this.offset, this.offset + channel.length - filled)
      channel.set(part, filled)
      filled += part.length
      this.offset += part.length
      this.held -= part.length
      if (this.offset < block.length) continue
      this.blocks.shift()
      this.offset = 0
    }
  }

  private measure(channel: Float32Array): void {
    for (const sample of channel) {
      this.report[this.reported++] = sample
      if (this.reported < this.report.length) continue
      this.port.postMessage(loudness(this.report))
      this.reported = 0
    }
  }
}

registerProcessor("playback", PlaybackProcessor)
