/** Waits, times of day and running clocks in words. */
import { expect, it } from "vitest"
import { clock, countdown } from "../../../../src/web/widget/words/first-words.ts"
import { range, timeOfDay } from "../../../../src/web/widget/words/times.ts"

it("the widget says a wait in minutes, and in hours where minutes would claim a precision that nobody has", () => {
  expect(range(60, "en")).toBe("1–2 minutes")
  expect(range(600, "en")).toBe("7–13 minutes")
  expect(range(4_799, "en")).toBe("59–100 minutes")
  expect(range(4_800, "en")).toBe("1–2 hours")
  expect(range(4 * 3_600, "en")).toBe("3–5 hours")
  expect(range(4_800, "de")).toBe("1–2 Stunden")
})

it("a clock runs up in whole seconds, and down to 0:00", () => {
  expect([-1, 999, 7_000, 59_999, 600_000, 3_723_000, 36_000_000].map(clock)).toEqual([
    "0:00",
    "0:00",
    "0:07",
    "0:59",
    "10:00",
    "1:02:03",
    "10:00:00",
  ])
  expect([Number.NaN, -1_500, 1, 6_001, 60_000].map(countdown)).toEqual(["0:00", "0:00", "0:01", "0:07", "1:00"])
})

it("a time of day is said with the day of the week, or with the date when it is far ahead", () => {
  const now = Date.parse("2026-11-27T12:00:00")
  const at = (time: string) => timeOfDay(Date.parse(time), "en-GB", now)
  expect(at("2026-11-27T17:30:00")).toBe("17:30")
  expect(at("2026-11-28T07:47:00")).toMatch(/^Saturday.* 07:47$/)
  expect(at("2026-12-24T09:00:00")).toMatch(/^24 December 2026.* 09:00$/)
})
