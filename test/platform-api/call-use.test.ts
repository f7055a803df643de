/** What vendors say of a call that is over, its length and its cost, is what budgets are charged; also after they were charged without it. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import { makeFakeDaily } from "../../src/platform-api/daily/fake.ts"
import { makeFakeElevenLabs } from "../../src/platform-api/elevenlabs/fake.ts"
import { makeFakeRetell } from "../../src/platform-api/retell/fake.ts"
import { makeFakeUltravox } from "../../src/platform-api/ultravox/fake.ts"
import { makeFakeVapi } from "../../src/platform-api/vapi/fake.ts"
import { BEGIN } from "../support/gate.ts"
import { ask, joined, subjectOf, vendorTest } from "./adapters/rig.ts"

const settings = {
  Price: { PerMinute: 0.12, Currency: "USD", RoundUpSeconds: 1 },
  Budgets: [
    { Name: "team", Of: "campaign", Unit: "minutes", Per: "month", Cap: 100, OnLimit: "count" },
    { Name: "bill", Of: "campaign", Unit: "money", Per: "month", Cap: 100, OnLimit: "count" },
    { Name: "own", Of: "caller", Unit: "minutes", Per: "month", Cap: 100, OnLimit: "count" },
  ],
}

/** Settled seconds of campaign and caller, and cents. */
const settled = Gatekeeper.use((gatekeeper) =>
  Effect.gen(function* () {
    const internals = gatekeeper.internals()
    const [campaign] = internals.campaigns.all
    if (campaign === undefined) return undefined
    const balances = yield* internals.budgets.balances(campaign, internals.callerKey({ address: "203.0.113.1" }))
    const of = (name: string) => balances.find(({ budget }) => budget.Name === name)?.settled ?? Number.NaN
    return [Math.round(of("team") * 60), Math.round(of("bill") * 10_000) / 100, Math.round(of("own") * 60)]
  }),
)

type Body = Record<string, unknown>
const within = (body: Body, key: string, more: Body): Body => ({ ...body, [key]: { ...Object(body[key]), ...more } })

/** How each vendor says that a call lasted 50 s, and 71 cents where it says what the call cost. */
const VENDORS = [
  {
    platform: "retell",
    make: makeFakeRetell,
    says: (body: Body) => within(body, "call", { duration_ms: 49_300, call_cost: { combined_cost: 71 } }),
    cents: 71,
  },
  {
    platform: "vapi",
    make: makeFakeVapi,
    says: (body: Body) =>
      within(body, "message", {
        ...{ startedAt: "2026-11-27T10:00:00.000Z", endedAt: "2026-11-27T10:00:49.300Z", durationSeconds: 3 },
        cost: 0.71,
      }),
    cents: 71,
  },
  {
    platform: "elevenlabs",
    make: makeFakeElevenLabs,
    says: (body: Body) => within(body, "data", { metadata: { call_duration_secs: 50, cost: 300 } }),
    cents: 10,
  },
  {
    platform: "ultravox",
    make: makeFakeUltravox,
    says: (body: Body) =>
      within(body, "call", {
        joined: new Date(BEGIN).toISOString(),
        ended: new Date(BEGIN + 49_300).toISOString(),
      }),
    cents: 10,
  },
  {
    platform: "daily",
    make: makeFakeDaily,
    says: (body: Body) => within(body, "payload", { start_ts: 1_800_000_000, end_ts: 1_800_000_049.3 }),
    cents: 10,
  },
] as const

for (const { cents, make, platform, says } of VENDORS) {
  describe(`what ${platform} says of a call that is over`, () => {
    const subject = subjectOf(platform, make)
    vendorTest(
      "is charged, and a report that comes again changes nothing",
      subject,
      (world) =>
        Effect.gen(function* () {
          const started = yield* ask(1)
          const id = yield* joined(world, started)
          yield* world.pass(2)
          const sent = world.fake.hangUp(id)
          assert.isDefined(sent)
          const body: Body = JSON.parse(sent?.rawBody ?? "{}")
          const report = world.fake.webhook(says(body))
          for (const _ of [1, 2]) {
            const outcome = yield* Gatekeeper.use((gate) => gate.vendorWebhook(platform, report))
            assert.strictEqual(outcome._tag, "accepted")
            yield* world.pass(0.5)
            assert.deepStrictEqual(yield* settled, [50, cents, 50])
          }
        }),
      settings,
    )

    vendorTest(
      "corrects what was charged without it, into the same windows",
      subject,
      (world) =>
        Effect.gen(function* () {
          const started = yield* ask(1)
          const id = yield* joined(world, started)
          yield* world.pass(3)
          const sent = world.fake.hangUp(id)
          const body: Body = JSON.parse(sent?.rawBody ?? "{}")
          // the end is known by other means first, such as the audit
          yield* Gatekeeper.use((gate) => gate.sessionEnded([world.sessions.get(id) ?? id]))
          const [before = 0] = (yield* settled) ?? []
          assert.isAtLeast(before, 180)
          yield* Gatekeeper.use((gate) => gate.vendorWebhook(platform, world.fake.webhook(says(body))))
          yield* world.pass(0.5)
          assert.deepStrictEqual(yield* settled, [50, cents, 50])
          // nonsense is no correction
          const nonsense = platform === "vapi" ? within(body, "message", { durationSeconds: -1, cost: "x" }) : body
          yield* Gatekeeper.use((gate) => gate.vendorWebhook(platform, world.fake.webhook(nonsense)))
          assert.deepStrictEqual(yield* settled, [50, cents, 50])
        }),
      settings,
    )
  })
}

describe("a call in a room of Daily", () => {
  vendorTest(
    "is charged by the gate's measure where the caller left the room and came back",
    subjectOf("daily", makeFakeDaily),
    (world) =>
      Effect.gen(function* () {
        const started = yield* ask(1)
        for (const minutes of [0.25, 1]) {
          const id = yield* joined(world, started)
          yield* world.pass(minutes)
          const body: Body = JSON.parse(world.fake.hangUp(id)?.rawBody ?? "{}")
          const report = within(body, "payload", { start_ts: 1_800_000_000, end_ts: 1_800_000_000 + minutes * 60 })
          yield* Gatekeeper.use((gate) => gate.vendorWebhook("daily", world.fake.webhook(report)))
        }
        yield* world.pass(2)
        const [seconds = 0, cents = 0] = (yield* settled) ?? []
        assert.isAtLeast(seconds, 75)
        assert.isAbove(cents, 10)
      }),
    settings,
  )
})
