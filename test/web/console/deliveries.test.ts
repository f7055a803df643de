/** The deliveries of events on the console's page: what waits, what was given up and why, and how it is sent again. */
import { Effect } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { eventKeysOf } from "../../../src/events/keys.ts"
import { rules } from "../../../src/events/rules.ts"
import type { Deliveries } from "../../../src/operator/delivery-shapes.ts"
import { NO_CONTEXT } from "../../../src/store/rule.ts"
import { answerOf, redeliveredText, standingOf, testedText } from "../../../src/web/console/delivery-words.ts"
import { type Receiver, startReceiver } from "../../events/receiver.ts"
import { SIGNING_SECRET } from "../../harness/gate.ts"
import { eventually } from "../../harness/process.ts"
import type { RunningGate } from "./support.ts"
import { prepareVisits, visiting } from "./visit.ts"

prepareVisits()

const receivers: Array<Receiver> = []
afterEach(async () => {
  for (const each of receivers.splice(0)) await each.dispose()
})

const receiver = async (): Promise<Receiver> => {
  const started = await startReceiver()
  receivers.push(started)
  return started
}

/** Gives an event up, as after a day of attempts. */
const giveUp = ({ operator, store }: RunningGate, seq: number): Promise<void> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const now = yield* store.now
      const found = yield* operator.deliveries(undefined, "all", seq + 1, 1)
      const chain = found?.rows[0]?.event.ticketHash ?? ""
      const tried = { status: 503, error: "HTTP 503" }
      yield* store.run(rules.tick, {
        keys: eventKeysOf("b/c"),
        now: now + 3_600_000,
        context: NO_CONTEXT,
        call: { retentionMillis: 1e12, maxStored: 1_000, leaseMillis: 1, claim: 100 },
      })
      const attempt = (yield* operator.deliveries(undefined, "all", seq + 1, 1))?.rows[0]?.attempts ?? 0
      const call = { chain, seq, attempt, outcome: "failed" as const, at: now, ...tried }
      yield* store.run(rules.settle, { keys: eventKeysOf("b/c"), now, context: NO_CONTEXT, call })
    }),
  )

describe("the deliveries of events", () => {
  it(
    "are not there for a campaign that reports none",
    visiting(1, 1, async ({ signIn }) => {
      const tab = await signIn()
      await tab.getByRole("heading", { name: "Health" }).waitFor()
      expect(await tab.getByRole("heading", { name: "Deliveries of events" }).count()).toBe(0)
    }),
  )

  it("show what was delivered and what was given up, and send it again", async () => {
    const host = await receiver()
    const events = { Url: host.url, Secrets: [SIGNING_SECRET] }
    let refuses = false
    host.script = (_event, response) => {
      response.writeHead(refuses ? 503 : 204).end()
      return !refuses
    }
    await visiting(
      1,
      3,
      async ({ gate, signIn }) => {
        await eventually("all are delivered", () => host.taken.length === 4)
        refuses = true
        const waiting = await gate.ticket()
        expect(waiting).not.toBe("")
        await eventually("it is refused", () => host.received.length > 4)
        await giveUp(gate, 5)
        const tab = await signIn()
        const panel = tab.getByRole("region", { name: "Deliveries of events" })
        await panel.getByText("HTTP 503").waitFor()
        expect(await panel.getByText("Given up", { exact: true }).count()).toBeGreaterThan(0)
        expect(await panel.getByText(/The last was delivered \d+:\d\d ago\./).count()).toBe(1)
        await panel.getByRole("combobox").selectOption("failed")
        await eventually("only that is shown", async () => (await panel.getByRole("row").count()) === 2)
        refuses = false
        await panel.getByRole("button", { name: "Send again event 5" }).click()
        await eventually("it has arrived", () => host.taken.some(({ seq }) => seq === 5))
        await panel.getByText("No event was given up.").waitFor()
        await panel.getByRole("button", { name: "Send a test event" }).click()
        await tab.getByText(/took the test event: HTTP 204/).waitFor()
      },
      { events },
    )()
  }, 120_000)
})

const figures: Deliveries = {
  campaign: "default",
  reports: true,
  sends: true,
  rows: [],
  more: false,
  pending: 0,
  failed: 0,
  stored: 12,
  lost: 0,
}
const NOW = Date.UTC(2025, 10, 27, 12)

describe("the words about deliveries", () => {
  it("say in one sentence each what was delivered, what waits, and what is lost", () => {
    expect(standingOf(figures, NOW)).toBe("12 events are kept. None was delivered yet. None waits.")
    expect(standingOf({ ...figures, sends: false }, NOW)).toBe(
      "12 events are kept. None are sent: Events.Url isn’t set.",
    )
    const busy = {
      ...figures,
      lastDeliveredAt: NOW - 7_000,
      pending: 1_200,
      oldestAt: NOW - 150_000,
      failed: 2,
      lost: 3,
    }
    expect(standingOf(busy, NOW)).toBe(
      "12 events are kept. The last was delivered 0:07 ago. 1,200 wait to be delivered, the oldest for 2:30. 2 were given up. 3 were dropped before they were delivered, or because there were too many.",
    )
    expect(standingOf({ ...figures, stoppedUntil: NOW }, NOW)).toMatch(/The receiver wants none until Nov 27, 2025/)
  })

  it("say when an event was tried, and why it was not taken", () => {
    const event = { id: "e", type: "call.ended", campaign: "default", seq: 1, at: "", platform: "iqra" }
    expect(answerOf({ event, state: "unsent" })).toBe("–")
    expect(answerOf({ event, state: "pending" })).toBe("Not tried yet")
    expect(answerOf({ event, state: "delivered", at: NOW, attempts: 1, status: 204 })).toMatch(
      /^HTTP 204, Nov 27, 2025/,
    )
    const failed = { event, state: "failed" as const, at: NOW, attempts: 34, error: "ECONNREFUSED" }
    expect(answerOf(failed)).toMatch(/^ECONNREFUSED, .*, 34 attempts$/)
    expect(answerOf({ ...failed, state: "pending", due: NOW + 1_000 })).toMatch(/; next Nov 27, 2025/)
  })

  it("say what became of an order", () => {
    expect(redeliveredText({ type: "one", seq: 3 }, { queued: 1, result: "queued" })).toBe("Event 3 is sent again.")
    expect(redeliveredText({ type: "one", seq: 3 }, { queued: 0, result: "gone" })).toBe("Event 3 isn’t kept any more.")
    const all = { type: "failed" as const, from: 0, to: 1 }
    expect(redeliveredText(all, { queued: 2, result: "queued" })).toBe("2 events are sent again.")
    const event = { id: "e", type: "test", campaign: "default", seq: 0, at: "", platform: "iqra" }
    const tested = { event, to: "https://crm.example", signatures: 1, took: 12 }
    expect(testedText({ ...tested, status: 204 })).toBe(
      "https://crm.example took the test event: HTTP 204 after 12 ms.",
    )
    expect(testedText({ ...tested, error: "HTTP 401", status: 401 })).toBe(
      "https://crm.example did not take the test event: HTTP 401.",
    )
  })
})
