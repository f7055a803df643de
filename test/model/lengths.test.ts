/** When a call with a time limit counts as one that no gate looks after. */
import { assert, describe, it } from "@effect/vitest"
import type { Change } from "./change.ts"
import { unlimited } from "./lengths.ts"
import { EMPTY, recordOf } from "./queue-state.ts"

const ENDS_AT = 1_000_000
const SKEW = 80

/** A step that changes nothing while the call of a ticket is looked at again at `due`. */
const stepAt = (now: number, time: number, due: number | undefined): Change => {
  const state = {
    ...EMPTY,
    tickets: new Map([["t1", recordOf({ accepted: 0, state: "live", seq: 1, endsAt: ENDS_AT })]]),
    limits: new Map(due === undefined ? [] : [["t1", due]]),
  }
  return { before: state, after: state, now, time, slots: 1, share: 1, skew: SKEW, window: 5_000, swept: false }
}

describe("a call with a time limit", () => {
  it("is looked at by its limit, or is in no list", () => {
    const before = ENDS_AT - 1_000
    assert.deepStrictEqual(unlimited(stepAt(before, before, ENDS_AT)), [])
    assert.lengthOf(unlimited(stepAt(before, before, ENDS_AT + 1)), 1)
    assert.lengthOf(unlimited(stepAt(before, before, undefined)), 1)
  })

  it("may be given to a gate at its limit before a gate whose clock has stood still takes its next step", () => {
    const [behind, later] = [ENDS_AT - 1_000, ENDS_AT + 11_000]
    assert.deepStrictEqual(unlimited(stepAt(behind, later, ENDS_AT + 20_036)), [])
    assert.deepStrictEqual(unlimited(stepAt(behind, later, undefined)), [])
  })
})
