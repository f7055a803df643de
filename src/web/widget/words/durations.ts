/** Durations in words of a language. */

const inUnit = (unit: string, language: string): Intl.NumberFormat =>
  new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" })

/** A time that passes (ms), rounded up, as people say it: `40 seconds`, `13 minutes`, `3 hours`. */
export const soon = (millis: number, language: string): string => {
  const seconds = Math.ceil(Math.max(0, millis) / 1_000)
  if (seconds < 60) return inUnit("second", language).format(seconds)
  const minutes = Math.ceil(seconds / 60)
  if (minutes < 90) return inUnit("minute", language).format(minutes)
  return inUnit("hour", language).format(Math.round(minutes / 60))
}

/** An estimated wait is an average: it is shown as a range of this share below and above it. */
export const TOLERANCE = 0.25

/** The range of a wait of so many seconds, such as `3–5 minutes` or `1–2 hours`; at least one minute. */
export const range = (seconds: number, language: string): string => {
  const [length, unit] = seconds < 4_800 ? [60, "minute"] : [3_600, "hour"]
  const count = seconds / length
  const [from, to] = [Math.floor(count * (1 - TOLERANCE)), Math.ceil(count * (1 + TOLERANCE))]
  return inUnit(unit, language).formatRange(Math.max(1, from), to)
}
