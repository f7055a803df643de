/** A gate with the memory store whose wall clock is set while it runs: what hours, tokens and operators say of a time is the time of day. */
import { assert, describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import { Budgets } from "../../../src/budgets/Budgets.ts"
import * as budgetsLayer from "../../../src/budgets/layer.ts"
import { holdName } from "../../../src/fifo-queue/rules/shared/charges.ts"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { IdentityTokens, type VerifiedToken } from "../../../src/identity-tokens/IdentityTokens.ts"
import { layer as tokensLayer } from "../../../src/identity-tokens/layer.ts"
import { MAX_KEPT } from "../../../src/identity-tokens/rules/token-use.ts"
import { singleUse } from "../../../src/identity-tokens/single-use.ts"
import { Operator } from "../../../src/operator/Operator.ts"
import { Settings } from "../../../src/settings/Settings.ts"
import * as memory from "../../../src/store/memory/layer.ts"
import { Store } from "../../../src/store/Store.ts"
import { settingsWith } from "../../harness/settings.ts"
import {
  ask,
  BEGIN,
  begin,
  caller,
  enqueue,
  type GateServices,
  type Given,
  gateLayer,
  hangUp,
  makeWorld,
  settingsLayer,
  stateOf,
  type World,
} from "../../support/gate.ts"
import { withSteppedClock } from "../../support/stepped-clock.ts"
import { claimsOf, SECRET, token } from "../../support/tokens.ts"

const MINUTE = 60_000
const HOUR = 60 * MINUTE

type Step = (millis: number) => void

/** A gate that begins on a Friday at 08:00. */
const test = (
  name: string,
  given: Given,
  body: (world: World, step: Step) => Effect.Effect<void, unknown, GateServices>,
): void => {
  it.effect(name, () =>
    Effect.andThen(
      TestClock.setTime(BEGIN),
      withSteppedClock((step) => {
        const world = makeWorld()
        return Effect.provide(body(world, step), gateLayer(world, given))
      }),
    ),
  )
}

const open = (Open: string, more: object = {}): Given => ({
  VoiceAiPlatform: { MaxConcurrency: 1, Hours: { Zone: "UTC", Open, ...more } },
  Queue: { MaxCallMinutes: 60 },
})
const availability = Gatekeeper.use((gate) => Effect.orDie(gate.availability()))
const viewed = Operator.use((operator) =>
  operator.view("default", { firstSlot: 0, slots: 10, firstPlace: 0, places: 10 }, 0),
)

describe("hours", () => {
  test("close at the time of day when the machine has slept", open("Fri 08:00-09:00"), (_world, step) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* ask(caller(1)))._tag, "Started")
      step(2 * HOUR)
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual((yield* ask(caller(2)))._tag, "Closed")
      assert.strictEqual((yield* availability).state, "closed")
      assert.strictEqual((yield* viewed)?.hours?.state, "closed")
    }),
  )

  test("open at the time of day when the clock is set back", open("Fri 06:00-07:30"), (_world, step) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* ask(caller(1)))._tag, "Closed")
      step(-HOUR)
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual((yield* availability).state, "open")
      assert.strictEqual((yield* ask(caller(1)))._tag, "Started")
    }),
  )

  test(
    "serve those who wait for as long as the settings say, from when the gate finds that it is closed",
    open("Fri 08:00-09:00", { AfterCloseMinutes: 30 }),
    (world, step) =>
      Effect.gen(function* () {
        yield* begin()
        const ticket = yield* enqueue(caller(1))
        world.connected.add(ticket)
        yield* TestClock.adjust("3 seconds")
        step(2 * HOUR)
        yield* TestClock.adjust("20 minutes")
        assert.strictEqual(yield* stateOf(ticket), "waiting")
        const { servedUntil = 0, state } = (yield* viewed)?.hours ?? { state: "none" }
        assert.strictEqual(state, "closing")
        assert.approximately(servedUntil, BEGIN + 2 * HOUR + 30 * MINUTE, 10_000)
        yield* TestClock.adjust("11 minutes")
        assert.strictEqual(yield* stateOf(ticket), "closed")
      }),
  )
})

