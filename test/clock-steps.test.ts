/**
 * What the gate remembers in its process does not outlive a clock that is set back by ten minutes or ahead by two hours: a limit, a
 * refusal, a pause, a cached fact.
 */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Budgets } from "../src/budgets/Budgets.ts"
import * as budgets from "../src/budgets/layer.ts"
import * as FullQueues from "../src/gatekeeper/checks/FullQueues.ts"
import { makeLogLimit, REFUSED } from "../src/http/access-log/log-limit.ts"
import { makeLocalRateLimit } from "../src/http/requests/local-rate-limit.ts"
import { makeWebhookLimits, REFUSED_WEBHOOKS_PER_MINUTE } from "../src/http/webhooks/limits.ts"
import { makeBudget, makeSharedBudget } from "../src/ip-intel/budget.ts"
import { parseAddress } from "../src/lib/ip/address.ts"
import { QueueFull } from "../src/protocol/refusals.ts"
import { Settings } from "../src/settings/Settings.ts"
import * as memory from "../src/store/memory/layer.ts"
import { Store } from "../src/store/Store.ts"
import { settingsWith } from "./harness/settings.ts"
import { start as startIntel, vpnBody } from "./ip-intel/support.ts"
import { BEGIN, settingsLayer } from "./support/gate.ts"

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

  eachStep("a caller with a used-up budget is looked up again", (step) =>
    Effect.gen(function* () {
      let asked = 0
      const counting = Layer.effect(
        Store,
        Effect.map(Store, ({ aheadMillis: _, ...store }) => ({
          ...store,
          // as of a Redis that is asked by the clock of this process
          now: Clock.currentTimeMillis,
          run: (...given) => Effect.tap(store.run(...given), () => Effect.sync(() => void asked++)),
        })),
      ).pipe(Layer.provide(memory.layer))
      const budget = { Name: "own", Of: "caller", Unit: "minutes", Per: "month", Cap: 1 }
      const layer = budgets.layer.pipe(
        Layer.provideMerge(counting),
        Layer.provideMerge(settingsLayer({ VoiceAiPlatform: { Budgets: [budget] } })),
      )
      yield* Effect.gen(function* () {
        const { check, hold } = yield* Budgets
        const [campaign] = (yield* Settings).Campaigns
        const at = { campaign, key: "business/campaign" }
        const asks = (caller: string) =>
          Effect.gen(function* () {
            const before = asked
            const outcome = yield* Effect.match(check(at, caller), {
              onFailure: () => "refused",
              onSuccess: () => "passed",
            })
            return `${outcome}, ${asked - before} steps`
          })
        yield* hold(at, { ticket: "ticket", lease: "1", caller: "ada" })
        // the second one gives back what is held for lost calls; what was found a moment ago is remembered
        for (const [refused, passed] of [
          [2, 1],
          [0, 0],
        ]) {
          assert.strictEqual(yield* asks("ada"), `refused, ${refused} steps`)
          assert.strictEqual(yield* asks("bob"), `passed, ${passed} steps`)
        }
        yield* TestClock.setTime(BEGIN + step)
        // hours later the call is lost, and what was held for it is given back
        assert.strictEqual(yield* asks("ada"), step > 0 ? "passed, 3 steps" : "refused, 2 steps")
        assert.strictEqual(yield* asks("bob"), "passed, 1 steps")
      }).pipe(Effect.provide(layer))
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
