/** The names of callers: plain addresses, or hashes whose key all instances share and that changes every week. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer } from "effect"
import { TestClock } from "effect/testing"
import { CallerNames, KEY_MILLIS } from "../../src/caller-names/CallerNames.ts"
import { StoreUnavailable } from "../../src/protocol/refusals.ts"
import { Store } from "../../src/store/Store.ts"
import { settingsWith } from "../harness/settings.ts"
import { onEveryStore } from "../harness/stores.ts"

/** Another instance on the same store. */
const instance = (addresses: "plain" | "hashed") =>
  Effect.map(
    Layer.build(
      Layer.fresh(CallerNames.layer).pipe(Layer.provide(settingsWith({ Privacy: { Addresses: addresses } }))),
    ),
    (context) => Context.get(context, CallerNames),
  )
const nameAt = (names: CallerNames["Service"], address: string) =>
  Effect.map(names.ready ?? Effect.void, () => names.of(address))

describe("a caller's name", () => {
  onEveryStore((store) => {
    it.effect("is the address, and costs nothing, unless it is hashed", () =>
      Effect.gen(function* () {
        const names = yield* instance("plain")
        assert.isUndefined(names.ready)
        assert.strictEqual(names.of("203.0.113.9"), "203.0.113.9")
        assert.strictEqual(names.shown("2001:db8::1"), "2001:db8::1")
      }).pipe(Effect.provide(store)),
    )

    it.effect("is the same hash on every instance, per /64 of IPv6, and does not reveal the address", () =>
      Effect.gen(function* () {
        const [one, other] = [yield* instance("hashed"), yield* instance("hashed")]
        const name = yield* nameAt(one, "203.0.113.9")
        assert.match(name, /^h[A-Za-z0-9_-]{16}$/)
        assert.strictEqual(yield* nameAt(other, "203.0.113.9"), name)
        assert.notStrictEqual(yield* nameAt(one, "203.0.113.8"), name)
        assert.strictEqual(one.shown("203.0.113.9"), name)
        assert.strictEqual(one.shown("2001:db8:1:2::1"), other.shown("2001:db8:1:2:ffff::9"))
        assert.notStrictEqual(one.shown("2001:db8:1:2::1"), one.shown("2001:db8:1:3::1"))
        assert.strictEqual(one.shown(""), "")
      }).pipe(Effect.provide(store)),
    )

    it.effect("changes every week, on Monday, on all instances at once", () =>
      Effect.gen(function* () {
        const [one, other] = [yield* instance("hashed"), yield* instance("hashed")]
        const seen = new Set<string>()
        const shared = yield* Store
        const now = yield* shared.now
        const monday = Math.ceil((now - 4 * 86_400_000) / KEY_MILLIS) * KEY_MILLIS + 4 * 86_400_000
        assert.strictEqual(new Date(monday).getUTCDay(), 1)
        for (const later of [0, monday - now - 1_000, 2_000, KEY_MILLIS]) {
          yield* TestClock.adjust(later)
          const name = yield* nameAt(one, "203.0.113.9")
          assert.strictEqual(yield* nameAt(other, "203.0.113.9"), name)
          seen.add(name)
        }
        // the first two are in the same week
        assert.strictEqual(seen.size, 3)
      }).pipe(Effect.provide(store)),
    )

    it.effect("stays the same for a subject, on every instance, also on one that starts weeks later", () =>
      Effect.gen(function* () {
        const one = yield* instance("hashed")
        const nameOf = (names: CallerNames["Service"]) =>
          Effect.map(names.ready ?? Effect.void, () => names.subject("customer-7"))
        const name = yield* nameOf(one)
        assert.match(name, /^sub:h[A-Za-z0-9_-]{16}$/)
        assert.notStrictEqual(name, `sub:${yield* nameAt(one, "sub:customer-7")}`)
        for (let week = 0; week < 5; week++) {
          yield* TestClock.adjust(KEY_MILLIS)
          assert.strictEqual(yield* nameOf(one), name)
        }
        assert.strictEqual(yield* nameOf(yield* instance("hashed")), name)
      }).pipe(Effect.provide(store)),
    )

    it.effect("of a subject is never hashed with a key that only one instance knows", () =>
      Effect.gen(function* () {
        const shared = yield* Store
        let isAway = true
        // the key of addresses is agreed on
        const failing = Layer.succeed(Store, {
          ...shared,
          run: (rule, ask) =>
            isAway && ask.keys.includes("vg:privacy:subjects")
              ? Effect.fail(new StoreUnavailable({ message: "away" }))
              : shared.run(rule, ask),
        })
        const late = yield* Effect.provide(instance("hashed"), failing)
        assert.isTrue(Exit.isFailure(yield* Effect.exit(late.ready ?? Effect.void)))
        isAway = false
        yield* late.ready ?? Effect.void
        const other = yield* instance("hashed")
        assert.strictEqual(late.subject("customer-7"), other.subject("customer-7"))
      }).pipe(Effect.provide(store)),
    )
  })
})