describe("a token", () => {
  const verdictOn = (given: string) =>
    IdentityTokens.use(({ verify }) => Effect.result(verify?.(given) ?? Effect.die("no key")))
  const used = (found: VerifiedToken, ticket: string) =>
    IdentityTokens.use((tokens) => Effect.map(tokens.use(found, ticket), (use) => use.ticket))
  const given = tokensLayer.pipe(
    Layer.provide(Layer.merge(memory.layer, settingsWith({ Identity: { Secrets: [SECRET], SingleUse: true } }))),
  )
  const withTokens = (name: string, body: (step: Step) => Effect.Effect<void, unknown, IdentityTokens>): void => {
    it.effect(name, () =>
      Effect.andThen(
        TestClock.setTime(BEGIN),
        withSteppedClock((step) => Effect.provide(body(step), given)),
      ),
    )
  }

  for (const [name, by, at, wanted] of [
    ["that has expired while the machine slept is refused", 2 * HOUR, BEGIN, "expired"],
    ["is accepted that was made when the machine woke", 2 * HOUR, BEGIN + 2 * HOUR, "accepted"],
    ["is accepted that was made after the clock was set back", -HOUR, BEGIN - HOUR, "accepted"],
    ["of an hour ahead is not valid yet when the clock was set back", -HOUR, BEGIN, "not_yet_valid"],
  ] as const) {
    withTokens(name, (step) =>
      Effect.gen(function* () {
        yield* verdictOn("")
        step(by)
        const verdict = yield* verdictOn(token(claimsOf("ada", {}, at)))
        const found = Result.isSuccess(verdict) ? "accepted" : Reflect.get(verdict.failure, "reason")
        assert.strictEqual(found, wanted)
      }),
    )
  }

  withTokens("is used once for as long as it is accepted, also when the clock was set back", (step) =>
    Effect.gen(function* () {
      yield* verdictOn("")
      step(-HOUR)
      const verdict = yield* verdictOn(token(claimsOf("ada", { jti: "1" }, BEGIN - HOUR)))
      assert.isTrue(Result.isSuccess(verdict))
      if (Result.isFailure(verdict)) return
      assert.strictEqual(yield* used(verdict.success, "first"), "first")
      yield* TestClock.adjust("9 minutes")
      assert.strictEqual(yield* used(verdict.success, "second"), "first")
    }),
  )

  for (const [name, passed, again] of [
    ["before it has expired", "1 minute", "60 minutes"],
    ["after it has expired", "60 minutes", "1 minute"],
  ] as const) {
    withTokens(`is not used again when the clock is set back an hour ${name}`, (step) =>
      Effect.gen(function* () {
        const given = token(claimsOf("ada", { jti: "1" }))
        const verdict = yield* verdictOn(given)
        assert.isTrue(Result.isSuccess(verdict))
        if (Result.isFailure(verdict)) return
        assert.strictEqual(yield* used(verdict.success, "first"), "first")
        yield* TestClock.adjust(passed)
        step(-HOUR)
        // the token is valid again
        yield* TestClock.adjust(again)
        assert.isTrue(Result.isSuccess(yield* verdictOn(given)))
        assert.strictEqual(yield* used(verdict.success, "second"), "first")
      }),
    )
  }
})

