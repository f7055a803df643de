/** Times of opening hours in words. */
import { DateTime } from "effect"

/** `Saturday, 28 November 2026 at 07:47 (Europe/Berlin)`. */
export const timeInWords = (millis: number, zone: DateTime.TimeZone): string =>
  `${DateTime.format(DateTime.makeZonedUnsafe(millis, { timeZone: zone }), {
    locale: "en-GB",
    weekday: "long",
    day: "numeric",
    month: "long",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
  })} (${DateTime.zoneToString(zone)})`
