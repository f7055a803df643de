/** Time zones. An abbreviation such as EST is none: it has no daylight-saving time. */
import { DateTime, Option, Schema } from "effect"
import type { Text } from "./values.ts"

const isZone = (name: string): boolean =>
  name.length <= 64 && (name === "UTC" || name.includes("/")) && Option.isSome(DateTime.zoneMakeNamed(name))

const OFFSET = /^[+-](?:0\d|1[0-4]):[0-5]\d$/

const zoneText = (is: (name: string) => boolean, expected: string): Text<string> =>
  Schema.String.check(Schema.makeFilter(is)).annotate({ expected })

/** The name of a zone in the database of time zones (IANA). */
export const namedZone: Text<string> = zoneText(
  isZone,
  "the name of a time zone with its region, such as Europe/Berlin or America/New_York, or UTC",
)

/** The same, or a fixed offset, whose days all have 24 hours. */
export const zoneOrOffset: Text<string> = zoneText(
  (name) => isZone(name) || OFFSET.test(name),
  "the name of a time zone with its region, such as Europe/Berlin, or UTC, or an offset from UTC such as +05:30",
)
