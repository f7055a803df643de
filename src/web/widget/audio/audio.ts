/**
 * The page's audio: captures the microphone and plays to the loudspeaker. On the other side are ports that carry bytes in the session's
 * format, for the line. A muted source sends frames of silence.
 */

import { type Carrier, openCarrier } from "../call/carrier.ts"
import { formatOf, type VoiceAgentOptions } from "../client/options.ts"
import { Unreachable } from "../gate/gate-client.ts"
import { audioScriptUrl, withBlobOf } from "./audio-script.ts"
import { ignore, keepRunning, openContext } from "./context.ts"
import { type AudioFormat, bytesPerSample } from "./format.ts"
import { NoSound, openMicrophone, problemOf } from "./microphone.ts"
import { type Beats, type WatchListener, watchSound } from "./sound-watch.ts"

/** A source of captured audio, such as the microphone. */
export interface Source {
  readonly stream: MediaStream
  readonly setMuted: (muted: boolean) => void
  /** Called when the device is taken away. */
  readonly onLost: (listener: () => void) => void
  /** Called when the device or the system mutes it, which the page cannot change, and when it gives sound again. */
  readonly onSilenced: (listener: (silenced: boolean) => void) => void
  readonly stop: () => void
}

/** It starts muted. Fails with `NoSound`. */
export const openSource = async (source: () => Promise<MediaStream> = openMicrophone): Promise<Source> => {
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
    onSilenced: (listener) => {
      for (const track of tracks) {
        track.addEventListener("mute", () => listener(true))
        track.addEventListener("unmute", () => listener(false))
      }
    },
    stop: () => {
      for (const track of tracks) track.stop()
    },
  }
}

/** Who is told of the sound of a call. Loudness is 0 to 1. */
export interface SoundListener extends WatchListener {
  readonly said: (loudness: number) => void
  readonly heard: (loudness: number) => void
}

/** The audio of one call, loaded but silent until `begin`. */
export interface Sound {
  /** bytes of one second of captured audio */
  readonly bytesPerSecond: number
  /** The other ends of the processors' ports: for the line, once. */
  readonly capture: MessagePort
  readonly playback: MessagePort
  /** where the line will run */
  readonly carrier: Carrier
  /** Captures this source from now on; false if the context cannot take it, because its rate is another one. */
  readonly use: (source: Source) => boolean
  /** Begins to capture and to play, and watches that both go on. */
  readonly begin: (on: SoundListener) => void
  readonly close: () => void
}

/**
 * Loads the audio of a call before a slot is taken, so that no slot is taken without audio. Call it from a user gesture, or the
 * browser may block playback. Fails with `NoSound` or `Unreachable`.
 *
 * @param source one that the context must take
 */
export const openSound = async (options: VoiceAgentOptions, source?: Source): Promise<Sound> => {
  const context = source === undefined ? new AudioContext({ latencyHint: "interactive" }) : openContext(source.stream)
  // The user gesture unlocks the context now; it is suspended until the call begins.
  context.resume().catch(ignore)
  const carrying = openCarrier(audioScriptUrl(options))
  try {
    await loadWorklet(context, options)
  } catch (error) {
    void carrying.then((carrier) => carrier.close())
    await context.close()
    throw error
  }
  const carrier = await carrying
  context.suspend().catch(ignore)
  const [input, output] = [formatOf(options.input), formatOf(options.output)]
  const over = new AbortController()
  const capture = node(context, "voicegate-capture", input, { channelCount: 1, channelCountMode: "explicit" })
  const playback = node(context, "voicegate-playback", output, { numberOfInputs: 0, outputChannelCount: [1] })
  let from: MediaStreamAudioSourceNode | undefined
  return {
    bytesPerSecond: input.sampleRate * bytesPerSample(input),
    capture: portOf(capture),
    playback: portOf(playback),
    carrier,
    use: ({ stream }) => {
      try {
        const next = context.createMediaStreamSource(stream)
        from?.disconnect()
        from = next
        from.connect(capture)
        return true
      } catch {
        return false
      }
    },
    begin: (on) => {
      const beats: Beats = { played: false, captured: false }
      capture.port.onmessage = ({ data }: MessageEvent<number>) => {
        beats.captured = true
        on.said(data)
      }
      playback.port.onmessage = ({ data }: MessageEvent<number>) => {
        beats.played = true
        on.heard(data)
      }
      // a processor that has thrown is never run again
      for (const each of [capture, playback]) each.addEventListener("processorerror", () => on.failed())
      capture.connect(context.destination)
      playback.connect(context.destination)
      watchSound(context, keepRunning(context, over.signal), beats, on, over.signal)
    },
    close: () => {
      // The context's own state changes only once it is closed, and some browsers do not close it twice.
      if (over.signal.aborted) return
      over.abort()
      capture.port.onmessage = null
      playback.port.onmessage = null
      carrier.close()
      context.close().catch(ignore)
    },
  }
}

/** A port to a processor that does not pass through this thread. */
const portOf = ({ port }: AudioWorkletNode): MessagePort => {
  const { port1, port2 } = new MessageChannel()
  port.postMessage(port1, [port1])
  return port2
}

const node = (context: AudioContext, name: string, format: AudioFormat, options: AudioWorkletNodeOptions) =>
  new AudioWorkletNode(context, name, { ...options, processorOptions: format })

/**
 * A content security policy treats a worklet as a script, so a page that may load the widget from the gate may load the worklet from
 * it too. If the widget was loaded from elsewhere, `blob:` in `script-src` allows it.
 */
const loadWorklet = async (context: AudioContext, options: VoiceAgentOptions): Promise<void> => {
  const script = audioScriptUrl(options)
  try {
    await context.audioWorklet.addModule(script)
  } catch {
    // Distinguishes a worklet that is forbidden from one that is unreachable.
    let forbidden: unknown
    const add = (address: string): Promise<void> =>
      context.audioWorklet.addModule(address).catch((cause: unknown) => {
        forbidden = cause
      })
    await withBlobOf(script, add).catch((cause: unknown) => {
      throw new Unreachable("the worklet cannot be loaded", { cause })
    })
    if (forbidden !== undefined) throw new NoSound("no-sound", forbidden)
  }
}
