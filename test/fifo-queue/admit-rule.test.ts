/** What an admission writes of a newcomer. */

import { assert, describe, it } from "@effect/vitest"
import type { Newcomer } from "../../src/fifo-queue/inputs.ts"
import { keysOf } from "../../src/fifo-queue/keys.ts"
import { rules } from "../../src/fifo-queue/rules.ts"
import { MemoryDb } from "../../src/store/memory/MemoryDb.ts"

const context = {
  share: 1,
  maxLength: 10,
  instance: "gate",
  holder: 1,
  channel: "vg:i:",
  windowMillis: 30_000,
  graceMillis: 5_000,
  seenMillis: 7_000,
  callMillis: 7_200_000,
}

/** The record of a ticket after its admission to a campaign with so many slots. */
const recordOf = (newcomer: Newcomer, slots: number): unknown => {
  const db = new MemoryDb(() => {})
  const keys = keysOf("business/campaign")
  rules.admit.run(db, keys, 1_000, { ...context, slots }, [newcomer])
  return JSON.parse(db.hget(keys[1] ?? "", newcomer.id) ?? "")
}

const nobody: Newcomer = { id: "ticket", caller: "", network: "", holds: true, data: "{}" }
const known: Newcomer = { ...nobody, caller: "192.0.2.1", network: "192.0.2", trace: "00-1" }

describe("the record of a newcomer", () => {
  it("has what the gate knows of it, and nothing else", () => {
    const waiting = { state: "waiting", seq: 1, accepted: 1_000 }
    assert.deepStrictEqual(recordOf(nobody, 0), waiting)
    // the Lua of Redis has an empty text for one that is absent
    assert.deepStrictEqual(recordOf({ ...nobody, trace: "" }, 0), waiting)
    const origin = { caller: "192.0.2.1", network: "192.0.2", trace: "00-1" }
    assert.deepStrictEqual(recordOf(known, 0), { ...waiting, ...origin, holds: true })
    assert.deepStrictEqual(recordOf({ ...known, holds: false }, 0), { ...waiting, ...origin })
  })

  it("is that of a start where a slot is free", () => {
    assert.deepStrictEqual(recordOf(nobody, 1), {
      state: "starting",
      seq: 1,
      accepted: 1_000,
      lease: "1",
      since: 1_000,
    })
  })
})
