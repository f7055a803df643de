/** Audio contexts: one that takes a stream, and one that goes on by itself where the browser has stopped it. */
import { NoSound } from "./microphone.ts"

/** Ignores the failure of a context that was closed meanwhile. */
export const ignore = (): void => {}

/** Rates that devices have (Hz), tried where neither the default nor the stream's own is right. */
const RATES = [48_000, 44_100, 16_000]

/**
 * A context that takes this stream. In Firefox, a context takes only a stream of its own rate, and the default rate is that of the
 * loudspeaker. Fails with `NoSound` if there is none.
 */
export const openContext = (stream: MediaStream): AudioContext => {
  const own = stream.getAudioTracks()[0]?.getSettings().sampleRate
  let failure: unknown
  for (const sampleRate of [undefined, own, ...RATES]) {
    let context: AudioContext | undefined
    try {
      context = new AudioContext({ latencyHint: "interactive", ...(sampleRate && { sampleRate }) })
      context.createMediaStreamSource(stream)
      return context
    } catch (cause) {
      failure = cause
      void context?.close()
    }
  }
  throw new NoSound("no-sound", failure)
}

/**
 * Resumes a context that the browser has suspended or interrupted, as iOS does during a phone call: at once, and with each gesture of the
 * visitor, which may be what the browser waits for. Returns what tries it once more.
 */
export const keepRunning = (context: AudioContext, signal: AbortSignal): (() => void) => {
  const resume = (): void => {
    if (context.state !== "running" && context.state !== "closed") context.resume().catch(ignore)
  }
  context.addEventListener("statechange", resume, { signal })
  for (const gesture of ["pointerdown", "keydown"]) window.addEventListener(gesture, resume, { signal, capture: true })
  document.addEventListener("visibilitychange", resume, { signal })
  resume()
  return resume
}
