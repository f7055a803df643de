/**
 * The page's sound: a microphone on one side, the loudspeaker on the other, bytes of the session's format to the outside.
 * While muted a source gives silence and keeps its frames coming.
 */
import worklet from "virtual:worklet"
import { type AudioFormat, bytesPerSample } from "./format.ts"
import { Unreachable } from "./gate-client.ts"
import { formatOf, gateUrl, type VoiceAgentOptions } from "./options.ts"
import type { MicrophoneProblem } from "./state.ts"
import type { Captured } from "./worklet.ts"

/** There is no sound to send. */
export class NoSound extends Error {
  readonly problem: MicrophoneProblem

  constructor(problem: MicrophoneProblem, cause?: unknown) {
    super(`no sound: ${problem}`, { cause })
    this.problem = problem
  }
}

/** What can be heard. */
export interface Source {
  readonly stream: MediaStream
  readonly setMuted: (muted: boolean) => void
  /** Called when the device is taken away. */
  readonly onLost: (listener: () => void) => void
  readonly stop: () => void
}

const microphone = (): Promise<MediaStream> => {
  // Browsers leave it out where the page is neither on https nor on this machine.
  if (!("mediaDevices" in navigator)) throw new NoSound("insecure")
  const audio = { echoCancellation: true, noiseSuppression: true, autoGainControl: true, channelCount: 1 }
  return navigator.mediaDevices.getUserMedia({ audio })
}

/** Asks for the microphone, or what the page gives instead; it comes muted. Fails with `NoSound`. */
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

/** A context that is closed meanwhile has nothing left to do. */
const ignore = (): void => {}

/** The sound of one call, ready but silent until `begin`. */
export interface Sound {
  /** bytes that a second of what is said takes */
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
  /** Plays bytes after those given before. */
  readonly play: (bytes: ArrayBuffer) => void
  readonly close: () => void
}

/**
 * Loads what a call needs, so that a slot is only taken when there will be sound. Call it from a tap, or the browser may
 * keep the sound back. Fails with `NoSound` or `Unreachable`.
 */
export const openSound = async (options: VoiceAgentOptions): Promise<Sound> => {
  const context = new AudioContext({ latencyHint: "interactive" })
  // The tap unlocks it now; it costs nothing until the call begins.
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
      // Not awaited: without a gesture it stays pending, and the call goes on in silence until there is one.
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
 * A worklet is a script to a content security policy: a page that may load the widget from the gate may load it from there
 * too. Where the widget came from elsewhere, `blob:` in `script-src` does.
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
      // Was it forbidden, or only out of reach?
      await fetch(address).catch(() => {
        throw new Unreachable("the worklet cannot be loaded", { cause })
      })
      throw new NoSound("no-sound", cause)
    } finally {
      URL.revokeObjectURL(blob)
    }
  }
}
