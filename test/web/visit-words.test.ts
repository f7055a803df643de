/** The texts of a waiting room that depend on numbers and times. */
import { describe, expect, it } from "vitest"
import type { Place } from "../../src/web/widget/state.ts"
import { createSay } from "../../src/web/widget/strings.ts"
import { estimate } from "../../src/web/widget/visit-words.ts"

const now = Date.UTC(2026, 10, 24, 12)
const say = createSay(
  () => ({}),
  () => ({ locale: "en", texts: {} }),
)
const place = (given: Partial<Place>): Place => ({
  position: 2,
  queueLength: 2,
  estimatedWait: undefined,
  disrupted: false,
  paused: false,
  pausedUntil: undefined,
  asOf: now,
  ...given,
})
const wait = (seconds: number): string => estimate(place({ estimatedWait: seconds }), say, "en", now)

describe("the estimated wait", () => {
  it("is a range of minutes, and of hours where minutes would claim a precision that nobody has", () => {
    expect(wait(40)).toBe("Estimated wait: less than a minute.")
    expect(wait(600)).toBe("Estimated wait: 7–13 minutes.")
    expect(wait(4_799)).toBe("Estimated wait: 59–100 minutes.")
    expect(wait(4_800)).toBe("Estimated wait: 1–2 hours.")
    expect(wait(4 * 3_600)).toBe("Estimated wait: 3–5 hours.")
  })

  it("is replaced by a closing time, with the month in words where it is another day", () => {
    const closed = (language: string): string =>
      estimate(place({ paused: true, pausedUntil: now + 86_400_000 }), say, language, now)
    expect(closed("en-GB")).toMatch(/^Closed until 25 November 2026 at /)
    expect(closed("ar")).toContain("نوفمبر")
  })
})
