/** What others ask for does not use up what the holder of a ticket may ask: at the same address, and in the same network. */

import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import * as TicketLimits from "../../../src/http/requests/ticket-limits.ts"
import { RESERVED_PER_MINUTE } from "../../../src/http/requests/ticket-limits.ts"
import { settingsFrom } from "../../../src/settings/given.ts"
import { Settings } from "../../../src/settings/Settings.ts"
import { hangUp } from "../../support/gate.ts"
import { rawCall, servedTest, webSocket } from "../../support/gate-server.ts"
import { eventsOf, has } from "../push/support.ts"

const from = (address: string) => ({ "x-forwarded-for": address, "content-type": "application/json" })
const guess = (n: number): string => `${n}`.padEnd(22, "g")
/** The whole minute of a network, from five of its addresses, or /64s. */
const networks = {
  "IPv4 /24": (n: number) => `81.2.69.${10 + n}`,
  "IPv6 /48": (n: number) => `2001:db8:7:${n}::1`,
}
const LIMIT = 20
const JUNK = 5 * LIMIT + 30

describe("a called caller", () => {
  for (const [network, addressOf] of Object.entries(networks)) {
    servedTest(
      `starts, whatever other addresses of the ${network} ask for`,
      { Security: { TrustedProxies: ["loopback"], StatusPerMinute: LIMIT }, Queue: { DisconnectGraceSeconds: 600 } },
      ({ port }) =>
        Effect.gen(function* () {
          const post = (path: string, address: string) =>
            rawCall(port, { path, method: "POST", headers: from(address) }, "{}")
          yield* post("/api/session/request", "198.51.100.1")
          const caller = addressOf(99)
          const ticket = String((yield* post("/api/session/request", caller)).body.uniqueRequestId)
          const junk = yield* Effect.forEach(
            Array.from({ length: JUNK }, (_, n) => n),
            (n) => post(`/api/session/${guess(n)}/start`, addressOf(n % 5)),
            { concurrency: 16 },
          )
          assert.isAbove(junk.filter(({ status }) => status === 429).length, 0)
          assert.isAtMost(junk.filter(({ status }) => status === 404).length, 5 * (LIMIT + RESERVED_PER_MINUTE))
          yield* hangUp("web-1")
          assert.strictEqual((yield* post(`/api/session/${ticket}/start`, caller)).status, 200)
        }),
    )
  }

  servedTest(
    "starts, whatever others behind the same address ask for",
    { Security: { TrustedProxies: ["loopback"], StatusPerMinute: 5 }, Queue: { DisconnectGraceSeconds: 600 } },
    ({ port }) =>
      Effect.gen(function* () {
        const post = (path: string) => rawCall(port, { path, method: "POST", headers: from("81.2.69.7") }, "{}")
        yield* post("/api/session/request")
        const ticket = String((yield* post("/api/session/request")).body.uniqueRequestId)
        for (let n = 0; n < 8; n++) yield* post(`/api/session/${guess(n)}/start`)
        assert.strictEqual((yield* post(`/api/session/${guess(9)}/start`)).status, 429)
        yield* hangUp("web-1")
        assert.strictEqual((yield* post(`/api/session/${ticket}/start`)).status, 200)
      }),
  )
})

describe("whoever asks for tickets that do not exist", () => {
  servedTest(
    "makes the gate ask no platform",
    {
      Security: { StatusPerMinute: 5 },
      VoiceAiPlatform: { Campaigns: { one: { WebCampaignId: "one" }, two: { WebCampaignId: "two" } } },
    },
    ({ port, world }) =>
      Effect.gen(function* () {
        const checked: Array<string> = []
        world.verify = (campaign) =>
          Effect.sync(() => {
            checked.push(campaign)
            return []
          })
        const start = (n: number) =>
          rawCall(port, { path: `/api/session/${guess(n)}/start`, method: "POST", headers: from("127.0.0.1") }, "{}")
        for (let n = 0; n < 8; n++) yield* start(n)
        assert.strictEqual((yield* start(9)).status, 429)
        assert.deepStrictEqual(checked, [])
      }),
  )
})

