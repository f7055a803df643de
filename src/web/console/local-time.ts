/** Times as a `datetime-local` field has them: `2026-11-24T14:30`, in the time zone of the browser. */

const MINUTE = 60_000

/** The field's value of a time (ms since 1970). */
export const toField = (at: number): string => {
  const local = at - new Date(at).getTimezoneOffset() * MINUTE
  return new Date(local).toISOString().slice(0, "2026-11-24T14:30".length)
}

/** The time (ms since 1970) of a field's value; NaN for one that is empty or incomplete. */
export const fromField = (value: string): number => new Date(value).getTime()

/** An hour from now, at the next quarter. */
export const inAnHour = (now: number): number => Math.ceil((now + 60 * MINUTE) / (15 * MINUTE)) * 15 * MINUTE

/** The last time that the gate takes (ms since 1970). */
const LAST = Date.UTC(9999, 11, 31)

/** What is wrong with the end of a pause (ms since 1970); empty if nothing is. */
export const problemOfEnd = (until: number, now: number): string => {
  if (Number.isNaN(until)) return "Choose a date and time."
  if (until <= now) return "Choose a time in the future."
  return until > LAST ? "Choose an earlier date." : ""
}

/** Such as `Europe/Berlin`. */
export const timeZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone
