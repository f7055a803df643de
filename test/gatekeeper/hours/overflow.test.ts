/** Who would wait long, or is not taken, is offered something else. */
import { assert, describe, expect, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { TestClock } from "effect/testing"
import { OffersToWaiting } from "../../../src/gatekeeper/background/offers-to-waiting.ts"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { offered, offerTaken } from "../../../src/gatekeeper/metrics.ts"
import { ask, atCapacity, begin, caller, enqueue, eventsOf, type Given, gateTest, hangUp } from "../../support/gate.ts"

const CALL = { kind: "number", label: "Call us", target: "tel:+4930123456" }
const SALES = { kind: "campaign", label: "Ask sales", target: "sales" }

const given = (more: object = {}, sales: object = {}): Given => ({
  VoiceAiPlatform: {
    Overflow: { AfterSeconds: 60, Offers: ["Call us tel:+4930123456", "Ask sales campaign:sales"] },
    Campaigns: { sales: { WebCampaignId: "campaign-2", MaxConcurrency: 1, ...sales } },
    ...more,
  },
  Queue: { MaxLength: 2 },
  Security: { RateLimitConcurrency: 0 },
})

const stateIn = (ticket: string) => Gatekeeper.use((gate) => gate.status(ticket))
const countOf = (counter: ReturnType<typeof offered>) => Effect.map(Metric.value(counter), ({ count }) => count)

/** Calls take so many seconds on average. */
const measured = Effect.fnUntraced(function* (seconds: number) {
  const { sessionId } = yield* begin()
  yield* TestClock.adjust(`${seconds} seconds`)
  yield* hangUp(sessionId)
})

describe("offers", () => {
  gateTest("are in the answer to a caller whose expected wait is long, and not before", given(), () =>
    Effect.gen(function* () {
      yield* measured(45)
      yield* begin()
      assert.notProperty(yield* ask(caller(1)), "offers")
      const before = yield* countOf(offered("default", "waiting"))
      expect(yield* ask(caller(2))).toMatchObject({ estimatedWaitSeconds: 90, offers: [CALL, SALES] })
      assert.strictEqual((yield* countOf(offered("default", "waiting"))) - before, 1)
    }),
  )

  gateTest("are in the answer to a caller whose start came back to the queue", given({ MaxConcurrency: 2 }), (world) =>
    Effect.gen(function* () {
      yield* begin(caller(9))
      yield* measured(90)
      const before = yield* countOf(offered("default", "waiting"))
      world.initiate = () => Effect.fail(atCapacity)
      expect(yield* ask(caller(1))).toMatchObject({ _tag: "Queued", estimatedWaitSeconds: 90, offers: [CALL, SALES] })
      assert.strictEqual((yield* countOf(offered("default", "waiting"))) - before, 1)
    }),
  )

  gateTest(
    "are in the state, in the answer to a repeated request, and pushed once when the wait has become long",
    given(),
    (world) =>
      Effect.gen(function* () {
        yield* begin()
        const ticket = yield* enqueue(caller(1))
        world.connected.add(ticket)
        yield* TestClock.adjust("58 seconds")
        assert.notProperty(yield* stateIn(ticket), "offers")
        assert.deepStrictEqual(
          eventsOf(world, ticket).filter(({ type }) => type === "offer"),
          [],
        )
        yield* TestClock.adjust("4 minutes")
        assert.deepStrictEqual(
          eventsOf(world, ticket).filter(({ type }) => type === "offer"),
          [{ type: "offer", offers: [CALL, SALES] }] as never,
        )
        expect(yield* stateIn(ticket)).toMatchObject({ state: "waiting", offers: [CALL, SALES] })
        expect(yield* ask(caller(1), { uniqueRequestId: ticket })).toMatchObject({ offers: [CALL, SALES] })
      }),
  )

  it("are due once for each connected ticket, when its page is told of a long wait", () => {
    const offers = new OffersToWaiting(60)
    const position = (estimatedWaitSeconds: number) =>
      new Map([["a", { type: "position" as const, position: 1, queueLength: 1, estimatedWaitSeconds }]])
    const entry = { ticket: "a", state: "waiting" as const, position: 1, startBefore: 0, lease: "", accepted: 1_000 }
    offers.answered([entry], position(60))
    assert.deepStrictEqual(offers.due(new Set(["a"]), 2_000), [])
    offers.answered([], position(61))
    assert.deepStrictEqual(offers.due(new Set(["a"]), 2_000), ["a"])
    // nothing could be offered
    assert.deepStrictEqual(offers.due(new Set(["a"]), 2_000), ["a"])
    offers.told(["a"])
    offers.answered([entry], position(90))
    assert.deepStrictEqual(offers.due(new Set(["a"]), 90_000), [])
    // another connection of the same ticket
    assert.deepStrictEqual(offers.due(new Set(), 90_000), [])
    offers.answered([entry], new Map())
    assert.deepStrictEqual(offers.due(new Set(["a"]), 90_000), ["a"])
    offers.answered([{ ...entry, state: "called" }], new Map())
    assert.deepStrictEqual(offers.due(new Set(["a"]), 90_000), [])
    // its start has failed
    offers.answered([entry], new Map())
    assert.deepStrictEqual(offers.due(new Set(["a"]), 90_000), ["a"])
    offers.told(["a"])
    offers.answered([{ ...entry, state: "called" }], new Map())
    offers.answered([entry], position(90))
    assert.deepStrictEqual(offers.due(new Set(["a"]), 95_000), [])
  })

  gateTest(
    "are in the refusal of a full queue, and of a campaign that is closed",
    given({ Hours: { Zone: "UTC", Open: "Fri 07:00-08:10" } }, { Hours: { Open: "always" } }),
    () =>
      Effect.gen(function* () {
        yield* begin()
        yield* enqueue(caller(1))
        yield* enqueue(caller(2))
        expect(yield* ask(caller(3))).toMatchObject({ _tag: "QueueFull", offers: [CALL, SALES] })
        yield* TestClock.adjust("15 minutes")
        expect(yield* ask(caller(3))).toMatchObject({ _tag: "Closed", offers: [CALL, SALES] })
      }),
  )

  const budgets = (...all: ReadonlyArray<object>) =>
    given({
      Budgets: all.map((budget) => ({ Unit: "minutes", Per: "day", Cap: 1, ...budget })),
    })
  const refusedWithOffers = { _tag: "BudgetExhausted", offers: [CALL, SALES] }

  for (const [whose, Of] of [
    ["the campaign", "campaign"],
    ["a caller", "caller"],
  ] as const) {
    gateTest(`are in the refusal because a budget of ${whose} is used up, each time`, budgets({ Name: "b", Of }), () =>
      Effect.gen(function* () {
        const before = yield* countOf(offered("default", "budget_exhausted"))
        const { sessionId } = yield* begin(caller(1))
        yield* TestClock.adjust("45 seconds")
        yield* hangUp(sessionId)
        expect(yield* ask(caller(1))).toMatchObject(refusedWithOffers)
        // from memory
        expect(yield* ask(caller(1))).toMatchObject(refusedWithOffers)
        assert.strictEqual((yield* countOf(offered("default", "budget_exhausted"))) - before, 2)
      }),
    )
  }

  gateTest(
    "are in the refusal of a caller whose turn comes when nothing is left",
    budgets({ Name: "b", Of: "campaign", Cap: 1.5 }),
    (world) =>
      Effect.gen(function* () {
        const { sessionId } = yield* begin(caller(1))
        const ticket = yield* enqueue(caller(2))
        world.connected.add(ticket)
        yield* TestClock.adjust("75 seconds")
        yield* hangUp(sessionId)
        expect(yield* Effect.flip(Gatekeeper.use((gate) => gate.start(ticket)))).toMatchObject(refusedWithOffers)
      }),
  )

  gateTest(
    "do not lead to a campaign that is closed, or to the one that offers it",
    given({ Hours: { Zone: "UTC", Open: "Mon 07:00-09:00" } }),
    () =>
      Effect.gen(function* () {
        expect(yield* ask()).toMatchObject({ _tag: "Closed", offers: [CALL] })
        expect(yield* ask(caller(1), { campaignId: "sales" })).toMatchObject({ _tag: "Closed", offers: [CALL] })
      }),
  )

  gateTest(
    "do not lead to a campaign whose account's budget is used up too",
    given(
      {
        Account: { Name: "shop", MaxConcurrency: 2 },
        Budgets: [{ Name: "all", Of: "account", Unit: "minutes", Per: "day", Cap: 1 }],
      },
      { Account: { Name: "shop" } },
    ),
    () =>
      Effect.gen(function* () {
        const { sessionId } = yield* begin(caller(1))
        yield* TestClock.adjust("45 seconds")
        yield* hangUp(sessionId)
        // until the balances have been read
        yield* TestClock.adjust("16 seconds")
        expect(yield* ask(caller(1))).toMatchObject({ _tag: "BudgetExhausted", offers: [CALL] })
      }),
  )

  gateTest("that are taken are counted once, of a ticket that waits", given(), () =>
    Effect.gen(function* () {
      yield* begin()
      const ticket = yield* enqueue(caller(1))
      const leave = (id: string) => Gatekeeper.use((gate) => gate.leave(id, "campaign"))
      const before = yield* countOf(offerTaken("default", "campaign"))
      yield* leave(ticket)
      yield* leave(ticket)
      yield* leave(`${"x".repeat(22)}${ticket.slice(-4)}`)
      assert.strictEqual((yield* countOf(offerTaken("default", "campaign"))) - before, 1)
    }),
  )
})
