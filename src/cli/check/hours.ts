/** What a campaign's hours say at a time, for `voicegate check`. */
import type { DateTime } from "effect"
import { openingAt } from "../../lib/opening-hours/schedule.ts"
import { timeInWords } from "../../lib/opening-hours/words.ts"
import { type CampaignHours, openingHoursOf } from "../../settings/groups/hours.ts"

const next = (word: string, at: number | undefined, zone: DateTime.TimeZone, otherwise: string): string =>
  at === undefined ? otherwise : `${word} on ${timeInWords(at, zone)}`

export const hoursText = (hours: CampaignHours, now: number): string => {
  const opening = openingHoursOf(hours)
  const { isOpen, until } = openingAt(opening, now)
  if (!isOpen) return `closed now; ${next("opens", until, opening.zone, "does not open within a year")}`
  const opens = until === undefined ? undefined : openingAt(opening, until).until
  return `open now; ${next("closes", until, opening.zone, "does not close in the next two weeks")}${
    until === undefined ? "" : `, ${next("opens again", opens, opening.zone, "and does not open again within a year")}`
  }`
}

/** Whether it is open now, or opens within a year. */
export const isEverOpen = (hours: CampaignHours, now: number): boolean => {
  const { isOpen, until } = openingAt(openingHoursOf(hours), now)
  return isOpen || until !== undefined
}
