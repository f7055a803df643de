/** The opening hours of a campaign, below `Hours`. */
import { DateTime, Schema } from "effect"
import type { OpeningHours } from "../../lib/opening-hours/schedule.ts"
import { type Read, readClosed, readOpening } from "../../lib/opening-hours/texts.ts"
import type { Reader } from "../reading/reader.ts"
import { listWithDefault, optional, withDefault } from "../setting.ts"
import { list, type Text, wholeNumber } from "../values/values.ts"
import { namedZone } from "../values/zone.ts"

/** For a campaign that does not take over the hours, or the closed days, of the default campaign. */
const ALWAYS = "always"
const NEVER = "never"

const isWord = (text: string, word: string): boolean => text.trim().toLowerCase() === word

/** A text that `read` understands, or a word. */
const written = (read: (text: string) => Read<unknown>, word: string, expected: string): Text<string> =>
  Schema.String.check(
    Schema.makeFilter((text) => {
      if (text.length > 200) return "at most 200 characters"
      const found = read(text)
      return isWord(text, word) || "value" in found || found.expected
    }),
  ).annotate({ expected })

const opening = written(readOpening, ALWAYS, "days and times such as Mon-Fri 09:00-18:00, or always; one a list item")
const closed = written(
  readClosed,
  NEVER,
  "a date such as 2026-12-24, or a day such as Dec 25, or never; one a list item",
)

export const HoursSettings = Schema.Struct({
  Zone: optional(namedZone, "needed with the others", {
    shared: true,
    description: "the time zone of the hours, such as `Europe/Berlin`",
  }),
  Open: listWithDefault(list(opening), [], "always", {
    shared: true,
    description:
      "when callers are taken, such as `Mon-Fri 09:00-12:00, 13:00-18:00` and `Fri-Sat 20:00-02:00`; `always` in a campaign that does not inherit hours",
    documentation: "See [Hours](control.md#hours)",
  }),
  Closed: listWithDefault(list(closed), [], "none", {
    shared: true,
    description:
      "days on which nobody is taken: `2026-12-24`, `2026-12-24 to 2027-01-01`, or every year `Dec 25` and `Dec 24 to Jan 1`; `never` in a campaign that does not inherit them",
  }),
  AfterCloseMinutes: withDefault(wholeNumber(0, 1440), 0, {
    shared: true,
    description:
      "how long those who wait at the close are still served; then they are told that it is closed. Running calls are not ended",
  }),
})

/** The opening hours of a campaign. */
export interface CampaignHours {
  readonly Zone: string
  /** empty when it is open on all days but the closed ones */
  readonly Open: ReadonlyArray<string>
  readonly Closed: ReadonlyArray<string>
  readonly AfterCloseMinutes: number
}

/** Undefined for a campaign that is always open. Reports a zone that is given neither there nor where it is inherited from. */
export const hoursOf = (
  read: Reader,
  base: string,
  inheritFrom: string | undefined,
  { AfterCloseMinutes, Closed, Open, Zone }: typeof HoursSettings.Type,
): CampaignHours | undefined => {
  const hours = {
    Open: Open.some((text) => isWord(text, ALWAYS)) ? [] : Open,
    Closed: Closed.some((text) => isWord(text, NEVER)) ? [] : Closed,
    AfterCloseMinutes,
  }
  if (hours.Open.length === 0 && hours.Closed.length === 0) return undefined
  if (Zone !== undefined) return { Zone, ...hours }
  // one that is wrong is reported already
  if (![base, inheritFrom].some((at) => at !== undefined && read.has(`${at}.Hours.Zone`)))
    read.reportMissing(`${base}.Hours.Zone`, "the time zone of the hours, such as Europe/Berlin or America/New_York")
  return undefined
}

const valuesOf = <A>(texts: ReadonlyArray<string>, read: (text: string) => Read<A>): ReadonlyArray<A> =>
  texts.flatMap((text) => {
    const found = read(text)
    return "value" in found ? [found.value] : []
  })

/** The hours of settings that were read. */
export const openingHoursOf = ({ Closed, Open, Zone }: CampaignHours): OpeningHours => ({
  zone: DateTime.zoneMakeNamedUnsafe(Zone),
  open: valuesOf(Open.length === 0 ? ["Daily 00:00-24:00"] : Open, readOpening).flat(),
  closed: valuesOf(Closed, readClosed),
})
