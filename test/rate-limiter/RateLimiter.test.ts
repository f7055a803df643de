/** The rate limiter around its rules; `contract/` tests the budgets themselves. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { StoreUnavailable } from "../../src/protocol/refusals.ts"
import { keysOf, layer as limiterLayer } from "../../src/rate-limiter/layer.ts"
import { RateLimiter } from "../../src/rate-limiter/RateLimiter.ts"
import { Store } from "../../src/store/Store.ts"
import { settingsWith } from "../harness/settings.ts"
import { memoryStore } from "../harness/stores.ts"

/** A store that is unavailable. */
const unavailable = Layer.effect(
  Store,
  Effect.map(Store, (store) => ({
    ...store,
    run: () => Effect.fail(new StoreUnavailable({ message: "away" })),
  })),
).pipe(Layer.provide(memoryStore))

const limiter = (store: Layer.Layer<Store>, [hourly, daily, concurrent]: readonly [number, number, number]) =>
  limiterLayer.pipe(
    Layer.provide(store),
    Layer.provide(
      settingsWith({
        Security: { RateLimitHourly: hourly, RateLimitDaily: daily, RateLimitConcurrency: concurrent },
      }),
    ),
  )

const take = (token: string) => RateLimiter.use((service) => service.take("1.2.3.4", token))

