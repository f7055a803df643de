/** Whether it is open at a time, and until when: on days on which clocks change, at the ends of months and years, and on holidays. */
import { assert, describe, it } from "@effect/vitest"
import { DateTime } from "effect"
import { openingAt, schedule } from "../../../src/lib/opening-hours/schedule.ts"
import { readClosed, readOpening } from "../../../src/lib/opening-hours/texts.ts"

const meant = <A>(read: { readonly value: A } | { readonly expected: string }): A => {
  if ("value" in read) return read.value
  throw new Error(read.expected)
}

const hoursOf = (zone: string, open: ReadonlyArray<string>, closed: ReadonlyArray<string> = []) => ({
  zone: DateTime.zoneMakeNamedUnsafe(zone),
  open: open.flatMap((text) => meant(readOpening(text))),
  closed: closed.map((text) => meant(readClosed(text))),
})

type Hours = ReturnType<typeof hoursOf>

/** `open`, or `closed`, and until when, on the clocks of the zone; a time without an offset is one of the zone. */
const at = (hours: Hours, time: string): string => {
  const timeZone = hours.zone
  const local = { timeZone, adjustForTimeZone: !/[Z+]/.test(time) }
  const now = DateTime.toEpochMillis(DateTime.makeZonedUnsafe(time, local))
  const { isOpen, until } = openingAt(hours, now)
  const shown = until === undefined ? "" : DateTime.formatIsoOffset(DateTime.makeZonedUnsafe(until, { timeZone }))
  return `${isOpen ? "open" : "closed"} ${shown.replace(":00.000", "")}`.trim()
}

const SHOP = hoursOf("Europe/Berlin", ["Mon-Fri 09:00-12:00, 13:00-18:00", "Sat 10:00-14:00"])

describe("a week", () => {
  it.each([
    // 27 November 2026 is a Friday
    ["2026-11-27T08:59:59", "closed 2026-11-27T09:00+01:00"],
    ["2026-11-27T09:00:00", "open 2026-11-27T12:00+01:00"],
    ["2026-11-27T12:00:00", "closed 2026-11-27T13:00+01:00"],
    ["2026-11-27T17:59:59", "open 2026-11-27T18:00+01:00"],
    ["2026-11-27T18:00:00", "closed 2026-11-28T10:00+01:00"],
    ["2026-11-28T14:00:00", "closed 2026-11-30T09:00+01:00"],
  ])("is known at %s: %s", (time, expected) => {
    assert.strictEqual(at(SHOP, time), expected)
  })

  it("is the same for hours that touch or overlap, also over midnight", () => {
    const bar = hoursOf("Europe/Berlin", ["Fri 18:00-24:00", "Sat 00:00-03:00", "Fri 22:00-01:00"])
    assert.strictEqual(at(bar, "2026-11-27T19:00:00"), "open 2026-11-28T03:00+01:00")
    assert.strictEqual(at(bar, "2026-11-28T02:59:00"), "open 2026-11-28T03:00+01:00")
    assert.strictEqual(at(bar, "2026-11-28T03:00:00"), "closed 2026-12-04T18:00+01:00")
  })

  it("has no end where it is open day and night", () => {
    assert.strictEqual(at(hoursOf("Europe/Berlin", ["Daily 00:00-24:00"]), "2026-11-27T19:00:00"), "open")
  })
})

