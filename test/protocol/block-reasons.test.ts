import { assert, describe, it } from "@effect/vitest"
import { isInForce } from "../../src/protocol/block-reasons.ts"

describe("a setting that blocks", () => {
  it("is in force as a flag that is on, a limit above 0, or a list that has something in it", () => {
    for (const value of [true, 1, ["KP"]]) assert.isTrue(isInForce(value), JSON.stringify(value))
    for (const value of [false, 0, []]) assert.isFalse(isInForce(value), JSON.stringify(value))
  })
})
