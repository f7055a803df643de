/** Texts for failures, times and states. */
import type { Failure } from "./client.ts"
import type { PageName } from "./router.ts"

export const titles: Readonly<Record<PageName, string>> = {
  overview: "Overview",
  conversations: "Conversations",
  live: "Live",
  businesses: "Businesses",
  keys: "API keys",
  webhooks: "Webhooks",
  audit: "Audit log",
  setup: "Setup",
  account: "Account",
}

export const failure = (failure: Failure): string => {
  switch (failure.kind) {
    case "refused":
      return failure.retryAfterSeconds === undefined
        ? sentence(failure.message)
        : `${sentence(failure.message)} Try again in ${span(failure.retryAfterSeconds * 1_000)}.`
    case "unreachable":
      return "The platform isn’t responding. It may be restarting, or you may be offline."
    case "broken":
      return "The platform sent a response this page doesn’t understand. Reload the page to get the latest version."
    case "signed-out":
      return "You’re signed out."
  }
}

/** What the platform says about a field of a form; undefined when it says nothing. */
export const failureAt = (failure: Failure | undefined, field: string): string | undefined => {
  const found = failure?.kind === "refused" ? failure.fields?.find((each) => each.field === field) : undefined
  return found && sentence(found.message)
}

/** With a capital at the start. */
export const begun = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** With a capital at the start and a full stop at the end. */
const sentence = (text: string): string => (/[.!?]$/.test(text) ? begun(text) : `${begun(text)}.`)

const dateTime = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" })
const dayTime = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", hour: "numeric", minute: "2-digit" })
const dateTimeSeconds = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" })
const date = new Intl.DateTimeFormat("en", { dateStyle: "medium" })
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" })

const yearOf = (millis: number): number => new Date(millis).getFullYear()

/** With the year, unless it is this one. */
export const at = (millis: number, now = Date.now()): string =>
  (yearOf(millis) === yearOf(now) ? dayTime : dateTime).format(millis)
export const day = (millis: number): string => date.format(millis)
export const exactly = (millis: number): string => dateTimeSeconds.format(millis)

const UNITS: ReadonlyArray<readonly [Intl.RelativeTimeFormatUnit, number]> = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
]

/** Such as `3 minutes ago`. */
export const ago = (millis: number, now: number): string => {
  const away = millis - now
  const [unit, length] = UNITS.find(([, each]) => Math.abs(away) >= each) ?? ["second", 1_000]
  return Math.abs(away) < 10_000 ? "just now" : relative.format(Math.round(away / length), unit)
}

/** A duration in its two largest units, such as `3 min 20 s`. */
export const span = (millis: number): string => {
  const seconds = Math.max(0, Math.round(millis / 1_000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600)
    return seconds % 60 === 0 ? `${seconds / 60} min` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`
}

const numbers = new Intl.NumberFormat("en")

/** With separators between thousands. */
export const number = (count: number): string => numbers.format(count)
