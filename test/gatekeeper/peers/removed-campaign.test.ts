/** A campaign that is removed from the settings while tickets wait and calls run. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { campaignBook } from "../../../src/budgets/keys.ts"
import { rules } from "../../../src/budgets/rules.ts"
import { RETENTION_MILLIS } from "../../../src/fifo-queue/rules/shared/line.ts"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { UNSERVED_MILLIS } from "../../../src/gatekeeper/peers/drain-removed.ts"
import { MEMBERSHIP_MILLIS } from "../../../src/gatekeeper/peers/Membership.ts"
import { Operator } from "../../../src/operator/Operator.ts"
import { makeFakeRetell } from "../../../src/platform-api/retell/fake.ts"
import { StoreUnavailable } from "../../../src/protocol/refusals.ts"
import { NO_CONTEXT } from "../../../src/store/rule.ts"
import type { Store } from "../../../src/store/Store.ts"
import { ask, BEGIN, begin, caller, enqueue, eventsOf, hangUp, remaining, start, stateOf } from "../../support/gate.ts"
import { startGate } from "../../support/gates.ts"
import { removedUnder, SALES, status, test, without, withSales } from "./removed-campaign.ts"

/** The time after which no gate serves the campaign and another gate has noticed. */
const UNTIL_REMOVED = UNSERVED_MILLIS + 2 * MEMBERSHIP_MILLIS

const attach = (ticket: string) => Gatekeeper.use((gate) => gate.attach(ticket))
const leave = (ticket: string) => Gatekeeper.use((gate) => gate.leave(ticket))

