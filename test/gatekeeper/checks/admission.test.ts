/** A session request starts a session, or gets a place in the queue. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { FifoQueue } from "../../../src/fifo-queue/FifoQueue.ts"
import { initiateWebSession } from "../../../src/gatekeeper/Gatekeeper.ts"
import {
  ask,
  atCapacity,
  begin,
  CALLER,
  caller,
  enqueue,
  eventsOf,
  figures,
  gateTest,
  hangUp,
  remaining,
  session,
  start,
  stateOf,
} from "../../support/gate.ts"

describe("a free slot", () => {
  gateTest("starts a session and returns its URL", {}, (world) =>
    Effect.gen(function* () {
      const started = yield* ask(CALLER, { regionId: "us", dynamicVariables: { name: "Ada" } })
      expect(started).toMatchObject({
        _tag: "Started",
        webSocketUrl: session(1).webSocketUrl,
        sessionId: "web-1",
        uniqueRequestId: expect.stringMatching(/^[A-Za-z0-9_-]{26}$/),
      })
      expect(world.initiated).toMatchObject([
        { campaign: "default", regionId: "us", transportType: 0, dynamicVariables: { name: "Ada" } },
      ])
      expect(yield* figures()).toEqual({ leases: 1, waiting: 0, live: 1 })
    }),
  )

  gateTest("gives every request its own ticket", { VoiceAiPlatform: { MaxConcurrency: 50 } }, () =>
    Effect.gen(function* () {
      const started = yield* Effect.forEach(Array.from({ length: 50 }), (_, n) => begin(caller(n)))
      expect(new Set(started.map(({ uniqueRequestId }) => uniqueRequestId)).size).toBe(50)
    }),
  )

  gateTest("answers the embedded operation with a WebSocket URL", {}, (world) =>
    Effect.gen(function* () {
      const url = yield* initiateWebSession(
        { WebCampaignId: "campaign", RegionId: "eu", DynamicVariables: { a: "b" } },
        { address: CALLER },
      )
      expect(url).toBe(session(1).webSocketUrl)
      expect(world.initiated[0]?.dynamicVariables).toEqual({ a: "b" })
      const next = yield* Effect.flip(initiateWebSession({}, { address: CALLER }))
      expect(next._tag).toBe("Queued")
    }),
  )
})

describe("no free slot", () => {
  gateTest("queues in order, with an estimated wait once a call was measured", {}, (world) =>
    Effect.gen(function* () {
      yield* begin()
      const first = yield* ask(caller(1))
      expect(first).toMatchObject({ _tag: "Queued", queuePosition: 1, queueLength: 1, estimatedWaitSeconds: null })
      yield* TestClock.adjust("20 seconds")
      expect(yield* hangUp("web-1")).toBe(true)
      const called = "uniqueRequestId" in first ? first.uniqueRequestId : ""
      expect(eventsOf(world, called)).toMatchObject([{ type: "start_call" }])
      expect(yield* start(called)).toMatchObject({ _tag: "Started", sessionId: "web-2" })
      for (const [n, position] of [1, 2, 3].entries()) {
        expect(yield* ask(caller(10 + n))).toMatchObject({
          _tag: "Queued",
          queuePosition: position,
          queueLength: position,
          estimatedWaitSeconds: position * 20,
        })
      }
    }),
  )

  gateTest("refuses when the queue is full, and gives the quota back", { Queue: { MaxLength: 1 } }, () =>
    Effect.gen(function* () {
      yield* begin()
      yield* enqueue(caller(1))
      expect(yield* ask(caller(2))).toMatchObject({ _tag: "QueueFull", retryAfterSeconds: 10 })
      expect(yield* remaining(caller(2))).toBe(20)
      expect(yield* remaining(caller(1))).toBe(19)
    }),
  )

  gateTest(
    "lets no new request overtake a waiting one, although a slot is free",
    { VoiceAiPlatform: { MaxConcurrency: 2 } },
    (world) =>
      Effect.gen(function* () {
        world.initiate = () => Effect.fail(atCapacity)
        const first = yield* enqueue(caller(1))
        world.initiate = (n) => Effect.succeed(session(n))
        const second = yield* ask(caller(2))
        expect(second).toMatchObject({ _tag: "Queued", queuePosition: 2 })
        expect(yield* stateOf(first)).toBe("waiting")
      }),
  )
})

describe("several campaigns", () => {
  const two = {
    VoiceAiPlatform: {
      Campaigns: {
        sales: { WebCampaignId: "sales-id", DefaultRegionId: "us", AllowedRegionIds: ["us"], MaxConcurrency: 1 },
      },
    },
  }
  gateTest("have separate slots, queues and positions", two, (world) =>
    Effect.gen(function* () {
      yield* begin(caller(1))
      const waits = yield* enqueue(caller(2))
      const sales = yield* begin(caller(3), { campaignId: "sales" })
      expect(world.initiated.map(({ campaign, regionId }) => [campaign, regionId])).toEqual([
        ["default", "eu"],
        ["sales", "us"],
      ])
      expect(yield* ask(caller(4), { campaignId: "sales-id" })).toMatchObject({ _tag: "Queued", queuePosition: 1 })
      yield* hangUp(sales.sessionId)
      expect(yield* stateOf(waits)).toBe("waiting")
      yield* hangUp("web-1")
      expect(yield* stateOf(waits)).toBe("called")
    }),
  )

  gateTest("report that an end freed a slot, although another campaign got it earlier at another gate", two, () =>
    Effect.gen(function* () {
      const sales = yield* begin(caller(1), { campaignId: "sales" })
      const elsewhere = { campaign: "business/campaign", slots: 1, instance: "" }
      yield* FifoQueue.use((queue) => queue.end(elsewhere, [sales.sessionId]))
      expect(yield* hangUp(sales.sessionId)).toBe(true)
      expect(yield* hangUp(sales.sessionId)).toBe(false)
    }),
  )
})
