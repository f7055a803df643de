/** Remembering what was used last, in bounded memory. */
import { assert, describe, it } from "@effect/vitest"
import { RecentSet } from "../../src/lib/recent-set.ts"

const SIZE = 10
const name = (n: number): string => `key ${n}`

describe("a set of recent keys", () => {
  it("remembers at least so many of the last keys, however many come", () => {
    const recent = new RecentSet(SIZE)
    for (let n = 0; n < 1_000; n++) {
      recent.add(name(n))
      for (let back = 0; back < SIZE && back <= n; back++) assert.isTrue(recent.has(name(n - back)))
    }
  })

  it("remembers at most twice as many", () => {
    const recent = new RecentSet(SIZE)
    for (let n = 0; n < 1_000; n++) recent.add(name(n))
    const kept = Array.from({ length: 1_000 }, (_, n) => name(n)).filter((key) => recent.has(key))
    assert.isAtMost(kept.length, 2 * SIZE)
  })

  it("remembers a key for as long as it is used, and forgets one that is not", () => {
    const recent = new RecentSet(SIZE)
    recent.add("used")
    recent.add("not used")
    for (let n = 0; n < 1_000; n++) {
      recent.add(name(n))
      if (n % (SIZE - 2) === 0) assert.isTrue(recent.use("used"))
    }
    assert.isFalse(recent.use("not used"))
  })

  it("forgets a key that is deleted, also one that it had remembered for longer", () => {
    const recent = new RecentSet(SIZE)
    recent.add("gone")
    for (let n = 0; n < SIZE; n++) recent.add(name(n))
    assert.isTrue(recent.use("gone"))
    recent.delete("gone")
    assert.isFalse(recent.has("gone"))
  })
})
