/** The outcomes of a session request, check by check. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { FifoQueue } from "../../src/FifoQueue.ts"
import { Gatekeeper, initiateWebSession } from "../../src/Gatekeeper.ts"
import { IpIntelFailed, noFacts } from "../../src/IpIntel.ts"
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
  keyIsLimited,
  platformRefuses,
  platformRefusesRequest,
  remaining,
  session,
  start,
  stateOf,
} from "../support/gate.ts"

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

describe("the address", () => {
  for (const [fact, setting] of [
    ["vpn", "BlockVpn"],
    ["proxy", "BlockProxy"],
    ["tor", "BlockTor"],
    ["datacenter", "BlockDatacenter"],
  ] as const) {
    gateTest(
      `blocks ${fact} when the setting says so, before any quota is taken`,
      { Security: { [setting]: true } },
      (world) =>
        Effect.gen(function* () {
          world.lookup = () => Effect.succeed({ ...noFacts, [fact]: true })
          expect(yield* ask()).toMatchObject({ _tag: "Blocked", reason: fact })
          expect(world.looked).toEqual([CALLER])
          expect(world.initiated).toEqual([])
          expect(yield* remaining()).toBe(20)
        }),
    )
    gateTest(`lets ${fact} through when the setting says so`, { Security: { [setting]: false } }, (world) =>
      Effect.gen(function* () {
        world.lookup = () => Effect.succeed({ ...noFacts, [fact]: true })
        expect((yield* ask())._tag).toBe("Started")
      }),
    )
  }

  gateTest("blocks VPN, proxy and Tor by default, and neither data centres nor relays", {}, (world) =>
    Effect.gen(function* () {
      const tags: Array<string> = []
      for (const fact of ["vpn", "proxy", "tor", "datacenter", "relay"] as const) {
        world.lookup = () => Effect.succeed({ ...noFacts, [fact]: true })
        tags.push((yield* ask())._tag)
      }
      expect(tags).toEqual(["Blocked", "Blocked", "Blocked", "Started", "Queued"])
    }),
  )

  gateTest("names Tor first when several facts are against an address", {}, (world) =>
    Effect.gen(function* () {
      world.lookup = () => Effect.succeed({ vpn: true, proxy: true, tor: true, datacenter: true, relay: false })
      expect(yield* ask()).toMatchObject({ reason: "tor" })
    }),
  )

  describe("with an unknown fact", () => {
    for (const [fact, setting] of [
      ["vpn", "BlockVpn"],
      ["proxy", "BlockProxy"],
      ["tor", "BlockTor"],
      ["datacenter", "BlockDatacenter"],
    ] as const) {
      for (const OnError of ["block", "allow"] as const) {
        gateTest(
          `is decided by OnError if that fact is blocked: ${fact}, ${OnError}`,
          { Security: { [setting]: true }, IpIntel: { OnError } },
          (world) =>
            Effect.gen(function* () {
              world.lookup = () => Effect.succeed({ ...noFacts, [fact]: null })
              const answer = yield* ask()
              if (OnError === "block") expect(answer).toMatchObject({ _tag: "Blocked", reason: "ip_check_failed" })
              else expect(answer._tag).toBe("Started")
            }),
        )
      }
      gateTest(
        `is let through if that fact is not blocked: ${fact}`,
        { Security: { [setting]: false }, IpIntel: { OnError: "block" } },
        (world) =>
          Effect.gen(function* () {
            world.lookup = () => Effect.succeed({ ...noFacts, [fact]: null })
            expect((yield* ask())._tag).toBe("Started")
          }),
      )
    }

    gateTest("is blocked for a known fact, even if others are unknown", { IpIntel: { OnError: "allow" } }, (world) =>
      Effect.gen(function* () {
        world.lookup = () => Effect.succeed({ vpn: null, proxy: true, tor: null, datacenter: null, relay: null })
        expect(yield* ask()).toMatchObject({ _tag: "Blocked", reason: "proxy" })
      }),
    )
  })

  gateTest(
    "is not looked up when nothing is blocked",
    { Security: { BlockVpn: false, BlockProxy: false, BlockTor: false, BlockDatacenter: false } },
    (world) =>
      Effect.gen(function* () {
        expect((yield* ask())._tag).toBe("Started")
        expect(world.looked).toEqual([])
      }),
  )

  const failed = new IpIntelFailed({ provider: "script", reason: "quota", message: "script answered HTTP 429" })
  gateTest("passes when the provider fails and OnError is allow", {}, (world) =>
    Effect.gen(function* () {
      world.lookup = () => Effect.fail(failed)
      expect((yield* ask())._tag).toBe("Started")
    }),
  )
  gateTest("is blocked when the provider fails and OnError is block", { IpIntel: { OnError: "block" } }, (world) =>
    Effect.gen(function* () {
      world.lookup = () => Effect.fail(failed)
      expect(yield* ask()).toMatchObject({ _tag: "Blocked", reason: "ip_check_failed" })
    }),
  )
})

describe("the budgets", () => {
  gateTest("of an hour refuse until the first request is an hour old", { Security: { RateLimitHourly: 2 } }, () =>
    Effect.gen(function* () {
      yield* begin()
      yield* TestClock.adjust("10 minutes")
      yield* enqueue()
      yield* TestClock.adjust("20 minutes")
      const refused = yield* ask()
      expect(refused).toMatchObject({ _tag: "RateLimited", limit: "hour", retryAfterSeconds: 30 * 60 })
      yield* TestClock.adjust("29 minutes")
      expect(yield* ask()).toMatchObject({ _tag: "RateLimited", retryAfterSeconds: 60 })
      yield* TestClock.adjust("1 minute")
      expect((yield* ask())._tag).toBe("Queued")
    }),
  )

  gateTest("of a day refuse until the first request is a day old", { Security: { RateLimitDaily: 1 } }, () =>
    Effect.gen(function* () {
      yield* begin()
      yield* TestClock.adjust("1 hour")
      expect(yield* ask()).toMatchObject({
        _tag: "RateLimited",
        limit: "day",
        retryAfterSeconds: 23 * 3600,
        limits: [
          { name: "hour", quota: 20, windowSeconds: 3600 },
          { name: "day", quota: 1, remaining: 0, windowSeconds: 86_400, resetSeconds: 23 * 3600 },
          { name: "concurrent", quota: 3, remaining: 2, windowSeconds: 0 },
        ],
      })
    }),
  )

  gateTest(
    "of concurrent calls are given back when the call ends or the place is given up",
    { Security: { RateLimitConcurrency: 1 } },
    () =>
      Effect.gen(function* () {
        const gate = yield* Gatekeeper
        yield* begin()
        expect(yield* ask()).toMatchObject({ _tag: "RateLimited", limit: "concurrent", retryAfterSeconds: 30 })
        const other = yield* enqueue(caller(1))
        expect(yield* ask(caller(1))).toMatchObject({ _tag: "RateLimited", limit: "concurrent" })
        yield* gate.leave(other)
        yield* hangUp("web-1")
        expect((yield* ask())._tag).toBe("Started")
        expect((yield* ask(caller(1)))._tag).toBe("Queued")
      }),
  )

  gateTest("count IPv6 callers by their /64, and others not at all", { Security: { RateLimitHourly: 1 } }, () =>
    Effect.gen(function* () {
      expect((yield* ask("2001:db8:1:2::1"))._tag).toBe("Started")
      expect((yield* ask("2001:db8:1:2:ffff::9"))._tag).toBe("RateLimited")
      expect((yield* ask("2001:db8:1:3::1"))._tag).toBe("Queued")
    }),
  )
})

describe("the platform", () => {
  gateTest(
    "refuses: the outcome says so, and slot and quota are given back",
    { Security: { RateLimitConcurrency: 1 } },
    (world) =>
      Effect.gen(function* () {
        world.initiate = () => Effect.fail(platformRefuses)
        const outcome = yield* ask()
        expect(outcome).toMatchObject({ _tag: "PlatformUnavailable", kind: "rejected" })
        expect(JSON.stringify(outcome)).not.toContain("the-platform-key")
        expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
        expect(yield* remaining()).toBe(20)
        world.initiate = (n) => Effect.succeed(session(n))
        expect((yield* ask())._tag).toBe("Started")
      }),
  )

  gateTest("refuses a caller's request: only that caller fails, and keeps being charged", {}, (world) =>
    Effect.gen(function* () {
      world.initiate = () => Effect.fail(platformRefusesRequest)
      const outcome = yield* ask(caller(1))
      expect(outcome).toMatchObject({ _tag: "PlatformUnavailable", kind: "refused" })
      expect(yield* figures()).toEqual({ leases: 0, waiting: 0, live: 0 })
      yield* TestClock.adjust("1 minute")
      expect(yield* remaining(caller(1))).toBe(19)
      world.initiate = (n) => Effect.succeed(session(n))
      expect((yield* ask(caller(2)))._tag).toBe("Started")
    }),
  )

  gateTest("limits the key's requests: the ticket keeps its place, and starts resume soon", {}, (world) =>
    Effect.gen(function* () {
      world.initiate = () => Effect.fail(keyIsLimited(60_000))
      const first = yield* enqueue(caller(1))
      const second = yield* enqueue(caller(2))
      world.connected.add(first).add(second)
      // not doubled: each time five seconds at most, until it is called again
      for (let n = 0; n < 5; n++) {
        yield* TestClock.adjust("4 seconds")
        expect(yield* stateOf(first)).toBe("waiting")
        yield* TestClock.adjust("2 seconds")
        expect(yield* stateOf(first)).toBe("called")
        expect(yield* start(first)).toMatchObject({ _tag: "NotYourTurn", code: "agent_busy", queuePosition: 1 })
      }
      world.initiate = (n) => Effect.succeed(session(n))
      yield* TestClock.adjust("6 seconds")
      expect((yield* start(first))._tag).toBe("Started")
      expect(yield* stateOf(second)).toBe("waiting")
    }),
  )

  gateTest("receives the group of the caller, for an immediate and for a later start", {}, (world) =>
    Effect.gen(function* () {
      yield* begin("8.8.8.7")
      const sameNetwork = yield* enqueue("8.8.8.200")
      const another = yield* enqueue("8.8.4.7")
      yield* hangUp("web-1")
      yield* start(sameNetwork)
      yield* hangUp("web-2")
      yield* start(another)
      const [first, second, third] = world.groups
      expect(second).toBe(first)
      expect(third).not.toBe(first)
      // it does not reveal the address
      expect(first).toMatch(/^[0-9a-z]{1,4}$/)
    }),
  )

  gateTest("is at capacity: the ticket keeps its place, and the campaign backs off and retries", {}, (world) =>
    Effect.gen(function* () {
      world.initiate = () => Effect.fail(atCapacity)
      const first = yield* enqueue(caller(1))
      const second = yield* enqueue(caller(2))
      world.connected.add(first).add(second)
      expect(world.initiated.length).toBe(1)
      yield* TestClock.adjust("1 second")
      expect(yield* stateOf(first)).toBe("waiting")
      yield* TestClock.adjust("2 seconds")
      expect(yield* stateOf(first)).toBe("called")
      // refused again: back to the head, with a longer backoff
      expect(yield* start(first)).toMatchObject({ _tag: "NotYourTurn", code: "agent_busy", queuePosition: 1 })
      yield* TestClock.adjust("3 seconds")
      expect(yield* stateOf(first)).toBe("waiting")
      yield* TestClock.adjust("2 seconds")
      expect(yield* stateOf(first)).toBe("called")
      world.initiate = (n) => Effect.succeed(session(n))
      expect((yield* start(first))._tag).toBe("Started")
      expect(yield* stateOf(second)).toBe("waiting")
      expect(yield* figures()).toMatchObject({ leases: 1, waiting: 1 })
    }),
  )

  gateTest(
    "at capacity is asked again at once when a session ends",
    { VoiceAiPlatform: { MaxConcurrency: 2 } },
    (world) =>
      Effect.gen(function* () {
        yield* begin()
        world.initiate = () => Effect.fail(atCapacity)
        const waiting = yield* enqueue(caller(1))
        yield* hangUp("conversation-1")
        expect(yield* stateOf(waiting)).toBe("called")
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
