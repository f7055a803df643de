/** What the rules of the queue get of a newcomer. */
import { assert, describe, it } from "@effect/vitest"
import { newcomerCall } from "../../src/fifo-queue/newcomer.ts"
import { originOf } from "../harness/newcomers.ts"

const nobody = { id: "ticket", caller: "", network: "", holds: true, data: "{}" }

describe("a newcomer as the rules take it", () => {
  it("has in its record what the gate knows, and nothing else", () => {
    assert.deepStrictEqual(newcomerCall(nobody), { id: "ticket", network: "", origin: "}", data: "{}" })
    const known = { ...nobody, caller: "192.0.2.1", network: "192.0.2", trace: "00-1" }
    assert.deepStrictEqual(originOf(newcomerCall(known)), {
      caller: "192.0.2.1",
      holds: true,
      network: "192.0.2",
      trace: "00-1",
    })
    assert.strictEqual(originOf(newcomerCall({ ...known, holds: false })).holds, undefined)
  })

  it("has no lone surrogate in its record, which Redis could not read again", () => {
    assert.strictEqual(newcomerCall({ ...nobody, caller: "\ud800", holds: false }).origin, ',"caller":"\ufffd"}')
  })
})
