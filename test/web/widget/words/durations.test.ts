/** The estimated wait in words. */
import { expect, it } from "vitest"
import { range } from "../../../../src/web/widget/words/durations.ts"

it("the widget says a wait in minutes, and in hours where minutes would claim a precision that nobody has", () => {
  expect(range(60, "en")).toBe("1–2 minutes")
  expect(range(600, "en")).toBe("7–13 minutes")
  expect(range(4_799, "en")).toBe("59–100 minutes")
  expect(range(4_800, "en")).toBe("1–2 hours")
  expect(range(4 * 3_600, "en")).toBe("3–5 hours")
  expect(range(4_800, "de")).toBe("1–2 Stunden")
})
