import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { Accounts, layerMemory, SeedInvalid } from "../../src/platform/Accounts.ts"
import { mintSecret } from "../../src/platform/ApiKeys.ts"
import { makeSeed } from "./support.ts"

const { seed, keys } = makeSeed()
const who = (secret: Redacted.Redacted<string>) =>
  Effect.flatMap(Accounts, (accounts) => accounts.authenticate(Redacted.value(secret)))
const touch = (secret: Redacted.Redacted<string>, businessId: string) =>
  Effect.gen(function* () {
    const accounts = yield* Accounts
    return yield* accounts.business(yield* who(secret), businessId)
  })

describe("accounts", () => {
  it.effect("know who a key stands for, and answer every bad one alike", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* who(keys.all)).user.id, "u1")
      const unknown = yield* Effect.flip(who(mintSecret()))
      const typo = yield* Effect.flip(who(Redacted.make("vgp_x")))
      assert.deepInclude(unknown, { kind: "unauthenticated", code: "API_KEY_INVALID" })
      assert.deepStrictEqual([unknown.code, unknown.message], [typo.code, typo.message])
    }).pipe(Effect.provide(layerMemory(seed))),
  )

  it.effect("refuse a key from its expiry on", () => {
    const secret = mintSecret()
    const expiring = {
      name: "e",
      userId: "u1",
      secret,
      scope: { type: "Unrestricted" as const },
      userManagement: false,
      expiresAt: 1000,
    }
    return Effect.gen(function* () {
      yield* TestClock.setTime(999)
      assert.strictEqual((yield* who(secret)).key.name, "e")
      yield* TestClock.setTime(1000)
      assert.strictEqual((yield* Effect.flip(who(secret))).code, "API_KEY_INVALID")
    }).pipe(Effect.provide(layerMemory({ ...seed, keys: [expiring] })))
  })

  it.effect("never keep a secret", () =>
    Effect.gen(function* () {
      const caller = yield* who(keys.all)
      assert.notInclude(JSON.stringify(caller), Redacted.value(keys.all))
    }).pipe(Effect.provide(layerMemory(seed))),
  )

  it.effect("open a business to the keys whose scope has it", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* touch(keys.all, "b1")).name, "Shop")
      assert.strictEqual((yield* touch(keys.restricted, "b2")).name, "Cafe")
      assert.strictEqual((yield* Effect.flip(touch(keys.restricted, "b1"))).code, "RESTRICTED_API_KEY")
    }).pipe(Effect.provide(layerMemory(seed))),
  )

  it.effect("take restricted to nothing for nothing", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Effect.flip(touch(keys.none, "b1"))).code, "RESTRICTED_API_KEY")
    }).pipe(Effect.provide(layerMemory(seed))),
  )

  it.effect("do not tell somebody else's business from one that does not exist", () =>
    Effect.gen(function* () {
      const foreign = yield* Effect.flip(touch(keys.all, "b3"))
      const missing = yield* Effect.flip(touch(keys.all, "b9"))
      assert.deepStrictEqual(
        [foreign.kind, foreign.code, foreign.message],
        [missing.kind, missing.code, missing.message],
      )
      const restricted = yield* Effect.flip(touch(keys.restricted, "b9"))
      assert.strictEqual(restricted.code, "RESTRICTED_API_KEY")
    }).pipe(Effect.provide(layerMemory(seed))),
  )

  it.effect("refuse a disabled user and a disabled business", () =>
    Effect.gen(function* () {
      const off = { ...seed, users: seed.users.map((user) => ({ ...user, disabled: true })) }
      const disabled = yield* Effect.flip(Effect.provide(who(keys.all), layerMemory(off)))
      assert.deepInclude(disabled, { kind: "forbidden", code: "USER_DISABLED" })
      const closed = { ...seed, businesses: seed.businesses.map((business) => ({ ...business, disabled: true })) }
      const error = yield* Effect.flip(Effect.provide(touch(keys.all, "b1"), layerMemory(closed)))
      assert.deepInclude(error, { kind: "forbidden", code: "BUSINESS_DISABLED" })
    }),
  )

  it.effect("name everything that is wrong with a seed", () =>
    Effect.gen(function* () {
      const wrong = {
        ...seed,
        keys: [
          {
            name: "typo",
            userId: "u1",
            secret: Redacted.make("vgp_x"),
            scope: { type: "Unrestricted" as const },
            userManagement: false,
          },
          {
            name: "greedy",
            userId: "u1",
            secret: mintSecret(),
            scope: { type: "Restricted" as const, businessIds: ["b3"] },
            userManagement: false,
          },
        ],
      }
      const error = yield* Effect.flip(Effect.scoped(Layer.build(layerMemory(wrong))))
      assert.instanceOf(error, SeedInvalid)
      assert.lengthOf(error.problems, 2)
      assert.notInclude(error.message, "vgp_x")
    }),
  )
})
