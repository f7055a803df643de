/** Reads `Retry-After` (RFC 9110, 10.2.3), which is a number of seconds or a date. */

/** A date is counted from the answer's own `Date`, so that it does not matter how far two clocks are apart. */
const secondsUntil = (date: string, answeredAt: string | undefined, now: number): number | undefined => {
  const at = Date.parse(date)
  if (Number.isNaN(at)) return undefined
  const own = answeredAt === undefined ? Number.NaN : Date.parse(answeredAt)
  return Math.max(0, Math.ceil((at - (Number.isNaN(own) ? now : own)) / 1000))
}

/**
 * How many seconds the sender asks to wait; undefined when it does not, or not in a form of the standard.
 *
 * @param answeredAt the answer's `Date`
 * @param now in milliseconds since 1970, for an answer without `Date`
 */
export const retryAfterSeconds = (
  header: string | undefined,
  answeredAt: string | undefined,
  now: number,
): number | undefined => {
  const text = header?.trim() ?? ""
  if (/^\d{1,9}$/.test(text)) return Number(text)
  // such as `Sun, 06 Nov 1994 08:49:37 GMT`: `Date.parse` takes much that is no date of HTTP
  return /^[A-Z][a-z]{2,8},? /.test(text) ? secondsUntil(text, answeredAt, now) : undefined
}
