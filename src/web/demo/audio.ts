/**
 * The page's sound: a microphone or a test tone on one side, the loudspeaker on the other, both at 16 kHz to the outside.
 * Nothing is captured before `open`, and while muted a source gives silence and keeps its frames coming.
 */
import type { Captured } from "./capture.worklet.ts"
import captureUrl from "./capture.worklet.ts?worker&url"
import playbackUrl from "./playback.worklet.ts?worker&url"

export type SourceKind = "microphone" | "tone"

/** Why there is no sound to send. */
export class NoMicrophone extends Error {
  /** `denied`: the visitor or the browser said no; `missing`: there is none; `insecure`: the page's address may not ask */
  readonly why: "denied" | "missing" | "busy" | "insecure"

  constructor(why: NoMicrophone["why"], cause?: unknown) {
    super(`no microphone: ${why}`, { cause })
    this.why = why
  }
}

/** What can be heard. */
export interface Source {
  readonly kind: SourceKind
  readonly setMuted: (muted: boolean) => void
  /** Called when the device is taken away. */
  readonly onLost: (listener: () => void) => void
  readonly connect: (context: AudioContext, to: AudioNode) => void
  readonly stop: () => void
}

/** Asks for the microphone; it comes muted. Fails with `NoMicrophone`. */
export const openMicrophone = async (): Promise<Source> => {
  // Browsers leave it out where the page is neither on https nor on this machine.
  if (!("mediaDevices" in navigator)) throw new NoMicrophone("insecure")
  const audio = { echoCancellation: true, noiseSuppression: true, autoGainControl: true, channelCount: 1 }
  const stream = await navigator.mediaDevices.getUserMedia({ audio }).catch((cause: unknown) => {
    throw new NoMicrophone(whyNot(cause), cause)
  })
  const tracks = stream.getAudioTracks()
  const setMuted = (muted: boolean): void => {
    for (const track of tracks) track.enabled = !muted
  }
  setMuted(true)
  return {
    kind: "microphone",
    setMuted,
    onLost: (listener) => {
      for (const track of tracks) track.addEventListener("ended", listener)
    },
    connect: (context, to) => {
      context.createMediaStreamSource(stream).connect(to)
    },
    stop: () => {
      for (const track of tracks) track.stop()
    },
  }
}

const whyNot = (cause: unknown): NoMicrophone["why"] => {
  const name = cause instanceof DOMException ? cause.name : ""
  if (name === "NotAllowedError" || name === "SecurityError") return "denied"
  return name === "NotReadableError" || name === "AbortError" ? "busy" : "missing"
}

/** A soft pulsing tone, for machines without a microphone; it comes muted. */
export const openTone = (): Source => {
  let nodes: { readonly volume: GainNode; readonly oscillators: ReadonlyArray<OscillatorNode> } | undefined
  let muted = true
  const apply = (): void => {
    nodes?.volume.gain.setTargetAtTime(muted ? 0 : 1, nodes.volume.context.currentTime, 0.02)
  }
  return {
    kind: "tone",
    setMuted: (next) => {
      muted = next
      apply()
    },
    onLost: () => {},
    connect: (context, to) => {
      const volume = new GainNode(context, { gain: 0 })
      const pulse = new GainNode(context, { gain: 0.12 })
      const carrier = new OscillatorNode(context, { frequency: 392 })
      const swell = new OscillatorNode(context, { frequency: 0.7 })
      swell.connect(new GainNode(context, { gain: 0.12 })).connect(pulse.gain)
      carrier.connect(pulse).connect(volume).connect(to)
      const oscillators = [carrier, swell]
      for (const oscillator of oscillators) oscillator.start()
      nodes = { volume, oscillators }
      apply()
    },
    stop: () => {
      for (const oscillator of nodes?.oscillators ?? []) oscillator.stop()
    },
  }
}

/** The sound of one call. */
export interface Sound {
  /** Plays samples after those given before, 16 kHz, between -1 and 1. */
  readonly play: (samples: Float32Array) => void
  readonly close: () => void
}

/**
 * Connects a source and the loudspeaker until `close`. Loudness is 0 to 1. Call it from a click, or the browser may keep
 * the sound back.
 */
export const openSound = async (
  source: Source,
  on: {
    readonly frame: (frame: ArrayBuffer) => void
    readonly said: (loudness: number) => void
    readonly heard: (loudness: number) => void
  },
): Promise<Sound> => {
  const context = new AudioContext({ latencyHint: "interactive" })
  try {
    await Promise.all([captureUrl, playbackUrl].map((url) => context.audioWorklet.addModule(url)))
  } catch (error) {
    await context.close()
    throw error
  }
  // Not awaited: without a gesture it stays pending, and the call goes on in silence until there is one.
  void context.resume()
  const capture = new AudioWorkletNode(context, "capture", { channelCount: 1, channelCountMode: "explicit" })
  const playback = new AudioWorkletNode(context, "playback", { numberOfInputs: 0, outputChannelCount: [1] })
  capture.port.onmessage = ({ data }: MessageEvent<Captured>) => {
    on.said(data.loudness)
    on.frame(data.frame)
  }
  playback.port.onmessage = ({ data }: MessageEvent<number>) => on.heard(data)
  source.connect(context, capture)
  capture.connect(context.destination)
  playback.connect(context.destination)
  return {
    play: (samples) => playback.port.postMessage(samples, [samples.buffer]),
    close: () => {
      capture.port.onmessage = null
      playback.port.onmessage = null
      void context.close()
    },
  }
}
