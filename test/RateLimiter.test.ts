/** What the rate limiter does around its scripts; the budgets themselves are the affair of `contract/`. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { keysOf, layer as limiterLayer, RateLimiter } from "../src/RateLimiter.ts"
import { StoreUnavailable } from "../src/Session.ts"
import { Store } from "../src/Store.ts"
import { settingsWith } from "./support/settings.ts"
import { memoryStore } from "./support/stores.ts"

/** A store that is away. */
const away = Layer.effect(
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
  it.effect("does not ask the store when there is no limit", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* take("a"), [])
    }).pipe(Effect.provide(limiter(away, [0, 0, 0]))),
  )

  it.effect("says that the store is away, and neither lets in nor refuses", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Effect.flip(take("a")))._tag, "StoreUnavailable")
      const refund = RateLimiter.use((service) => service.refund("1.2.3.4", "a"))
      assert.strictEqual((yield* Effect.flip(refund))._tag, "StoreUnavailable")
    }).pipe(Effect.provide(limiter(away, [20, 100, 0]))),
  )

  it.effect("names the budget that is used up in a sentence, and never the token", () =>
    Effect.gen(function* () {
      yield* take("s3cret-token")
      const refused = yield* Effect.flip(take("s3cret-token-2"))
      assert.strictEqual(refused.message, "You have used all your calls of this hour.")
      assert.notInclude(JSON.stringify(refused), "s3cret")
    }).pipe(Effect.provide(limiter(memoryStore, [1, 100, 0]))),
  )

  it.effect("asks to come back in half a minute while one's own calls are running", () =>
    Effect.gen(function* () {
      yield* take("a")
      const refused = yield* Effect.flip(take("b"))
      if (refused._tag !== "RateLimited") return yield* refused
      assert.deepStrictEqual([refused.limit, refused.retryAfterSeconds], ["concurrent", 30])
    }).pipe(Effect.provide(limiter(memoryStore, [0, 0, 1]))),
  )

  it.effect("says for the longest-lasting reason why it refuses, when several do", () =>
    Effect.gen(function* () {
      yield* take("a")
      const refused = yield* Effect.flip(take("b"))
      if (refused._tag !== "RateLimited") return yield* refused
      assert.deepStrictEqual([refused.limit, refused.retryAfterSeconds], ["hour", 3600])
    }).pipe(Effect.provide(limiter(memoryStore, [1, 0, 1]))),
  )

  it("keeps both keys of a caller in one hash slot, IPv6 prefixes included", () => {
    assert.deepStrictEqual(keysOf("2001:db8::/64"), ["vg:{2001:db8::/64}:log", "vg:{2001:db8::/64}:held"])
  })
})
