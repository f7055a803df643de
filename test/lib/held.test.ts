/** Counting what is held: up to the limit, back to nothing, and without memory for who holds nothing. */
import { assert, describe, it } from "@effect/vitest"
import { makeHeld } from "../../src/lib/held.ts"

describe("Held", () => {
  it("refuses a key at its limit and counts nothing then, while another key may still acquire", () => {
    const held = makeHeld(2)
    assert.deepStrictEqual(
      [held.acquire("a"), held.acquire("a"), held.acquire("a"), held.acquire("b")],
      [true, true, false, true],
    )
    assert.strictEqual(held.of("a"), 2)
    held.release("a")
    assert.isTrue(held.acquire("a"))
  })

  it("forgets a key that holds nothing, and takes a release too many for nothing", () => {
    const held = makeHeld()
    held.acquire("a")
    held.release("a")
    held.release("a")
    assert.strictEqual(held.all().size, 0)
    assert.strictEqual(held.of("a"), 0)
    assert.isTrue(held.acquire("a"))
    assert.deepStrictEqual([...held.all()], [["a", 1]])
  })
})
