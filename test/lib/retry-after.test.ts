/** What `Retry-After` means, in both of its forms. */
import { describe, expect, it } from "vitest"
import { retryAfterSeconds } from "../../src/lib/retry-after.ts"

const NOW = Date.parse("2026-11-26T12:00:00Z")

describe("Retry-After", () => {
  it("is a number of seconds", () => {
    expect(retryAfterSeconds("37", undefined, NOW)).toBe(37)
    expect(retryAfterSeconds(" 0 ", undefined, NOW)).toBe(0)
  })

  it("is a date, counted from the answer's own date, however far the clocks are apart", () => {
    const date = "Mon, 02 Nov 2020 10:00:00 GMT"
    expect(retryAfterSeconds("Mon, 02 Nov 2020 10:02:00 GMT", date, NOW)).toBe(120)
    expect(retryAfterSeconds("Mon, 02 Nov 2020 09:00:00 GMT", date, NOW)).toBe(0)
    expect(retryAfterSeconds("Thu, 26 Nov 2026 12:00:30 GMT", undefined, NOW)).toBe(30)
    expect(retryAfterSeconds("Thursday, 26-Nov-26 12:00:30 GMT", "nonsense", NOW)).toBe(30)
  })

  it("says nothing in any other form", () => {
    for (const text of [undefined, "", "-5", "1.5", "soon", "2026-11-26", "1e3", "12345678901"]) {
      expect(retryAfterSeconds(text, undefined, NOW), text).toBeUndefined()
    }
  })
})
