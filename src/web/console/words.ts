/** The console's texts for numbers, times and states. */
import type { HeldSlot, Queue } from "../../operator/shapes.ts"

const numbers = new Intl.NumberFormat("en")
export const count = (n: number): string => numbers.format(n)

const padded = (n: number): string => String(n).padStart(2, "0")

/** A duration: `0:07`, `12:30`, `3 h 05 min`, `4 d 2 h`. */
export const duration = (millis: number): string => {
  const seconds = Math.max(0, Math.floor(millis / 1000))
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  if (hours >= 24) return `${Math.floor(hours / 24)} d ${hours % 24} h`
  if (hours > 0) return `${hours} h ${padded(minutes % 60)} min`
  return `${minutes}:${padded(seconds % 60)}`
}

const times = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" })
export const dateTime = (at: number): string => times.format(at)

/** The state of a campaign, and what it means for callers. `limited`: not every caller is served as usual. */
export const stateOf = (
  { disrupted, draining, paused, probeUntil, backoffUntil }: Queue,
  now: number,
): { readonly limited: boolean; readonly title: string; readonly meaning: string } => {
  const outage = disrupted ? " The platform cannot be reached." : ""
  if (paused && draining) {
    return {
      limited: true,
      title: "Paused and draining",
      meaning: `Nobody is called, and newcomers are refused.${outage}`,
    }
  }
  if (paused) return { limited: true, title: "Paused", meaning: `Newcomers queue, and nobody is called.${outage}` }
  if (draining) {
    return {
      limited: true,
      title: "Draining",
      meaning: `Newcomers are refused, and waiting callers are served.${outage}`,
    }
  }
  if (disrupted) {
    const seconds = Math.ceil((Math.max(backoffUntil, probeUntil) - now) / 1000)
    const next = seconds > 0 ? `, the next in ${seconds} s` : ""
    return {
      limited: true,
      title: "Platform unreachable",
      meaning: `Everybody keeps their place. One caller at a time is called to test the platform${next}.`,
    }
  }
  if (backoffUntil > now) {
    const seconds = Math.ceil((backoffUntil - now) / 1000)
    return {
      limited: false,
      title: "Backing off",
      meaning: `The platform was at capacity. The next caller is called in ${seconds} s.`,
    }
  }
  return { limited: false, title: "Taking calls", meaning: "Callers are called as slots become free." }
}

export const slotState: Readonly<Record<HeldSlot["state"], string>> = {
  called: "Called",
  starting: "Starting",
  in_doubt: "Start not confirmed",
  live: "In call",
}
