/**
 * The orb of a call: a disc that swells with the agent's voice, and a ring round it that follows the caller's. It is drawn while there is
 * sound and it can be seen, and stands still for visitors who prefer that; what it says is said in text beside it too.
 */
import type { Level } from "./parts.ts"

export type OrbMood = "listening" | "speaking" | "muted"

export interface Orb {
  readonly element: HTMLElement
  readonly level: (level: Level) => void
  readonly mood: (mood: OrbMood) => void
}

/** Width and height, in CSS pixels. */
const SIZE = 148
/** Radius of the disc at rest, and how far a voice moves its edge and the ring. */
const RADIUS = 42
const SWELL = 16
const REACH = 22
/** Points of the disc's edge. */
const POINTS = 48
/** Fraction of the way to a new level in a frame, up and down: voices begin at once and fade. */
const ATTACK = 0.45
const RELEASE = 0.12
/** Levels below this are drawn as none. */
const STILL = 0.004
/** How often the colours are read, in frames. */
const COLOURS_EVERY = 60

/** Loudness on a decibel scale from -50 dB: 0 to 1. */
const seen = (loudness: number): number =>
  loudness <= 0 ? 0 : Math.max(0, Math.min(1, 1 + (20 * Math.log10(loudness)) / 50))

const towards = (from: number, to: number): number => from + (to - from) * (to > from ? ATTACK : RELEASE)

/** Levels at which it stands still: what a mood looks like without motion. */
const POSES: Readonly<Record<OrbMood, Level>> = {
  listening: { said: 0.35, heard: 0 },
  speaking: { said: 0, heard: 0.6 },
  muted: { said: 0, heard: 0 },
}

export const createOrb = (): Orb => {
  const canvas = document.createElement("canvas")
  canvas.className = "orb"
  canvas.part.add("orb")
  canvas.ariaHidden = "true"
  const context = canvas.getContext("2d")
  const calm = matchMedia("(prefers-reduced-motion: reduce)")
  let mood: OrbMood = "listening"
  let target: Level = { said: 0, heard: 0 }
  let [said, heard, phase, frames, colour, glow] = [0, 0, 0, 0, "", ""]
  let running = false

  const readColours = (): void => {
    const density = Math.min(2, devicePixelRatio)
    if (canvas.width !== SIZE * density) {
      canvas.width = SIZE * density
      canvas.height = SIZE * density
    }
    const style = getComputedStyle(canvas)
    colour = style.color
    // a colour that a canvas has no other use for
    glow = style.caretColor
  }

  const paint = (pen: CanvasRenderingContext2D): void => {
    const density = canvas.width / SIZE
    const middle = SIZE / 2
    pen.setTransform(density, 0, 0, density, 0, 0)
    pen.clearRect(0, 0, SIZE, SIZE)
    pen.fillStyle = colour
    pen.strokeStyle = colour
    // the caller
    pen.lineWidth = 1.5 + 2.5 * said
    pen.globalAlpha = mood === "muted" ? 0 : 0.2 + 0.6 * said
    pen.beginPath()
    pen.arc(middle, middle, RADIUS + 8 + REACH * said, 0, 2 * Math.PI)
    pen.stroke()
    // the agent
    const edge = (swell: number, turn: number): void => {
      pen.beginPath()
      for (let point = 0; point < POINTS; point++) {
        const angle = (2 * Math.PI * point) / POINTS
        const wave = Math.sin(3 * angle + turn) + 0.6 * Math.sin(5 * angle - 1.7 * turn)
        const radius = RADIUS + swell * (0.55 + 0.28 * wave)
        pen.lineTo(middle + radius * Math.cos(angle), middle + radius * Math.sin(angle))
      }
      pen.closePath()
      pen.fill()
    }
    pen.globalAlpha = mood === "muted" ? 0.12 : 0.28
    edge(SWELL * heard * 1.5, -phase)
    // its light is from above
    const light = pen.createRadialGradient(middle - 15, middle - 19, 2, middle - 6, middle - 8, RADIUS + SWELL)
    light.addColorStop(0, glow)
    light.addColorStop(1, colour)
    pen.fillStyle = light
    pen.globalAlpha = mood === "muted" ? 0.45 : 1
    edge(SWELL * heard, phase)
  }

  const draw = (): void => {
    running = false
    if (context === null || !canvas.checkVisibility()) return
    if (frames++ % COLOURS_EVERY === 0) readColours()
    const still = calm.matches
    const wanted = still ? POSES[mood] : target
    said = still ? wanted.said : towards(said, seen(wanted.said))
    heard = still ? wanted.heard : towards(heard, seen(wanted.heard))
    phase += 0.03 + 0.09 * heard
    paint(context)
    if (!still && Math.max(said, heard) > STILL) request()
  }

  const request = (): void => {
    if (running) return
    running = true
    requestAnimationFrame(draw)
  }

  return {
    element: canvas,
    level: (level) => {
      target = mood === "muted" ? { ...level, said: 0 } : level
      // still: it changes with its mood only
      if (!calm.matches) request()
    },
    mood: (next) => {
      if (next === mood && frames > 0) return
      mood = next
      frames = 0
      request()
    },
  }
}
