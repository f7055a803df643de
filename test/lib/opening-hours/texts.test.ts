/** How opening hours are written. */
import { assert, describe, it } from "@effect/vitest"
import { readClosed, readOpening } from "../../../src/lib/opening-hours/texts.ts"

const [MON, TUE, WED, THU, FRI, SAT, SUN] = [0, 1, 2, 3, 4, 5, 6]
const at = (hours: number, minutes = 0): number => hours * 60 + minutes

describe("opening times", () => {
  it.each([
    ["Mon-Fri 09:00-18:00", [{ days: [MON, TUE, WED, THU, FRI], from: at(9), to: at(18) }]],
    ["mon, wed-thu 9:00 - 12:30", [{ days: [MON, WED, THU], from: at(9), to: at(12, 30) }]],
    ["Saturday 10:00-14:00", [{ days: [SAT], from: at(10), to: at(14) }]],
    ["Fri-Mon 20:00-02:00", [{ days: [MON, FRI, SAT, SUN], from: at(20), to: at(26) }]],
    [
      "Tue 09:00-12:00, 13:00-18:00",
      [
        { days: [TUE], from: at(9), to: at(12) },
        { days: [TUE], from: at(13), to: at(18) },
      ],
    ],
    ["Daily 00:00-24:00", [{ days: [0, 1, 2, 3, 4, 5, 6], from: 0, to: at(24) }]],
  ])("%s are read", (text, value) => {
    assert.deepStrictEqual(readOpening(text), { value })
  })

  it.each([
    ["Mon-Fri", "days and times"],
    ["09:00-18:00", "days and times"],
    ["Mon-Fri 09:00", "times from 00:00"],
    ["Mon-Fri 09:00-25:00", "times from 00:00"],
    ["Mon-Fri 09:60-18:00", "times from 00:00"],
    ["Mon-Fri 9-18", "times from 00:00"],
    ["Mon-Fri 09:00-12:00-13:00", "times from 00:00"],
    ["Mon-Fri 09:00-09:00", "two different times"],
    ["Mon-Fri 24:00-02:00", "two different times"],
    ["Mo-Fr 09:00-18:00", "days such as"],
    ["Mon-Wed-Fri 09:00-18:00", "days such as"],
  ])("%s are refused, with what was expected", (text, expected) => {
    const read = readOpening(text)
    assert.include("expected" in read ? read.expected : "", expected)
  })
})

describe("closed days", () => {
  it.each([
    ["2026-12-24", { first: "2026-12-24", last: "2026-12-24" }],
    ["2026-12-24 to 2027-01-01", { first: "2026-12-24", last: "2027-01-01" }],
    ["Dec 25", { first: "12-25", last: "12-25" }],
    ["december 24  to jan 1", { first: "12-24", last: "01-01" }],
    ["Feb 29", { first: "02-29", last: "02-29" }],
    ["2028-02-29", { first: "2028-02-29", last: "2028-02-29" }],
  ])("%s are read", (text, value) => {
    assert.deepStrictEqual(readClosed(text), { value })
  })

  it.each([
    ["2026-02-29", "a date that exists"],
    ["2026-13-01", "a date that exists"],
    ["Feb 30", "a day that exists"],
    ["24.12.2026", "a date such as"],
    ["12-25", "a date such as"],
    ["2026-12-26 to 2026-12-24", "not before the first"],
    ["2026-12-24 to Dec 26", "two dates with a year"],
    ["Dec 24 to Dec 25 to Dec 26", "a date such as"],
  ])("%s are refused, with what was expected", (text, expected) => {
    const read = readClosed(text)
    assert.include("expected" in read ? read.expected : "", expected)
  })
})
