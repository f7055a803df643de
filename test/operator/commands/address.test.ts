/** What the commands about addresses and history print of a gate's answers. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { blockAddress, liftBlock, listAddresses, showHistory } from "../../../src/operator/commands/address.ts"
import type { Blocked } from "../../../src/operator/shapes.ts"

const AT = Date.parse("2026-11-27T10:00:00.000Z")
const squeezed = (lines: ReadonlyArray<string>): ReadonlyArray<string> => lines.map((line) => line.replace(/ +/g, " "))

/** A gate that notes what it is asked to block. */
const gate = (result: Blocked["result"] = "done") => {
  const asked: Array<readonly [string, number | undefined]> = []
  const block = (address: string, until: number | undefined) =>
    Effect.sync(() => {
      asked.push([address, until])
      return { result }
    })
  return { asked, block }
}

describe("the commands about addresses", () => {
  it.effect("list who asks most and who is blocked, and say when there is nobody", () =>
    Effect.gen(function* () {
      const asking = Effect.succeed({
        addresses: [{ address: "203.0.113.7", requests: 12, refused: 3 }],
        blocks: [{ address: "203.0.113.7", until: AT, at: AT - 1_000, by: "192.0.2.1\u001b[2J" }],
      })
      assert.deepStrictEqual(squeezed((yield* listAddresses({ asking })).lines), [
        "ADDRESS REQUESTS REFUSED",
        "203.0.113.7 12 3 blocked",
        "",
        "BLOCKED UNTIL SINCE BY",
        "203.0.113.7 2026-11-27T10:00:00.000Z 2026-11-27T09:59:59.000Z 192.0.2.1?[2J",
      ])
      const none = yield* listAddresses({ asking: Effect.succeed({ addresses: [], blocks: [] }) })
      assert.deepStrictEqual(none.lines, ["No requests in the last hour.", "", "No address is blocked."])
    }),
  )

  it.effect("block for a time or for good, lift a block, and fail only when as many are blocked as may be", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(AT)
      const { asked, block } = gate()
      const hour = yield* blockAddress({ block }, "203.0.113.0/24", 3_600_000)
      assert.deepStrictEqual(hour.lines, ["203.0.113.0/24 is blocked at all campaigns until 2026-11-27T11:00:00.000Z."])
      const forever = yield* blockAddress({ block }, "2001:db8::1", 0)
      assert.deepStrictEqual(forever.lines, ["2001:db8::1 is blocked at all campaigns until the block is lifted."])
      assert.deepStrictEqual((yield* liftBlock({ block }, "2001:db8::1")).lines, [
        "The block of 2001:db8::1 is lifted.",
      ])
      assert.deepStrictEqual(asked, [
        ["203.0.113.0/24", AT + 3_600_000],
        ["2001:db8::1", 0],
        ["2001:db8::1", undefined],
      ])
      const already = yield* liftBlock(gate("already"), "192.0.2.1")
      assert.deepStrictEqual([already.ok, already.lines], [true, ["It was not blocked."]])
      const full = yield* blockAddress(gate("full"), "192.0.2.1", 0)
      assert.isFalse(full.ok)
      assert.match(full.lines[0] ?? "", /^Nothing was blocked/)
    }),
  )

  it.effect("show the history of a campaign, a line for each step", () =>
    Effect.gen(function* () {
      const counts = {
        "max.waiting": 4,
        "max.held": 2,
        "wait.60": 3,
        "over.ended": 2,
        "over.left": 1,
        "refused.vpn": 5,
      }
      const history = (campaign: string, range: "hour" | "day" | "week") =>
        Effect.succeed({
          ...{ campaign, range, now: AT, stepMillis: 60_000, from: AT - 3_540_000, to: AT },
          buckets: range === "hour" ? [{ at: AT, counts }] : [],
        })
      assert.deepStrictEqual(squeezed((yield* showHistory({ history }, "default", "hour")).lines), [
        "FROM WAITING (MOST) SLOTS (MOST) CALLED ENDED REFUSED",
        "2026-11-27T10:00:00.000Z 4 2 3 3 5",
      ])
      assert.deepStrictEqual((yield* showHistory({ history }, "default", "week")).lines, [
        "No instance has reported in this time.",
      ])
    }),
  )
})
