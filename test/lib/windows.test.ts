/** Counting in windows: when one begins and ends, also when the clock is set, and how much memory it takes. */
import { assert, describe, it } from "@effect/vitest"
import { makeWindows } from "../../src/lib/windows.ts"

const MINUTE = 60_000

describe("Windows", () => {
  it("count each key from its own first use, and forget the uses when the window ends", () => {
    const windows = makeWindows(MINUTE, 10)
    assert.strictEqual(windows.add("a", 1_000), 1)
    assert.strictEqual(windows.add("a", 30_000), 2)
    assert.strictEqual(windows.add("b", 30_000), 1)
    assert.strictEqual(windows.used("a", 60_999), 2)
    assert.strictEqual(windows.used("a", 61_000), 0)
    assert.strictEqual(windows.used("b", 61_000), 1)
    assert.strictEqual(windows.add("a", 61_000), 1)
  })

  it("tell when the window ends, or when one would that begins now", () => {
    const windows = makeWindows(MINUTE, 10)
    assert.strictEqual(windows.endsAt("a", 5_000), 65_000)
    windows.add("a", 5_000)
    assert.strictEqual(windows.endsAt("a", 20_000), 65_000)
    assert.strictEqual(windows.endsAt("a", 65_000), 125_000)
  })

  it("are over when the clock is set back to before they began", () => {
    const windows = makeWindows(MINUTE, 10)
    windows.add("a", 10 * MINUTE)
    assert.strictEqual(windows.used("a", 9 * MINUTE), 0)
    assert.strictEqual(windows.add("a", 9 * MINUTE), 1)
  })

  it("take back a use in the open window only, and never below none", () => {
    const windows = makeWindows(MINUTE, 10)
    windows.giveBack("a", 0)
    assert.strictEqual(windows.add("a", 0), 1)
    windows.giveBack("a", 1)
    windows.giveBack("a", 1)
    assert.strictEqual(windows.used("a", 1), 0)
    windows.add("a", 2)
    windows.giveBack("a", MINUTE)
    assert.strictEqual(windows.used("a", 2), 1)
  })

  it("forget the least recently used key beyond their number, so that a flood of keys is bounded", () => {
    const windows = makeWindows(MINUTE, 2)
    windows.add("a", 0)
    windows.add("b", 0)
    windows.add("a", 1)
    windows.add("c", 2)
    assert.deepStrictEqual(
      ["a", "b", "c"].map((key) => windows.used(key, 3)),
      [2, 0, 1],
    )
  })

  it("drop those that are over, and keep the open ones", () => {
    const windows = makeWindows(MINUTE, 10)
    windows.add("a", 0)
    windows.add("b", 30_000)
    windows.dropEnded(MINUTE)
    assert.strictEqual(windows.used("a", 1_000), 0)
    assert.strictEqual(windows.used("b", MINUTE), 1)
  })
})