describe("a day on which clocks change", () => {
  const early = (zone: string) => hoursOf(zone, ["Sun 02:15-02:45", "Sun 09:00-10:00"])
  it.each([
    // at 2:00 it is 3:00
    ["Europe/Berlin", "2026-03-29T00:00:00Z", "closed 2026-03-29T03:15+02:00"],
    ["America/New_York", "2026-03-08T06:00:00Z", "closed 2026-03-08T03:15-04:00"],
    // at 3:00 it is 2:00 again: from the first 2:15 until the last 2:45
    ["Europe/Berlin", "2026-10-24T23:00:00Z", "closed 2026-10-25T02:15+02:00"],
    ["Europe/Berlin", "2026-10-25T00:50:00Z", "open 2026-10-25T02:45+01:00"],
    ["America/New_York", "2026-11-01T05:00:00Z", "closed 2026-11-01T02:15-05:00"],
  ])("in %s, %s is %s", (zone, time, expected) => {
    assert.strictEqual(at(early(zone), time), expected)
  })

  it("is an hour shorter or longer between the same times", () => {
    const night = hoursOf("America/New_York", ["Sat 20:00-06:00"])
    const lengthOn = (day: string): number => {
      const { since = 0, until = 0 } = openingAt(night, DateTime.makeUnsafe(`${day}T02:00:00Z`).epochMilliseconds)
      return (until - since) / 3_600_000
    }
    assert.deepStrictEqual([lengthOn("2026-03-08"), lengthOn("2026-07-05"), lengthOn("2026-11-01")], [9, 10, 11])
  })

  it("has a midnight that does not exist, at which it opens an hour later and nothing is lost", () => {
    // in Santiago, 6 September 2026 begins at 1:00
    const always = hoursOf("America/Santiago", ["Daily 00:00-24:00"])
    assert.strictEqual(at(always, "2026-09-06T03:30:00Z"), "open")
    const night = hoursOf("America/Santiago", ["Sun 00:00-02:00"])
    assert.strictEqual(at(night, "2026-09-06T03:30:00Z"), "closed 2026-09-06T01:00-03:00")
  })
})

describe("ends of months and years", () => {
  it.each([
    ["2026-11-30T18:00:00", "closed 2026-12-01T09:00+01:00"],
    ["2026-12-31T18:00:00", "closed 2027-01-01T09:00+01:00"],
    ["2027-02-26T18:00:00", "closed 2027-02-27T10:00+01:00"],
    ["2028-02-28T18:00:00", "closed 2028-02-29T09:00+01:00"],
    ["2028-02-29T18:00:00", "closed 2028-03-01T09:00+01:00"],
  ])("%s is %s", (time, expected) => {
    assert.strictEqual(at(SHOP, time), expected)
  })
})

describe("holidays", () => {
  const shop = (...closed: ReadonlyArray<string>) => hoursOf("Europe/Berlin", ["Daily 09:00-18:00"], closed)
  it("have no opening, on one day, on several, and every year over its end", () => {
    assert.strictEqual(at(shop("2026-12-24"), "2026-12-24T10:00:00"), "closed 2026-12-25T09:00+01:00")
    assert.strictEqual(at(shop("Dec 24 to Jan 1"), "2026-12-23T18:00:00"), "closed 2027-01-02T09:00+01:00")
    assert.strictEqual(at(shop("Dec 24 to Jan 1"), "2030-12-31T12:00:00"), "closed 2031-01-02T09:00+01:00")
    assert.strictEqual(at(shop("2026-12-24 to 2026-12-26"), "2026-12-24T00:00:00"), "closed 2026-12-27T09:00+01:00")
  })

  it("on a leap day are in leap years only", () => {
    assert.strictEqual(at(shop("Feb 29"), "2028-02-29T10:00:00"), "closed 2028-03-01T09:00+01:00")
    assert.strictEqual(at(shop("Feb 29"), "2027-03-01T10:00:00"), "open 2027-03-01T18:00+01:00")
  })

  it("do not end what has opened the evening before, and begin nothing that ends the day after", () => {
    const bar = hoursOf("Europe/Berlin", ["Fri-Sat 20:00-02:00"], ["2026-11-28"])
    assert.strictEqual(at(bar, "2026-11-28T01:00:00"), "open 2026-11-28T02:00+01:00")
    assert.strictEqual(at(bar, "2026-11-29T01:00:00"), "closed 2026-12-04T20:00+01:00")
  })

  it("of every day leave nothing open", () => {
    assert.strictEqual(at(shop("Jan 1 to Dec 31"), "2026-11-27T10:00:00"), "closed")
  })
})

describe("a schedule", () => {
  it("says the same as computing anew, also after the clock was set back", () => {
    const known = schedule(SHOP)
    const begin = DateTime.makeUnsafe("2026-10-20T00:00:00Z").epochMilliseconds
    const times = Array.from({ length: 600 }, (_, n) => begin + ((n * 7_919) % 601) * 1_800_000)
    for (const time of times) {
      const [{ isOpen, until }, expected] = [known(time), openingAt(SHOP, time)]
      assert.deepStrictEqual([isOpen, until], [expected.isOpen, expected.until])
    }
  })
})
