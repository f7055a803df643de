/** Durations and times of day in words of a language. */
import type { Say } from "./strings.ts"

/** An estimated wait is an average: it is shown as a range of this share below and above it. */
const TOLERANCE = 0.25

/** The range of a wait of so many seconds, such as `3–5 minutes` or `1–2 hours`; at least one minute. */
export const range = (seconds: number, language: string): string => {
  const [length, unit] = seconds < 4_800 ? [60, "minute"] : [3_600, "hour"]
  const count = seconds / length
  const [from, to] = [Math.floor(count * (1 - TOLERANCE)), Math.ceil(count * (1 + TOLERANCE))]
  const words = new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" })
  return words.formatRange(Math.max(1, from), to)
}

/** An expected wait of so many seconds. */
export const expectedWait = (seconds: number, say: Say, language: string): string =>
  seconds * (1 + TOLERANCE) <= 60 ? say("waiting.soon") : say("waiting.estimate", { time: range(seconds, language) })

/** So far ahead, a day of the week is said by its name alone, in milliseconds. */
const NEAR = 6 * 86_400_000

/** A time of day in words of a language, with the day of the week or the date unless it is today. */
export const timeOfDay = (at: number, language: string, now: number): string => {
  const day = new Intl.DateTimeFormat("en", { dateStyle: "short" })
  // in figures alone, 5/6 is another day to an American than to others
  const style: Intl.DateTimeFormatOptions =
    day.format(at) === day.format(now)
      ? { timeStyle: "short" }
      : at - now < NEAR
        ? { weekday: "long", hour: "numeric", minute: "2-digit" }
        : { dateStyle: "long", timeStyle: "short" }
  return new Intl.DateTimeFormat(language, style).format(at)
}
