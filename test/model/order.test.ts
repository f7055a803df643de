/** Which tickets may be overtaken. */
import { assert, describe, it } from "@effect/vitest"
import { type GrantedSlot, orderViolations } from "./order.ts"

const MOST = 2
/** A ticket accepted as number `seq` that got slot number `lease` and held it for ten seconds from `from`. */
const given = (seq: number, lease: number, network: string, from: number): GrantedSlot => ({
  seq,
  lease,
  network,
  from,
  until: from + 10_000,
})
/** Two calls of network a run when the third ticket of it waits at the head, and one of network b behind it. */
const running = [given(1, 1, "a", 0), given(2, 2, "a", 0)]

describe("the order in which slots were given", () => {
  it("is that of acceptance", () => {
    assert.deepStrictEqual(orderViolations([...running, given(3, 3, "b", 1_000)], [], MOST), [])
    assert.deepStrictEqual(orderViolations([given(2, 1, "b", 0), given(1, 2, "c", 1_000)], [], MOST), [
      "I2: place 1 of c got a slot after place 2 of b",
    ])
    assert.deepStrictEqual(orderViolations([given(2, 1, "", 0), given(1, 2, "", 1_000)], [], MOST).length, 1)
  })

  it("lets a network below its share overtake one at its share", () => {
    const overtaken = [...running, given(4, 3, "b", 5_000), given(3, 4, "a", 11_000)]
    assert.deepStrictEqual(orderViolations(overtaken, [], MOST), [])
    assert.lengthOf(orderViolations(overtaken, [], MOST + 1), 1)
  })

  it("allows no overtaking within a network, or by a network at its share", () => {
    assert.lengthOf(orderViolations([...running, given(4, 3, "a", 5_000), given(3, 4, "a", 11_000)], [], MOST), 1)
    const full = [given(11, 11, "b", 0), given(12, 12, "b", 0)]
    const both = [...running, ...full, given(14, 13, "b", 5_000), given(13, 14, "a", 11_000)]
    assert.lengthOf(orderViolations(both, [], MOST), 1)
  })

  it("counts tickets that got a slot twice among those that may hold one", () => {
    const [one, other] = running
    const overtaken = [given(4, 3, "b", 5_000), given(3, 4, "a", 11_000)]
    assert.deepStrictEqual(orderViolations([...(one ? [one] : []), ...overtaken], other ? [other] : [], MOST), [])
    assert.lengthOf(orderViolations([...(one ? [one] : []), ...overtaken], [], MOST), 1)
  })
})
