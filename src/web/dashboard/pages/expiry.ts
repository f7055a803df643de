/** The expiry of a new key. */

export type Expiry = "never" | "30" | "90" | "365" | "date"

export const EXPIRIES: ReadonlyArray<{ readonly value: Expiry; readonly label: string }> = [
  { value: "never", label: "Never" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
  { value: "date", label: "After a day of your choice" },
]

const DAY_MILLIS = 86_400_000

/**
 * Milliseconds since 1970, null for never, undefined if nothing valid is chosen or the date is past.
 *
 * @param date such as `2027-01-31`; the key is valid until the end of that day in the user's time zone
 */
export const expiresAt = (expiry: Expiry, date: string, now: number): number | null | undefined => {
  if (expiry === "never") return null
  if (expiry !== "date") return now + Number(expiry) * DAY_MILLIS
  const end = new Date(`${date}T23:59:59`).getTime()
  return Number.isNaN(end) || end <= now ? undefined : end
}
