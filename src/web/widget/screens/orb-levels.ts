/**
 * Moves the orb of a call: the sphere swells with the agent's voice, and the ring round it follows the caller's. It is drawn while there
 * is sound and it can be seen, and stands still for visitors who prefer that; what it says is said in text beside it too.
 */
import type { Level } from "./parts.ts"

export type OrbMood = "listening" | "speaking" | "muted"

export interface OrbLevels {
  readonly level: (level: Level) => void
  readonly mood: (mood: OrbMood) => void
}

/** Fraction of the way to a new level in a frame, up and down: voices begin at once and fade. */
const ATTACK = 0.45
const RELEASE = 0.12
/** Levels below this are drawn as none. */
const STILL = 0.004

/** Loudness on a decibel scale from -50 dB: 0 to 1. */
const seen = (loudness: number): number => Math.max(0, Math.min(1, 1 + (20 * Math.log10(loudness)) / 50))

const towards = (from: number, to: number): number => from + (to - from) * (to > from ? ATTACK : RELEASE)

/** Levels at which it stands still: what a mood looks like without motion. */
const POSES: Readonly<Record<OrbMood, Level>> = {
  listening: { said: 0.5, heard: 0 },
  speaking: { said: 0, heard: 0.6 },
  muted: { said: 0, heard: 0 },
}

export const createOrbLevels = (orb: HTMLElement): OrbLevels => {
  const calm = matchMedia("(prefers-reduced-motion: reduce)")
  let mood: OrbMood | undefined
  let target: Level = { said: 0, heard: 0 }
  let [said, heard] = [0, 0]
  let running = false

  const draw = (): void => {
    running = false
    if (!orb.checkVisibility()) return
    const pose = calm.matches ? POSES[mood ?? "listening"] : undefined
    said = pose?.said ?? towards(said, seen(target.said))
    heard = pose?.heard ?? towards(heard, seen(target.heard))
    orb.style.setProperty("--said", said.toFixed(3))
    orb.style.setProperty("--heard", heard.toFixed(3))
    if (pose === undefined && Math.max(said, heard) > STILL) request()
  }

  const request = (): void => {
    if (running) return
    running = true
    requestAnimationFrame(draw)
  }

  return {
    level: (level) => {
      target = mood === "muted" ? { ...level, said: 0 } : level
      // still: it changes with its mood only
      if (!calm.matches) request()
    },
    mood: (next) => {
      if (next === mood) return
      mood = next
      orb.dataset.mood = next
      request()
    },
  }
}
