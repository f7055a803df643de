/**
 * Rings when it is the caller's turn: a chime of two tones, repeated, and a vibration on phones. The tones are generated, so that no
 * file has to be loaded.
 */

/** The chime: frequencies (Hz), when each tone begins, and its length, in seconds. */
const TONES = [
  [659.3, 0],
  [880, 0.16],
] as const
const TONE_SECONDS = 0.5
const VOLUME = 0.18
/** How often the chime is repeated (ms), and how many times it rings at most. */
const INTERVAL = 2_000
const MAX_RINGS = 30
/** Pattern of the vibration (ms). */
const VIBRATION = [200, 120, 200]

export interface Ring {
  /** Call it from a user gesture: browsers play no sound on a page that nobody has touched. */
  readonly unlock: () => void
  readonly start: () => void
  readonly stop: () => void
  /** Stops and releases the audio output. */
  readonly close: () => void
}

const chime = (context: AudioContext): void => {
  for (const [frequency, delay] of TONES) {
    const at = context.currentTime + delay
    const tone = new OscillatorNode(context, { frequency })
    const volume = new GainNode(context, { gain: 0 })
    volume.gain.setValueAtTime(0, at)
    volume.gain.linearRampToValueAtTime(VOLUME, at + 0.02)
    volume.gain.exponentialRampToValueAtTime(0.001, at + TONE_SECONDS)
    tone.connect(volume).connect(context.destination)
    tone.start(at)
    tone.stop(at + TONE_SECONDS)
  }
}

/** Ignores a failure of an audio output that was closed meanwhile. */
const ignore = (): void => {}

export const createRing = (): Ring => {
  let context: AudioContext | undefined
  let timer: number | undefined

  const ring = (audio: AudioContext): void => {
    if (audio.state === "running") chime(audio)
    // without a touch of the page, Chromium reports an error and does not vibrate
    if ("vibrate" in navigator && navigator.userActivation?.hasBeenActive) navigator.vibrate(VIBRATION)
  }

  const stop = (): void => {
    window.clearInterval(timer)
    timer = undefined
    context?.suspend().catch(ignore)
  }

  return {
    unlock: () => {
      if (context !== undefined) return
      const audio = new AudioContext()
      context = audio
      // suspended again: until it rings it costs nothing
      const rest = (): unknown => (timer === undefined ? audio.suspend() : undefined)
      audio.resume().then(rest).catch(ignore)
    },
    start: () => {
      const audio = context
      if (audio === undefined || timer !== undefined) return
      let rings = 1
      timer = window.setInterval(() => (rings++ < MAX_RINGS ? ring(audio) : stop()), INTERVAL)
      audio.resume().then(() => ring(audio), ignore)
    },
    stop,
    close: () => {
      stop()
      void context?.close().catch(ignore)
      context = undefined
    },
  }
}
