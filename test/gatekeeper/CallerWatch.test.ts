/** Who asks, as the console learns it, whatever others do at the same time. */
import { assert, describe, it } from "@effect/vitest"
import { type Block, makeWatch } from "../../src/gatekeeper/CallerWatch.ts"
import { budgetExhausted, draining } from "../../src/protocol/refusals.ts"

const watch = () =>
  makeWatch({ ready: undefined, of: (key) => key, subject: (subject) => subject, shown: (key) => key })

const address = (n: number): string => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`

describe("the watch of callers", () => {
  it("sees an address that asks often among many that ask once, and keeps a bounded number", () => {
    const seen = watch()
    for (let n = 0; n < 20_000; n++) {
      seen.note(address(n), undefined, "")
      if (n % 100 === 0) seen.note("203.0.113.7", draining(), "default")
    }
    const { asked, latest, refused } = seen.take()
    assert.strictEqual(asked["203.0.113.7"], 200)
    assert.deepStrictEqual(refused, { "203.0.113.7": 200 })
    assert.isAtMost(Object.keys(asked).length, 50)
    assert.lengthOf(latest, 20)
    assert.deepStrictEqual(latest[0], { address: "203.0.113.7", campaign: "default", reason: "draining" })
    assert.deepStrictEqual(seen.take(), { asked: {}, refused: {}, latest: [] })
  })

  it("keeps the budget that was used up with a refusal", () => {
    const seen = watch()
    seen.note("203.0.113.7", budgetExhausted("day", false, 1_000, 0), "default")
    const refusal = { address: "203.0.113.7", campaign: "default", reason: "budget_exhausted", budget: "day" } as const
    assert.deepStrictEqual(seen.take().latest, [refusal])
  })

  it("keeps the newest refusals of each campaign, whatever another one refuses, and a bounded number of many campaigns", () => {
    const seen = watch()
    seen.note("203.0.113.7", draining(), "quiet")
    for (let n = 0; n < 1_000; n++) seen.note(address(n), draining(), "busy")
    const of = (campaign: string) => (each: { readonly campaign: string }) => each.campaign === campaign
    const { latest } = seen.take()
    assert.deepStrictEqual([latest.filter(of("quiet")).length, latest.filter(of("busy")).length], [1, 20])
    for (let n = 0; n < 2_000; n++) seen.note(address(n), draining(), `campaign ${n % 100}`)
    const many = seen.take().latest
    assert.lengthOf(many, 400)
    assert.lengthOf(many.filter(of("campaign 7")), 4)
  })

  it("blocks an address and the networks of others until their time has passed", () => {
    const seen = watch()
    const block = (of: string, until: number): Block => ({ address: of, until, at: 0, by: "me" })
    assert.isFalse(seen.isBlocked("203.0.113.7"))
    seen.setBlocks([block("203.0.113.7", 10), block("8.8.8.0/24", 0)])
    const blocked = ["203.0.113.7", "203.0.113.8", "8.8.8.1", "8.8.9.1"].map(seen.isBlocked)
    assert.deepStrictEqual(blocked, [true, false, true, false])
    seen.expire(9)
    assert.isTrue(seen.isBlocked("203.0.113.7"))
    seen.expire(10)
    assert.deepStrictEqual(["203.0.113.7", "8.8.8.1"].map(seen.isBlocked), [false, true])
  })
})