describe("RateLimiter", () => {
  it.effect("does not access the store when there is no limit", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* take("a"), [])
    }).pipe(Effect.provide(limiter(unavailable, [0, 0, 0]))),
  )

  it.effect("fails with StoreUnavailable when the store is down, and neither admits nor refuses", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Effect.flip(take("a")))._tag, "StoreUnavailable")
      const refund = RateLimiter.use((service) => service.refund("1.2.3.4", "a"))
      assert.strictEqual((yield* Effect.flip(refund))._tag, "StoreUnavailable")
    }).pipe(Effect.provide(limiter(unavailable, [20, 100, 0]))),
  )

  it.effect("names the exhausted budget in its message, and never the token", () =>
    Effect.gen(function* () {
      yield* take("s3cret-token")
      const refused = yield* Effect.flip(take("s3cret-token-2"))
      assert.strictEqual(refused.message, "You've reached your call limit for this hour.")
      assert.notInclude(JSON.stringify(refused), "s3cret")
    }).pipe(Effect.provide(limiter(memoryStore, [1, 100, 0]))),
  )

  it.effect("sets Retry-After to half a minute while the caller's own calls are running", () =>
    Effect.gen(function* () {
      yield* take("a")
      const refused = yield* Effect.flip(take("b"))
      if (refused._tag !== "RateLimited") return yield* refused
      assert.deepStrictEqual([refused.limit, refused.retryAfterSeconds], ["concurrent", 30])
    }).pipe(Effect.provide(limiter(memoryStore, [0, 0, 1]))),
  )

  it.effect("reports the budget that stays exhausted the longest when several are", () =>
    Effect.gen(function* () {
      yield* take("a")
      const refused = yield* Effect.flip(take("b"))
      if (refused._tag !== "RateLimited") return yield* refused
      assert.deepStrictEqual([refused.limit, refused.retryAfterSeconds], ["hour", 3600])
    }).pipe(Effect.provide(limiter(memoryStore, [1, 0, 1]))),
  )

  it.effect("counts Retry-After down in a refusal that it repeats, and repeats the same error until then", () =>
    Effect.gen(function* () {
      const refusal = RateLimiter.use((service) => service.refusal("1.2.3.4"))
      yield* take("a")
      yield* TestClock.adjust("2 minutes")
      yield* TestClock.adjust(300)
      yield* Effect.flip(take("b"))
      const first = yield* refusal
      yield* TestClock.adjust(600)
      const again = yield* refusal
      yield* TestClock.adjust(100)
      const later = yield* refusal
      assert.strictEqual(first, again)
      assert.deepStrictEqual(
        [first, later].map((error) => error?.retryAfterSeconds),
        [3480, 3479],
      )
    }).pipe(Effect.provide(limiter(memoryStore, [1, 0, 0]))),
  )

  describe("after a refusal", () => {
    /** A limiter whose store counts its calls; with `deaf` it receives no messages of other instances. */
    const counted = Effect.fnUntraced(function* (
      store: Store["Service"],
      limits: readonly [number, number, number],
      isolated = false,
    ) {
      let asked = 0
      const counting: Store["Service"] = {
        ...store,
        run: (rule, ask) => {
          asked++
          return store.run(rule, ask)
        },
        ...(isolated ? { subscribe: () => Effect.void } : {}),
      }
      const built = yield* Layer.build(Layer.fresh(limiter(Layer.succeed(Store, counting), limits)))
      const service = Context.get(built, RateLimiter)
      return {
        asked: () => asked,
        refusal: service.refusal("1.2.3.4"),
        refund: (token: string) => service.refund("1.2.3.4", token),
        release: (token: string) => service.release("1.2.3.4", token),
        take: (token: string) =>
          Effect.match(service.take("1.2.3.4", token), {
            onFailure: (error) => (error._tag === "RateLimited" ? error.retryAfterSeconds : error._tag),
            onSuccess: () => "taken",
          }),
      }
    })

    it.effect("repeats it for a second without the store, with the remaining time", () =>
      Effect.gen(function* () {
        const gate = yield* counted(yield* Store, [1, 0, 0])
        yield* gate.take("a")
        assert.strictEqual(yield* gate.take("b"), 3600)
        yield* TestClock.adjust(999)
        assert.strictEqual(yield* gate.take("c"), 3600)
        assert.strictEqual(gate.asked(), 2)
        yield* TestClock.adjust(1)
        assert.strictEqual(yield* gate.take("d"), 3599)
        assert.strictEqual(gate.asked(), 3)
      }).pipe(Effect.provide(memoryStore)),
    )

    it.effect("knows without the store whether a refusal still holds", () =>
      Effect.gen(function* () {
        const gate = yield* counted(yield* Store, [1, 0, 0])
        yield* gate.take("a")
        assert.isUndefined(yield* gate.refusal)
        yield* gate.take("b")
        assert.strictEqual((yield* gate.refusal)?.retryAfterSeconds, 3600)
        yield* TestClock.adjust(1_000)
        assert.isUndefined(yield* gate.refusal)
        assert.strictEqual(gate.asked(), 2)
      }).pipe(Effect.provide(memoryStore)),
    )

    it.effect("does not repeat it when the budget has a unit again", () =>
      Effect.gen(function* () {
        const gate = yield* counted(yield* Store, [1, 0, 0])
        yield* gate.take("a")
        yield* TestClock.adjust(3_600_000 - 300)
        assert.strictEqual(yield* gate.take("b"), 1)
        yield* TestClock.adjust(299)
        assert.strictEqual(yield* gate.take("c"), 1)
        yield* TestClock.adjust(1)
        assert.strictEqual(yield* gate.take("d"), "taken")
      }).pipe(Effect.provide(memoryStore)),
    )

    it.effect("does not repeat the hour's refusal when the day is exhausted and the hour no longer is", () =>
      Effect.gen(function* () {
        const store = yield* Store
        const service = Context.get(
          yield* Layer.build(Layer.fresh(limiter(Layer.succeed(Store, store), [1, 1, 0]))),
          RateLimiter,
        )
        const hourLeft = (token: string) =>
          Effect.match(service.take("1.2.3.4", token), {
            onFailure: (error) => (error._tag === "RateLimited" ? error.limits[0]?.remaining : error._tag),
            onSuccess: () => "taken",
          })
        yield* hourLeft("a")
        yield* TestClock.adjust(3_600_000 - 300)
        assert.strictEqual(yield* hourLeft("b"), 0)
        yield* TestClock.adjust(300)
        assert.strictEqual(yield* hourLeft("c"), 1)
      }).pipe(Effect.scoped, Effect.provide(memoryStore)),
    )

    it.effect("forgets it when a unit is given back, here or on another instance", () =>
      Effect.gen(function* () {
        const store = yield* Store
        const here = yield* counted(store, [1, 0, 0])
        const there = yield* counted(store, [1, 0, 0])
        for (const [gate, token] of [
          [here, "a"],
          [there, "b"],
        ] as const) {
          assert.strictEqual(yield* gate.take(token), "taken")
          assert.strictEqual(yield* here.take("no"), 3600)
          yield* gate.refund(token)
        }
        assert.strictEqual(yield* here.take("c"), "taken")
      }).pipe(Effect.provide(memoryStore)),
    )

    it.effect("repeats it for no more than a second when the message about a refund was lost", () =>
      Effect.gen(function* () {
        const store = yield* Store
        const here = yield* counted(store, [1, 0, 0], true)
        const there = yield* counted(store, [1, 0, 0])
        yield* there.take("a")
        yield* here.take("b")
        yield* there.refund("a")
        yield* TestClock.adjust(1_000)
        assert.strictEqual(yield* here.take("c"), "taken")
      }).pipe(Effect.provide(memoryStore)),
    )

    it.effect(
      "a refusal because of open tickets is repeated too, until one of them ends, here or on another instance",
      () =>
        Effect.gen(function* () {
          const store = yield* Store
          const here = yield* counted(store, [5, 0, 1])
          const there = yield* counted(store, [5, 0, 1])
          for (const [gate, token] of [
            [here, "a"],
            [there, "b"],
          ] as const) {
            assert.strictEqual(yield* gate.take(token), "taken")
            const before = here.asked()
            for (const other of ["no", "nor this"]) assert.strictEqual(yield* here.take(other), 30)
            assert.strictEqual(here.asked(), before + 1)
            yield* gate.release(token)
          }
          assert.strictEqual(yield* here.take("c"), "taken")
        }).pipe(Effect.provide(memoryStore)),
    )
  })

  it("keeps both keys of a caller in one hash slot, IPv6 prefixes included", () => {
    assert.deepStrictEqual(keysOf("2001:db8::/64"), ["vg:{2001:db8::/64}:log", "vg:{2001:db8::/64}:refunds"])
  })
})
