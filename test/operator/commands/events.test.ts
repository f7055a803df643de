/** What the commands about events print. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { listEvents, redeliverEvent, redeliverFailed } from "../../../src/operator/commands/events.ts"
import { type Deliveries, type Redelivered, Redelivery } from "../../../src/operator/delivery-shapes.ts"

const event = {
  id: "evt_2aae6c35c94fcfb4_3",
  type: "call.ended",
  campaign: "default",
  seq: 3,
  at: "2026-11-27T10:15:02.114Z",
  platform: "iqra",
  ticketHash: "2aae6c35c94fcfb4",
} as const

const page: Deliveries = {
  campaign: "default",
  reports: true,
  sends: true,
  oldestAt: 1_700_000_000_000,
  rows: [
    { event, state: "failed", attempts: 34, at: 0, status: 500, error: "HTTP 500" },
    {
      event: { ...event, seq: 2 },
      state: "pending",
      attempts: 1,
      at: 0,
      error: "ECON\u001b[2J",
      due: 1_800_000_000_000,
    },
  ],
  more: true,
  pending: 1,
  failed: 1,
  stored: 9,
  lost: 0,
}

const asked: Array<Redelivery> = []
const client = (result: Redelivered["result"]) => ({
  deliveries: () => Effect.succeed(page),
  redeliver: (_campaign: string, of: Redelivery) =>
    Effect.sync(() => {
      asked.push(of)
      return { queued: 4, result }
    }),
})

describe("a redelivery", () => {
  it("is of whole numbers of milliseconds that are times", () => {
    const accepts = (from: number, to: number): boolean =>
      Result.isSuccess(Schema.decodeUnknownResult(Redelivery)({ type: "failed", from, to }))
    assert.isTrue(accepts(0, 8_640_000_000_000_000))
    for (const wrong of [-1, 0.5, 8_640_000_000_000_001, 1e300]) {
      assert.isFalse(accepts(wrong, 1), String(wrong))
      assert.isFalse(accepts(1, wrong), String(wrong))
    }
  })
})

describe("the commands about events", () => {
  it.effect("list what became of each event, without anything that commands the terminal", () =>
    Effect.gen(function* () {
      const { lines } = yield* listEvents(client("queued"), "default", "all", 0)
      assert.deepStrictEqual(
        lines.map((line) => line.replace(/ +/g, " ")),
        [
          "9 events are kept: 1 wait to be delivered, 1 were given up; 0 were lost.",
          "The oldest that waits is of 2023-11-14T22:13:20.000Z.",
          "SEQ EVENT TICKET AT STATE TRIED LAST ANSWER NEXT",
          "3 call.ended 2aae6c35c9 2026-11-27T10:15:02.114Z failed 34 HTTP 500 -",
          "2 call.ended 2aae6c35c9 2026-11-27T10:15:02.114Z pending 1 ECON?[2J 2027-01-15T08:00:00.000Z",
          "There are older ones: --before 2",
        ],
      )
    }),
  )

  it.effect("send one again, and say when it is not kept", () =>
    Effect.gen(function* () {
      assert.deepInclude(yield* redeliverEvent(client("queued"), "default", 3), {
        ok: true,
        lines: ["Event 3 is sent again."],
      })
      assert.isFalse((yield* redeliverEvent(client("gone"), "default", 3)).ok)
    }),
  )

  it.effect("send all again only when told so", () =>
    Effect.gen(function* () {
      asked.length = 0
      const refused = yield* Effect.flip(redeliverFailed(client("queued"), "default", 0, false))
      assert.strictEqual(refused.message, "1 events were given up. To send them again, add --yes.")
      assert.deepStrictEqual(asked, [])
      const { lines } = yield* redeliverFailed(client("queued"), "default", 5, true)
      assert.deepStrictEqual(lines, ["4 events are sent again."])
      assert.deepInclude(asked[0], { type: "failed", from: 5 })
    }),
  )
})