describe("a token that was used", () => {
  const tokenUntil = (until: number, use: string): VerifiedToken => ({ identity: { subject: "ada" }, use, until })
  const withUses = (
    name: string,
    isRedis: boolean,
    body: (
      used: (token: VerifiedToken, ticket: string) => Effect.Effect<string>,
      step: Step,
    ) => Effect.Effect<void, unknown>,
  ): void => {
    it.effect(name, () =>
      Effect.andThen(
        TestClock.setTime(BEGIN),
        withSteppedClock((step) =>
          Effect.gen(function* () {
            const { aheadMillis, ...store } = yield* Store
            const uses = singleUse(isRedis || aheadMillis === undefined ? store : { ...store, aheadMillis })
            const used = (token: VerifiedToken, ticket: string) =>
              Effect.match(uses.use(token, ticket), {
                onFailure: (error) => ("reason" in error ? error.reason : error._tag),
                onSuccess: (use) => use.ticket,
              })
            yield* body(used, step)
          }).pipe(Effect.provide(Layer.fresh(memory.layer))),
        ),
      ),
    )
  }

  withUses("is not used again when the clock is set back, by however much", false, (used, step) =>
    Effect.gen(function* () {
      const token = tokenUntil(BEGIN + 10 * MINUTE, "1")
      assert.strictEqual(yield* used(token, "first"), "first")
      yield* TestClock.adjust("40 days")
      step(-40 * 24 * HOUR)
      assert.strictEqual(yield* used(token, "second"), "first")
    }),
  )

  withUses("is not used again where so many were used that it is forgotten, and others are", false, (used, step) =>
    Effect.gen(function* () {
      const token = tokenUntil(BEGIN + 10 * MINUTE, "1")
      assert.strictEqual(yield* used(token, "first"), "first")
      yield* TestClock.adjust("25 hours")
      const until = BEGIN + 26 * HOUR
      for (let n = 0; n < MAX_KEPT; n++) yield* used(tokenUntil(until, `other ${n}`), "other")
      step(-25 * HOUR)
      assert.strictEqual(yield* used(token, "second"), "replayed")
      assert.strictEqual(yield* used(tokenUntil(until, "other 1"), "second"), "other")
      assert.strictEqual(yield* used(tokenUntil(BEGIN + 11 * MINUTE, "new"), "new"), "new")
    }),
  )

  withUses(
    "is remembered by Redis for an hour longer than it is accepted, since its clock may be set back",
    true,
    (used) =>
      Effect.gen(function* () {
        const token = tokenUntil(BEGIN + 10 * MINUTE, "1")
        assert.strictEqual(yield* used(token, "first"), "first")
        yield* TestClock.adjust("70 minutes")
        assert.strictEqual(yield* used(token, "second"), "first")
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(yield* used(token, "third"), "third")
      }),
  )
})

describe("a budget", () => {
  const KEY = "business/campaign"
  const withBudget = (
    name: string,
    Per: "day" | "month",
    body: (
      step: Step,
      /** the minutes that are settled after a call of one minute */
      settledAfterCall: (lease: string) => Effect.Effect<number | undefined, unknown>,
    ) => Effect.Effect<void, unknown>,
  ): void => {
    const budget = { Name: "team", Of: "campaign", Unit: "minutes", Per, Cap: 100 }
    const given = budgetsLayer.layer.pipe(
      Layer.provideMerge(memory.layer),
      Layer.provideMerge(settingsLayer({ VoiceAiPlatform: { Budgets: [budget] } })),
    )
    it.effect(name, () =>
      Effect.andThen(
        TestClock.setTime(BEGIN),
        withSteppedClock((step) =>
          Effect.gen(function* () {
            const budgets = yield* Budgets
            const [campaign] = (yield* Settings).Campaigns
            const at = { campaign, key: KEY }
            yield* body(step, (lease) =>
              Effect.gen(function* () {
                yield* budgets.hold(at, { ticket: "ticket", lease, caller: "ada" })
                yield* budgets.settle(KEY, { hold: holdName("ticket", lease), seconds: 60, caller: "ada" })
                const [balance] = yield* budgets.balances(at, undefined)
                return balance?.settled
              }),
            )
          }).pipe(Effect.provide(given)),
        ),
      ),
    )
  }

  withBudget("of a day goes on counting when the clock is set back three days", "day", (step, settledAfterCall) =>
    Effect.gen(function* () {
      assert.strictEqual(yield* settledAfterCall("1"), 1)
      step(-72 * HOUR)
      assert.strictEqual(yield* settledAfterCall("2"), 1)
      assert.strictEqual(yield* settledAfterCall("3"), 2)
    }),
  )

  withBudget(
    "of a month is kept until its end when the clock is set back three days",
    "month",
    (step, settledAfterCall) =>
      Effect.gen(function* () {
        step(-72 * HOUR)
        assert.strictEqual(yield* settledAfterCall("1"), 1)
        // to the last day of January
        yield* TestClock.adjust("19 days")
        assert.strictEqual(yield* settledAfterCall("2"), 2)
      }),
  )
})

