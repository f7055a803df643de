/**
 * What the gate remembers in its process does not outlive a clock that is set back by ten minutes or ahead by two hours: a limit, a
 * refusal, a pause, a cached fact.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as FullQueues from "../src/gatekeeper/checks/FullQueues.ts"
import { makeLogLimit, REFUSED } from "../src/http/access-log/log-limit.ts"
import { makeLocalRateLimit } from "../src/http/requests/local-rate-limit.ts"
import { makeWebhookLimits, REFUSED_WEBHOOKS_PER_MINUTE } from "../src/http/webhooks/limits.ts"
import { makeBudget, makeSharedBudget } from "../src/ip-intel/budget.ts"
import { parseAddress } from "../src/lib/ip/address.ts"
import { QueueFull } from "../src/protocol/refusals.ts"
import { Settings } from "../src/settings/Settings.ts"
import { settingsWith } from "./harness/settings.ts"
import { start as startIntel, vpnBody } from "./ip-intel/support.ts"
import { BEGIN } from "./support/gate.ts"

const BACK = -10 * 60_000
const AHEAD = 2 * 3_600_000

/** Runs the test once for each step of the clock. */
const eachStep = (name: string, body: (stepMillis: number) => Effect.Effect<void, unknown, never>): void => {
  for (const [way, millis] of [
    ["set back 10 minutes", BACK],
    ["set ahead 2 hours", AHEAD],
  ] as const) {
    it.effect(`${name}, when the clock is ${way}`, () => Effect.andThen(TestClock.setTime(BEGIN), body(millis)))
  }
}

describe("what a gate remembers", () => {
  eachStep("a budget of lookups is free again", (step) =>
    Effect.sync(() => {
      const budget = makeBudget(1)
      assert.deepStrictEqual([budget(BEGIN), budget(BEGIN)], [true, false])
      assert.deepStrictEqual([budget(BEGIN + step), budget(BEGIN + step)], [true, false])
      const address = parseAddress("203.0.113.7")
      assert.isDefined(address)
      const shared = makeSharedBudget(10, 1)
      assert.deepStrictEqual([shared(address, BEGIN), shared(address, BEGIN)], ["taken", "network"])
      assert.deepStrictEqual([shared(address, BEGIN + step), shared(address, BEGIN + step)], ["taken", "network"])
    }),
  )

  eachStep("a limit of requests a minute is free again", (step) =>
    Effect.sync(() => {
      const limit = makeLocalRateLimit(() => 1)
      assert.strictEqual(limit.take("203.0.113.7", BEGIN), 0)
      assert.isAbove(limit.take("203.0.113.7", BEGIN), 0)
      assert.strictEqual(limit.take("203.0.113.7", BEGIN + step), 0)
      assert.isAtMost(limit.take("203.0.113.7", BEGIN + step), 60)
    }),
  )

  it.effect(
    "the limit of refused webhooks acts on an address that has sent a genuine one, when the clock is set back 10 minutes",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          yield* TestClock.setTime(BEGIN)
          const limits = yield* makeWebhookLimits
          limits.countProven("203.0.113.7")
          for (let n = 0; n <= REFUSED_WEBHOOKS_PER_MINUTE; n++) limits.countRefused("203.0.113.7")
          assert.isUndefined(limits.refusal("203.0.113.7"))
          yield* TestClock.setTime(BEGIN + BACK)
          for (let n = 0; n <= REFUSED_WEBHOOKS_PER_MINUTE; n++) limits.countRefused("203.0.113.7")
          assert.isDefined(limits.refusal("203.0.113.7"))
        }),
      ),
  )

  eachStep("a full queue does not refuse newcomers without a look at it", (step) =>
    Effect.gen(function* () {
      const { Campaigns } = yield* Settings
      const [campaign] = Campaigns
      assert.isDefined(campaign)
      const full = yield* FullQueues.FullQueues
      const refusal = new QueueFull({ retryAfterSeconds: 1, message: "full" })
      full.refused(campaign, refusal, 10_000_000)
      assert.strictEqual(full.refusal(campaign), refusal)
      yield* TestClock.setTime(BEGIN + step)
      assert.isUndefined(full.refusal(campaign))
    }).pipe(Effect.provide(FullQueues.layer.pipe(Layer.provideMerge(settingsWith({}))))),
  )

  eachStep("the log writes lines of a caller again", (step) =>
    Effect.sync(() => {
      const limit = makeLogLimit(REFUSED)
      while (limit.admits("203.0.113.7", BEGIN)) {}
      assert.isTrue(limit.admits("203.0.113.7", BEGIN + step))
    }),
  )

  eachStep("an open circuit closes after its own time", (step) =>
    Effect.scoped(
      Effect.gen(function* () {
        const intel = yield* startIntel({ answer: () => ({ status: 500, body: "" }) })
        for (let network = 0; network < 5; network++) yield* Effect.flip(intel.lookup(`8.8.${network}.4`))
        intel.http.answer = () => vpnBody
        yield* TestClock.setTime(BEGIN + step)
        // only a step ahead passes time: TestClock moves the monotonic clock with it
        if (step < 0) assert.strictEqual((yield* Effect.flip(intel.lookup("8.8.8.8"))).reason, "circuit_open")
        yield* TestClock.adjust(30_000)
        assert.isTrue((yield* intel.lookup("8.8.8.8")).vpn)
      }),
    ),
  )

  eachStep("facts of an address live no longer than CacheDays say and the step", (step) =>
    Effect.scoped(
      Effect.gen(function* () {
        const intel = yield* startIntel({ answer: () => vpnBody, settings: { CacheDays: 1 } })
        yield* intel.lookup("8.8.8.8")
        yield* TestClock.setTime(BEGIN + step)
        yield* intel.lookup("8.8.8.8")
        const asked = intel.http.requests.length
        yield* TestClock.setTime(BEGIN + Math.max(0, step) + 24 * 3_600_000 + 1)
        yield* intel.lookup("8.8.8.8")
        assert.isAbove(intel.http.requests.length, asked)
      }),
    ),
  )
})
