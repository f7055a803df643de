/** The windows of budgets, at the moments at which calendars and clocks are not regular. */
import { assert, describe, it } from "@effect/vitest"
import { DateTime } from "effect"
import { windowOf } from "../../src/budgets/windows.ts"
import type { Period } from "../../src/settings/groups/budgets.ts"

const at = (iso: string): number => Date.parse(iso)
const iso = (millis: number): string => new Date(millis).toISOString().replace(":00.000Z", "Z")
const window = (period: Period, zone: string, when: string): string => {
  const { from, until } = windowOf(period, DateTime.zoneMakeNamedUnsafe(zone), at(when))
  return `${iso(from)} ${iso(until)}`
}

describe("the windows of a budget", () => {
  it("a day begins and ends at midnight of the zone", () => {
    assert.strictEqual(window("day", "UTC", "2026-11-27T10:30:00Z"), "2026-11-27T00:00Z 2026-11-28T00:00Z")
    assert.strictEqual(window("day", "Europe/Berlin", "2026-11-27T23:30:00Z"), "2026-11-27T23:00Z 2026-11-28T23:00Z")
    assert.strictEqual(window("day", "Asia/Kolkata", "2026-11-27T18:29:59Z"), "2026-11-26T18:30Z 2026-11-27T18:30Z")
  })

  it("a day on which clocks change has 23 or 25 hours", () => {
    assert.strictEqual(window("day", "Europe/Berlin", "2026-03-29T12:00:00Z"), "2026-03-28T23:00Z 2026-03-29T22:00Z")
    assert.strictEqual(window("day", "Europe/Berlin", "2026-10-25T12:00:00Z"), "2026-10-24T22:00Z 2026-10-25T23:00Z")
  })

  it("an hour that comes twice is two windows", () => {
    assert.strictEqual(window("hour", "Europe/Berlin", "2026-10-25T00:30:00Z"), "2026-10-25T00:00Z 2026-10-25T01:00Z")
    assert.strictEqual(window("hour", "Europe/Berlin", "2026-10-25T01:30:00Z"), "2026-10-25T01:00Z 2026-10-25T02:00Z")
  })

  it("the half hour that comes twice on Lord Howe is in two windows", () => {
    // 02:00 at +11:00 is 01:30 at +10:30
    const before = window("hour", "Australia/Lord_Howe", "2026-04-04T14:45:00Z")
    const after = window("hour", "Australia/Lord_Howe", "2026-04-04T15:15:00Z")
    assert.strictEqual(before.split(" ")[0], "2026-04-04T14:00Z")
    assert.strictEqual(after.split(" ")[0], "2026-04-04T14:30Z")
  })

  it("a day whose midnight is skipped begins with its first moment", () => {
    // on 6 September 2026 clocks in Santiago go from 00:00 to 01:00
    assert.strictEqual(window("day", "America/Santiago", "2026-09-06T12:00:00Z"), "2026-09-06T04:00Z 2026-09-07T03:00Z")
    assert.strictEqual(window("day", "America/Santiago", "2026-09-06T03:30:00Z"), "2026-09-05T04:00Z 2026-09-06T04:00Z")
  })

  it("a day whose midnight comes twice begins with the first", () => {
    // on 1 November 2026 clocks in Havana go from 01:00 to 00:00
    assert.strictEqual(window("day", "America/Havana", "2026-11-01T05:30:00Z"), "2026-11-01T04:00Z 2026-11-02T05:00Z")
    assert.strictEqual(window("day", "America/Havana", "2026-11-01T04:30:00Z"), "2026-11-01T04:00Z 2026-11-02T05:00Z")
  })

  it("a month has its days, also in a leap year and at the end of a year", () => {
    assert.strictEqual(window("month", "UTC", "2028-02-29T23:59:59Z"), "2028-02-01T00:00Z 2028-03-01T00:00Z")
    assert.strictEqual(window("month", "UTC", "2027-02-28T23:59:59Z"), "2027-02-01T00:00Z 2027-03-01T00:00Z")
    assert.strictEqual(window("month", "Europe/Berlin", "2026-12-31T23:00:00Z"), "2026-12-31T23:00Z 2027-01-31T23:00Z")
    assert.strictEqual(window("day", "UTC", "2028-02-29T12:00:00Z"), "2028-02-29T00:00Z 2028-03-01T00:00Z")
    assert.strictEqual(window("day", "UTC", "2026-12-31T12:00:00Z"), "2026-12-31T00:00Z 2027-01-01T00:00Z")
  })

  it("a date that a zone skipped is no window", () => {
    // Samoa had no 30 December 2011
    assert.strictEqual(window("day", "Pacific/Apia", "2011-12-30T09:59:59Z"), "2011-12-29T10:00Z 2011-12-30T10:00Z")
    assert.strictEqual(window("day", "Pacific/Apia", "2011-12-30T10:00:00Z"), "2011-12-30T10:00Z 2011-12-31T10:00Z")
  })

  for (const zone of ["Europe/Berlin", "America/Havana", "Australia/Lord_Howe"]) {
    it(`every moment of a year in ${zone} is in one window of each kind, which names it`, () => {
      const timeZone = DateTime.zoneMakeNamedUnsafe(zone)
      for (const period of ["hour", "day", "month"] as const) {
        let last = windowOf(period, timeZone, at("2026-01-01T00:00:00Z"))
        const step = period === "hour" ? 3_000_000 : 7_200_000
        for (let now = at("2026-01-01T00:00:00Z"); now < at("2027-01-02T00:00:00Z"); now += step) {
          const { from, until } = windowOf(period, timeZone, now)
          assert.isTrue(from <= now && now < until, `${period} ${iso(now)}`)
          // windows follow one another, none comes again
          assert.isTrue(from === last.from || from > last.from, `${period} ${iso(now)} is in an earlier window`)
          if (from !== last.from && period !== "hour") assert.strictEqual(from, last.until, `${period} ${iso(now)}`)
          last = { from, until }
        }
      }
    })
  }
})
