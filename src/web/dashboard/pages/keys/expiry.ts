/** The expiry of a key. */

/** `keep` changes nothing; the numbers are days. */
export type Expiry = "keep" | "never" | "30" | "90" | "365" | "date"

export const EXPIRIES: ReadonlyArray<{ readonly value: Expiry; readonly label: string }> = [
  { value: "never", label: "Never" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In 1 year" },
  { value: "date", label: "On a date you choose" },
]

/** For a new key: a secret that nobody replaces does not work for ever. */
export const DEFAULT_EXPIRY: Expiry = "365"

/** The days before its end in which a key is marked. */
const SOON_DAYS = 14

/** Whether a key that works now expires soon. */
export const expiresSoon = (expiresAt: number | null, now: number): boolean =>
  expiresAt !== null && expiresAt > now && expiresAt <= now + SOON_DAYS * DAY_MILLIS

const DAY_MILLIS = 86_400_000

/**
 * Milliseconds since 1970, null for never, undefined if nothing valid is chosen or the date is past.
 *
 * @param date such as `2027-01-31`; the key is valid until the end of that day in the user's time zone
 */
export const expiresAt = (expiry: Expiry, date: string, now: number): number | null | undefined => {
  if (expiry === "never") return null
  if (expiry === "keep") return undefined
  if (expiry !== "date") return now + Number(expiry) * DAY_MILLIS
  const end = new Date(`${date}T23:59:59`).getTime()
  return Number.isNaN(end) || end <= now ? undefined : end
}