describe("the limits of an instance that does not know the ticket", () => {
  const tree = Effect.fromResult(
    settingsFrom({
      StoreConnectionString: "memory:",
      VoiceAiPlatform: {
        ApiSecretToken: "the-platform-key",
        BaseUrl: "https://platform.example/api/v1/",
        BusinessId: "business",
        WebCampaignId: "campaign",
        DefaultRegionId: "eu",
        MaxConcurrency: 1,
      },
      Server: { Host: "127.0.0.1" },
    }),
  ).pipe(Effect.map(({ tree }) => tree))
  const called = "c".repeat(22)
  const gatekeeper = Layer.mock(Gatekeeper, {
    isCalled: (ticket) => Effect.succeed(ticket === called),
    internals: () => assert.fail("the limits have nothing to do with an operator"),
  })
  const limits = Effect.map(
    Layer.build(TicketLimits.layer.pipe(Layer.provide([gatekeeper, Layer.effect(Settings, Effect.orDie(tree))]))),
    (context) => Context.get(context, TicketLimits.TicketLimits),
  )

  it.effect("leave each address of a network a few requests when others have used up the network's", () =>
    Effect.gen(function* () {
      const { use } = yield* limits
      let allowed = 0
      for (let n = 0; n < 650; n++) if (use(guess(n), "action", `81.2.69.${n % 5}`) === undefined) allowed++
      assert.isAtMost(allowed, 5 * (120 + RESERVED_PER_MINUTE))
      for (let n = 0; n < RESERVED_PER_MINUTE; n++) assert.isUndefined(use(guess(10_000 + n), "read", "81.2.69.200"))
      assert.isDefined(use(guess(20_000), "read", "81.2.69.200"))
    }),
  )

  it.effect("count a known ticket's minute anew after the clock was set back", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_700_000_000_000)
      const { learn, use } = yield* limits
      learn(called)
      while (use(called, "action", undefined) === undefined);
      yield* TestClock.setTime(1_700_000_000_000 - 600_000)
      assert.isUndefined(use(called, "action", undefined))
    }),
  )

  it.effect("give an address its unit back for a ticket that exists, and forget one that is gone", () =>
    Effect.gen(function* () {
      const { answered, isKnown, use } = yield* limits
      for (let n = 0; n < 500; n++) {
        const ticket = guess(n)
        assert.isUndefined(use(ticket, "events", "81.2.69.7"))
        answered(ticket, "81.2.69.7", true)
      }
      assert.isTrue(isKnown(guess(1)))
      answered(guess(1), "81.2.69.7", false)
      assert.isFalse(isKnown(guess(1)))
    }),
  )
})

describe("a WebSocket of a ticket", () => {
  servedTest(
    "may send so many commands a minute, counted over all its connections",
    { Security: { StatusPerMinute: 5 } },
    ({ port, url }) =>
      Effect.gen(function* () {
        const ask = () =>
          rawCall(port, { path: "/api/session/request", method: "POST", headers: from("127.0.0.1") }, "{}")
        yield* ask()
        const ticket = String((yield* ask()).body.uniqueRequestId)
        const errors = (events: ReadonlyArray<unknown>) => JSON.stringify(events).split("not_your_turn").length - 1
        const first = yield* webSocket(eventsOf(url, ticket))
        for (let n = 0; n < 3; n++) first.send('{"type":"start"}')
        yield* first.waitFor("three answers", (events) => errors(events) === 3)
        const second = yield* webSocket(eventsOf(url, ticket))
        for (let n = 0; n < 3; n++) second.send('{"type":"start"}')
        yield* second.waitFor("a refusal", (events) => JSON.stringify(events).includes("rate_limited"))
        assert.strictEqual(errors(second.events), 2)
        assert.isTrue(has("position")(second.events))
      }),
  )
})
