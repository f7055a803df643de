/** What an admission does with an origin that no gate of this version writes. */
import { assert, describe, it } from "@effect/vitest"
import { keysOf } from "../../src/fifo-queue/keys.ts"
import { rules } from "../../src/fifo-queue/rules.ts"
import { MemoryDb } from "../../src/store/memory/MemoryDb.ts"

const context = {
  slots: 1,
  share: 1,
  maxLength: 10,
  instance: "gate",
  channel: "vg:i:",
  windowMillis: 30_000,
  graceMillis: 5_000,
  seenMillis: 7_000,
  callMillis: 7_200_000,
}

describe("a newcomer whose origin does not complete a record", () => {
  it("gets the free slot, with a record that is valid and names no caller", () => {
    const db = new MemoryDb(() => {})
    const keys = keysOf("business/campaign")
    const newcomer = { id: "ticket", network: "", origin: '"caller"', data: "{}" }
    const [answer] = rules.admit.run(db, keys, 1_000, context, [newcomer])
    assert.deepStrictEqual(answer, { result: { _tag: "starting", lease: "1" } })
    const record: unknown = JSON.parse(db.hget(keys[1] ?? "", "ticket") ?? "")
    assert.deepStrictEqual(record, { state: "starting", seq: 1, accepted: 1_000, lease: "1", since: 1_000 })
  })
})
