/**
 * The page's audio: captures the microphone and plays to the loudspeaker, with bytes in the session's format on the other side. A
 * muted source sends frames of silence.
 */
import worklet from "virtual:worklet"
import { type AudioFormat, bytesPerSample } from "./format.ts"
import { Unreachable } from "./gate-client.ts"
import { formatOf, gateUrl, type VoiceAgentOptions } from "./options.ts"
import type { MicrophoneProblem } from "./state.ts"
import type { Captured } from "./worklet.ts"

/** Audio cannot be captured. */
export class NoSound extends Error {
  readonly problem: MicrophoneProblem

  constructor(problem: MicrophoneProblem, cause?: unknown) {
    super(`no sound: ${problem}`, { cause })
    this.problem = problem
  }
}

/** A source of captured audio, such as the microphone. */
export interface Source {
  readonly stream: MediaStream
  readonly setMuted: (muted: boolean) => void
  /** Called when the device is taken away. */
  readonly onLost: (listener: () => void) => void
  readonly stop: () => void
}

const microphone = (): Promise<MediaStream> => {
  // Absent in browsers unless the page is on https or on localhost.
  if (!("mediaDevices" in navigator)) throw new NoSound("insecure")
  const audio = { echoCancellation: true, noiseSuppression: true, autoGainControl: true, channelCount: 1 }
  return navigator.mediaDevices.getUserMedia({ audio })
}

/** Opens the microphone, or the source that the page provides. It starts muted. Fails with `NoSound`. */
export const openSource = async (source: () => Promise<MediaStream> = microphone): Promise<Source> => {
  let stream: MediaStream
  try {
    stream = await source()
  } catch (cause) {
    throw cause instanceof NoSound ? cause : new NoSound(problemOf(cause), cause)
  }
  const tracks = stream.getAudioTracks()
  const setMuted = (muted: boolean): void => {
    for (const track of tracks) track.enabled = !muted
  }
  setMuted(true)
  return {
    stream,
    setMuted,
    onLost: (listener) => {
      for (const track of tracks) track.addEventListener("ended", listener)
    },
    stop: () => {
      for (const track of tracks) track.stop()
    },
  }
}

const problemOf = (cause: unknown): MicrophoneProblem => {
  const name = cause instanceof DOMException ? cause.name : ""
  if (name === "NotAllowedError" || name === "SecurityError") return "denied"
  return name === "NotReadableError" || name === "AbortError" ? "busy" : "missing"
}

/** Ignores the failure of a context that was closed meanwhile. */
const ignore = (): void => {}

/** The audio of one call, loaded but silent until `begin`. */
export interface Sound {
  /** bytes of one second of captured audio */
  readonly bytesPerSecond: number
  /** Connects a source and the loudspeaker. Loudness is 0 to 1. */
  readonly begin: (
    source: Source,
    on: {
      readonly frame: (frame: ArrayBuffer) => void
      readonly said: (loudness: number) => void
      readonly heard: (loudness: number) => void
    },
  ) => void
  /** Queues bytes for playback. */
  readonly play: (bytes: ArrayBuffer) => void
  readonly close: () => void
}

/**
 * Loads the audio of a call before a slot is taken, so that no slot is taken without audio. Call it from a user gesture, or the
 * browser may block playback. Fails with `NoSound` or `Unreachable`.
 */
export const openSound = async (options: VoiceAgentOptions): Promise<Sound> => {
  const context = new AudioContext({ latencyHint: "interactive" })
  // The user gesture unlocks the context now; it is suspended until the call begins.
  context.resume().catch(ignore)
  try {
    await loadWorklet(context, options)
  } catch (error) {
    await context.close()
    throw error
  }
  context.suspend().catch(ignore)
  const [input, output] = [formatOf(options.input), formatOf(options.output)]
  const capture = node(context, "voicegate-capture", input, { channelCount: 1, channelCountMode: "explicit" })
  const playback = node(context, "voicegate-playback", output, { numberOfInputs: 0, outputChannelCount: [1] })
  return {
    bytesPerSecond: input.sampleRate * bytesPerSample(input),
    begin: (source, on) => {
      capture.port.onmessage = ({ data }: MessageEvent<Captured>) => {
        on.said(data.loudness)
        on.frame(data.frame)
      }
      playback.port.onmessage = ({ data }: MessageEvent<number>) => on.heard(data)
      context.createMediaStreamSource(source.stream).connect(capture)
      capture.connect(context.destination)
      playback.connect(context.destination)
      // Not awaited: without a user gesture it stays pending, and the call is silent until there is one.
      context.resume().catch(ignore)
    },
    play: (bytes) => playback.port.postMessage(bytes, [bytes]),
    close: () => {
      capture.port.onmessage = null
      playback.port.onmessage = null
      if (context.state !== "closed") void context.close()
    },
  }
}

const node = (context: AudioContext, name: string, format: AudioFormat, options: AudioWorkletNodeOptions) =>
  new AudioWorkletNode(context, name, { ...options, processorOptions: format })

/**
 * A content security policy treats a worklet as a script, so a page that may load the widget from the gate may load the worklet from
 * it too. If the widget was loaded from elsewhere, `blob:` in `script-src` allows it.
 */
const loadWorklet = async (context: AudioContext, options: VoiceAgentOptions): Promise<void> => {
  const address = options.worklet ?? gateUrl(options, "widget/audio.js")
  try {
    await context.audioWorklet.addModule(address)
  } catch {
    const blob = URL.createObjectURL(new Blob([worklet], { type: "text/javascript" }))
    try {
      await context.audioWorklet.addModule(blob)
    } catch (cause) {
      // Distinguishes a worklet that is forbidden from one that is unreachable.
      await fetch(address).catch(() => {
        throw new Unreachable("the worklet cannot be loaded", { cause })
      })
      throw new NoSound("no-sound", cause)
    } finally {
      URL.revokeObjectURL(blob)
    }
  }
}