describe("a removed campaign", () => {
  test("still accepts webhooks, which free their slots", (bench) =>
    Effect.gen(function* () {
      const { call, gate } = yield* removedUnder(bench)
      expect(yield* gate.on(hangUp(call.sessionId))).toBe(true)
      expect(yield* gate.on(hangUp(call.sessionId))).toBe(false)
      expect(yield* gate.on(stateOf(call.uniqueRequestId))).toBe("ended")
    }))

  test("keeps its tickets until no gate has served it for a minute", (bench) =>
    Effect.gen(function* () {
      const { gate, line } = yield* removedUnder(bench)
      const [first = "", second = ""] = line
      bench.world.connected.add(first)
      yield* TestClock.adjust(UNSERVED_MILLIS - 2 * MEMBERSHIP_MILLIS)
      expect(yield* gate.on(status(first))).toMatchObject({ state: "waiting", queuePosition: 1, queueLength: 2 })
      expect(yield* gate.on(attach(second))).toMatchObject({ type: "position", position: 2 })
      expect(eventsOf(bench.world, first).at(-1)).toMatchObject({ type: "position", position: 1 })
      expect(yield* gate.on(start(first))).toMatchObject({ _tag: "NotYourTurn", code: "not_your_turn" })
    }))

  test("ends waiting tickets with the reason, and gives their quota back, when no gate has served it for a minute", (bench) =>
    Effect.gen(function* () {
      const { gate, line } = yield* removedUnder(bench)
      yield* TestClock.adjust(UNTIL_REMOVED)
      for (const [n, ticket] of line.entries()) {
        expect(eventsOf(bench.world, ticket)).toEqual([
          { type: "ended", reason: "removed", message: "You were removed from the queue." },
        ])
        expect(yield* gate.on(status(ticket))).toEqual({ uniqueRequestId: ticket, state: "removed" })
        expect(yield* gate.on(start(ticket))).toMatchObject({ _tag: "TicketOver", state: "removed" })
        expect(yield* gate.on(remaining(caller(2 + n)))).toBe(20)
      }
      expect(gate.warnings.filter((line) => line.includes("sales (business/sales-1)"))).toEqual([
        "Campaign sales (business/sales-1) is no longer in any gate's settings. Waiting tickets ended by this instance: 2. " +
          "Calls still running: 1.",
      ])
    }))

  test("is not drained by a gate that recovers from a common outage later than the gate that serves it", ({
    start,
    store,
    world,
  }) =>
    Effect.gen(function* () {
      const away = { theirs: false, others: false }
      const path = (which: keyof typeof away): Store["Service"] => ({
        ...store,
        run: (...asked) =>
          Effect.suspend(() =>
            away[which] ? Effect.fail(new StoreUnavailable({ message: "away" })) : store.run(...asked),
          ),
      })
      const theirs = yield* startGate(world, path("theirs"), withSales)
      yield* startGate(world, path("others"), without)
      yield* theirs.on(begin(caller(1), SALES))
      const waits = yield* theirs.on(enqueue(caller(2), SALES))
      yield* TestClock.adjust(10_000)
      away.theirs = true
      away.others = true
      yield* TestClock.adjust(UNSERVED_MILLIS + 5_000)
      away.others = false
      yield* TestClock.adjust(3_000)
      away.theirs = false
      yield* TestClock.adjust(10_000)
      expect(yield* theirs.on(stateOf(waits))).toBe("waiting")
      expect(yield* (yield* start(without)).on(stateOf(waits))).toBe("waiting")
    }))

  test("informs a connected caller although the message was lost", (bench) =>
    Effect.gen(function* () {
      const { line } = yield* removedUnder(bench)
      const [ticket = ""] = line
      yield* TestClock.adjust(UNTIL_REMOVED)
      bench.world.pushed.length = 0
      bench.world.connected.add(ticket)
      yield* TestClock.adjust("2 seconds")
      expect(eventsOf(bench.world, ticket)).toMatchObject([{ type: "ended", reason: "removed" }])
    }))

  test("admits no new requests", (bench) =>
    Effect.gen(function* () {
      const { gate } = yield* removedUnder(bench)
      expect(yield* gate.on(ask(caller(9), SALES))).toMatchObject({ _tag: "InvalidRequest", code: "unknown_campaign" })
    }))

  test("ends called tickets without charging a missed turn", (bench) =>
    Effect.gen(function* () {
      const old = yield* bench.start(withSales)
      const call = yield* old.on(begin(caller(1), SALES))
      const ticket = yield* old.on(enqueue(caller(2), SALES))
      yield* old.on(hangUp(call.sessionId))
      expect(yield* old.on(stateOf(ticket))).toBe("called")
      yield* old.stop
      const gate = yield* bench.start(without)
      yield* TestClock.adjust(UNTIL_REMOVED)
      expect(yield* gate.on(stateOf(ticket))).toBe("removed")
      expect(yield* gate.on(remaining(caller(2)))).toBe(20)
      // its slot is free
      yield* gate.stop
      expect((yield* (yield* bench.start(withSales)).on(ask(caller(3), SALES)))._tag).toBe("Started")
    }))

  test("lets a call run until its webhook, long after its queue is empty", (bench) =>
    Effect.gen(function* () {
      const { call, gate } = yield* removedUnder(bench)
      yield* TestClock.adjust(UNTIL_REMOVED + RETENTION_MILLIS)
      expect(yield* gate.on(stateOf(call.uniqueRequestId))).toBe("live")
      expect(yield* gate.on(hangUp(call.sessionId))).toBe(true)
    }))

  for (const [where, account] of [
    ["of an account", { Account: { Name: "agency" } }],
    ["without an account", {}],
  ] as const) {
    test(`of a vendor, ${where}, accepts the vendor's webhooks, which free its slots`, (bench) =>
      Effect.gen(function* () {
        const { settings } = makeFakeRetell(() => BEGIN)
        const { call, gate } = yield* removedUnder(bench, 0, {
          VoiceAiPlatform: { Campaigns: { sales: { ...settings, ...account } } },
        })
        bench.world.webhook = { _tag: "ended", sessions: [[call.sessionId]], campaigns: ["default"] }
        const reported = (platform: string) =>
          gate.on(Gatekeeper.use((each) => each.vendorWebhook(platform, { headers: {}, rawBody: "{}" })))
        expect(yield* reported("vapi")).toEqual({ _tag: "accepted", released: false, because: "unknown_session" })
        expect(yield* reported("retell")).toEqual({ _tag: "accepted", released: true })
        expect(yield* gate.on(stateOf(call.uniqueRequestId))).toBe("ended")
      }))
  }

  test("reclaims the slot of a call that reaches the maximum length", (bench) =>
    Effect.gen(function* () {
      const old = yield* bench.start({ ...withSales, Queue: { MaxCallMinutes: 3 } })
      const call = yield* old.on(begin(caller(1), SALES))
      yield* old.stop
      const gate = yield* bench.start(without)
      yield* TestClock.adjust("3 minutes")
      expect(yield* gate.on(stateOf(call.uniqueRequestId))).toBe("live")
      yield* TestClock.adjust("3 seconds")
      expect(yield* gate.on(stateOf(call.uniqueRequestId))).toBe("reclaimed")
      expect(yield* gate.on(hangUp(call.sessionId))).toBe(false)
    }))

  test("has the right number of slots when it is configured again", (bench) =>
    Effect.gen(function* () {
      const { call, gate } = yield* removedUnder(bench)
      yield* TestClock.adjust(UNTIL_REMOVED)
      const back = yield* bench.start(withSales)
      // the call that ran on holds the only slot
      const ticket = yield* back.on(enqueue(caller(5), SALES))
      expect(yield* gate.on(hangUp(call.sessionId))).toBe(true)
      yield* TestClock.adjust("1 second")
      expect(yield* back.on(stateOf(ticket))).toBe("called")
      expect((yield* back.on(start(ticket)))._tag).toBe("Started")
      yield* back.on(hangUp("web-2"))
      expect((yield* back.on(ask(caller(6), SALES)))._tag).toBe("Started")
    }))

  test("is shown to the operator until nothing of it is left, and is then forgotten", (bench) =>
    Effect.gen(function* () {
      const { call, gate, line } = yield* removedUnder(bench)
      const shown = Effect.map(
        gate.on(
          Operator.use((operator) => operator.view(undefined, { firstSlot: 0, slots: 1, firstPlace: 0, places: 1 }, 0)),
        ),
        (view) => view?.health.find(({ name }) => name === "Campaigns")?.detail,
      )
      expect(yield* shown).toBe("Not in this instance's settings: sales (business/sales-1, slots 1).")
      yield* gate.on(hangUp(call.sessionId))
      yield* TestClock.adjust(UNTIL_REMOVED + RETENTION_MILLIS + 4 * MEMBERSHIP_MILLIS)
      expect((yield* Effect.flip(gate.on(status(line[0] ?? ""))))._tag).toBe("TicketUnknown")
      expect(yield* shown).toBeUndefined()
    }))

  test("lets waiting callers leave", (bench) =>
    Effect.gen(function* () {
      const { gate, line } = yield* removedUnder(bench)
      const [ticket = ""] = line
      yield* gate.on(leave(ticket))
      expect(yield* gate.on(stateOf(ticket))).toBe("left")
      expect(yield* gate.on(remaining(caller(2)))).toBe(19)
    }))

  test("ends more tickets than one step can", (bench) =>
    Effect.gen(function* () {
      const { gate, line } = yield* removedUnder(bench, 450)
      yield* TestClock.adjust(UNTIL_REMOVED)
      const states = new Set<string>()
      for (const ticket of line) states.add(yield* gate.on(stateOf(ticket)))
      expect([...states]).toEqual(["removed"])
    }))

  test("has its running calls counted on in its budgets, and what passes a cap is counted and logged", ({
    start,
    store,
    world,
  }) =>
    Effect.gen(function* () {
      const given = {
        VoiceAiPlatform: {
          Campaigns: {
            sales: {
              ...{ WebCampaignId: "sales-1", MaxConcurrency: 2 },
              Budgets: [{ Name: "hour", Of: "campaign", Unit: "minutes", Per: "hour", Cap: 4 }],
            },
          },
        },
      }
      const settledAndHeld = Effect.gen(function* () {
        const call = { windows: [{ name: "hour", from: BEGIN }] }
        const asked = { keys: campaignBook("business/sales-1"), now: yield* store.now, context: NO_CONTEXT, call }
        const { standings } = yield* store.run(rules.balance, asked)
        return [standings[0]?.settled, standings[0]?.held]
      })
      const old = yield* start(given)
      const call = yield* old.on(begin(caller(1), SALES))
      yield* old.stop
      const gate = yield* start(without)
      yield* TestClock.adjust(UNTIL_REMOVED)
      // the minutes that have passed, and the next one
      const [, held = 0] = yield* settledAndHeld
      expect(held).toBeGreaterThanOrEqual(120)
      yield* TestClock.adjust("4 minutes")
      expect(yield* settledAndHeld).toEqual([0, 240])
      expect(world.endings).toEqual([])
      yield* gate.on(hangUp(call.sessionId))
      const [settled = 0, left] = yield* settledAndHeld
      expect(left).toBe(0)
      expect(settled).toBeGreaterThan(300)
      expect(gate.warnings.filter((line) => line.includes("removed from the settings"))).toEqual([
        `A call of a campaign that was removed from the settings has used ${(settled - 240) / 60} minutes more than its budget hour had left.`,
      ])
    }))
})