describe("an operator", () => {
  const given: Given = {
    VoiceAiPlatform: { MaxConcurrency: 5 },
    Security: { ConsoleToken: "a-console-token-of-the-tests", RateLimitHourly: 0, RateLimitDaily: 0 },
  }
  for (const [way, millis] of [
    ["set back an hour", -HOUR],
    ["set ahead two hours", 2 * HOUR],
  ] as const) {
    test(`blocks an address until the time of day that is chosen, when the clock is ${way}`, given, (_world, step) =>
      Effect.gen(function* () {
        const operator = yield* Operator
        yield* TestClock.adjust("3 seconds")
        step(millis)
        const until = BEGIN + millis + 30 * MINUTE
        assert.strictEqual(yield* operator.block("me", caller(1), until), "done")
        yield* TestClock.adjust("20 minutes")
        assert.strictEqual((yield* ask(caller(1)))._tag, "Blocked")
        const [block] = (yield* operator.asking).blocks
        assert.strictEqual(block?.until, until)
        assert.approximately(block?.at ?? 0, BEGIN + millis, 10_000)
        yield* TestClock.adjust("11 minutes")
        assert.strictEqual((yield* ask(caller(1)))._tag, "Started")
      }),
    )

    test(`blocks an address for good, when the clock is ${way}`, given, (_world, step) =>
      Effect.gen(function* () {
        const operator = yield* Operator
        step(millis)
        yield* operator.block("me", caller(1), 0)
        yield* TestClock.adjust("3 hours")
        assert.strictEqual((yield* ask(caller(1)))._tag, "Blocked")
        assert.strictEqual((yield* operator.asking).blocks[0]?.until, 0)
      }),
    )
  }

  for (const [way, millis] of [
    ["set back three hours", -3 * HOUR],
    ["set ahead two hours", 2 * HOUR],
  ] as const) {
    test(
      `sees in the history when calls have ended by the time of day, when the clock is ${way}`,
      given,
      (_world, step) =>
        Effect.gen(function* () {
          const operator = yield* Operator
          const ends = Effect.gen(function* () {
            const found = yield* operator.history("default", "hour")
            const buckets = found?.buckets.filter(({ counts }) => (counts["over.ended"] ?? 0) > 0) ?? []
            return { now: found?.now, at: buckets.map(({ at }) => at) }
          })
          const endCall = Effect.gen(function* () {
            const { sessionId } = yield* begin()
            yield* hangUp(sessionId)
            // counts are reported every ten seconds
            yield* TestClock.adjust("15 seconds")
          })
          yield* endCall
          assert.deepStrictEqual((yield* ends).at, [BEGIN])
          step(millis)
          yield* endCall
          assert.deepStrictEqual(yield* ends, { now: BEGIN + millis + 30_000, at: [BEGIN + millis] })
        }),
    )
  }

  test("pauses until the time of day, as newcomers are told, when the clock is set back", given, (_world, step) =>
    Effect.gen(function* () {
      const operator = yield* Operator
      step(-HOUR)
      const until = BEGIN - HOUR + 30 * MINUTE
      yield* operator.act("default", "me", { type: "pause", until })
      yield* TestClock.adjust("20 minutes")
      expect(yield* availability).toEqual({ state: "paused", pausedUntil: new Date(until).toISOString() })
    }),
  )
})

const offering: Given = { VoiceAiPlatform: { Overflow: { AfterSeconds: 60, Offers: ["Call us tel:+4930123456"] } } }
test("the time that a caller has waited is none in which the machine slept", offering, (world, step) =>
  Effect.gen(function* () {
    yield* begin()
    const ticket = yield* enqueue(caller(1))
    world.connected.add(ticket)
    step(2 * HOUR)
    yield* TestClock.adjust("30 seconds")
    const state = Gatekeeper.use((gate) => gate.status(ticket))
    assert.notProperty(yield* state, "offers")
    yield* TestClock.adjust("31 seconds")
    assert.property(yield* state, "offers")
  }),
)

for (const [way, millis] of [
  ["set back an hour", -HOUR],
  ["set ahead two hours", 2 * HOUR],
] as const) {
  test(`a page's report counts once its credential has expired, when the clock is ${way}`, {}, (world, step) =>
    Effect.gen(function* () {
      step(millis)
      world.pageEnds = BEGIN + millis + MINUTE
      const { uniqueRequestId } = yield* begin()
      yield* Gatekeeper.use((gate) => gate.leave(uniqueRequestId))
      yield* TestClock.adjust("50 seconds")
      assert.strictEqual(yield* stateOf(uniqueRequestId), "live")
      yield* TestClock.adjust("11 seconds")
      assert.strictEqual(yield* stateOf(uniqueRequestId), "ended")
    }),
  )
}
