/** The time of a webhook's signature: one that was recorded long ago is refused, so that it cannot be sent again. */

/** How far the time of a signature may differ from the store's (ms); Standard Webhooks recommends 5 minutes. */
export const TOLERANCE_MILLIS: number = 5 * 60_000

/** Why the time of a signature, in ms or seconds in this header, is refused; undefined if it is recent. */
export const timeRefusal = (
  name: string,
  headers: Readonly<Record<string, string | undefined>>,
  now: number,
): string | undefined => {
  const time = headers[name] ?? ""
  if (!/^\d{1,15}$/.test(time)) return `${name}: Expected the time of the signature.`
  const millis = time.length > 11 ? Number(time) : Number(time) * 1000
  return Math.abs(millis - now) > TOLERANCE_MILLIS
    ? `${name}: It is too old or too new by the gate's clock.`
    : undefined
}
