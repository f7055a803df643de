/** What API keys may access, on both databases. */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Fiber, Latch, Layer, Queue, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as Access from "../../../src/platform/keys/Access.ts"
import { PERMISSIONS } from "../../../src/platform/keys/ApiKey.ts"
import { ApiKeys } from "../../../src/platform/keys/ApiKeys.ts"
import { FAILURES_PER_MINUTE, type Limits } from "../../../src/platform/keys/Budgets.ts"
import { FRESH_MILLIS } from "../../../src/platform/keys/KeyCache.ts"
import { mintSecret } from "../../../src/platform/keys/KeySecret.ts"
import { onEachEngine, servicesOf } from "../engines.ts"
import { prepare } from "../support.ts"
import { codeOf, process, startedOn, unlimited } from "./access-rig.ts"

onEachEngine("access", (engine) => {
  const started = (limits?: Limits) => startedOn(engine, limits)

  it.effect("authenticates a key, and answers every invalid one in the same way", () =>
    Effect.gen(function* () {
      const { keys, authenticate } = yield* started()
      const caller = yield* authenticate(keys.all)
      assert.strictEqual(caller.user.id, "u1")
      assert.notInclude(JSON.stringify(caller), Redacted.value(keys.all))
      const unknown = yield* Effect.flip(authenticate(mintSecret()))
      const typo = yield* Effect.flip(authenticate(Redacted.make("vgp_x")))
      assert.deepInclude(unknown, { kind: "unauthenticated", code: "API_KEY_INVALID" })
      assert.strictEqual(unknown.message, typo.message)
    }),
  )

  it.effect("refuses a mistyped key before any query", () =>
    Effect.gen(function* () {
      const { keys, sql, authenticate } = yield* started()
      // Without the table every query for a key fails, which reveals that there was one.
      yield* sql`ALTER TABLE api_keys RENAME TO hidden`
      const secret = Redacted.value(keys.all)
      const typo = Redacted.make(secret.slice(0, -1) + (secret.endsWith("a") ? "b" : "a"))
      assert.strictEqual(yield* codeOf(authenticate(typo)), "API_KEY_INVALID")
      assert.strictEqual(yield* codeOf(authenticate(keys.all)), "DatabaseUnavailable")
    }),
  )

  it.effect("opens a business to the keys whose scope has it, and to no other", () =>
    Effect.gen(function* () {
      const { access, keys, accessBusiness, authenticate } = yield* started()
      assert.strictEqual((yield* accessBusiness(keys.all, "b1")).name, "Shop")
      assert.strictEqual((yield* accessBusiness(keys.restricted, "b2")).name, "Cafe")
      assert.strictEqual(yield* codeOf(accessBusiness(keys.restricted, "b1")), "RESTRICTED_API_KEY")
      assert.strictEqual(yield* codeOf(accessBusiness(keys.restricted, "b9")), "RESTRICTED_API_KEY")
      const seen = yield* Effect.flatMap(authenticate(keys.restricted), access.businesses)
      assert.deepStrictEqual(
        seen.map(({ id }) => id),
        ["b2"],
      )
    }),
  )

  it.effect("gives a key no access after its only business was deleted", () =>
    Effect.gen(function* () {
      const { access, keys, accessBusiness, authenticate } = yield* started()
      const caller = yield* authenticate(keys.none)
      assert.deepStrictEqual(caller.key.scope, { type: "Restricted", businessIds: [] })
      for (const id of ["b1", "b2", "gone"]) {
        assert.strictEqual(yield* codeOf(accessBusiness(keys.none, id)), "RESTRICTED_API_KEY")
      }
      assert.deepStrictEqual(yield* access.businesses(caller), [])
    }),
  )

  it.effect("does not distinguish another user's business from one that does not exist", () =>
    Effect.gen(function* () {
      const { keys, accessBusiness } = yield* started()
      const foreign = yield* Effect.flip(accessBusiness(keys.all, "b3"))
      const missing = yield* Effect.flip(accessBusiness(keys.all, "b9"))
      assert.deepInclude(foreign, { kind: "not_found", code: "BUSINESS_NOT_FOUND" })
      assert.strictEqual(foreign.message, missing.message)
    }),
  )

  it.effect("lets only keys with user management act for the user, and only unrestricted ones for all businesses", () =>
    Effect.gen(function* () {
      const { access, keys, authenticate } = yield* started()
      const may = (secret: Redacted.Redacted<string>) => Effect.flatMap(authenticate(secret), access.userManagement)
      assert.strictEqual((yield* may(keys.users)).id, "u1")
      assert.strictEqual(yield* codeOf(may(keys.all)), "API_ACCESS_MANAGEMENT_RESTRICTION")
      assert.strictEqual((yield* Effect.flatMap(authenticate(keys.all), access.unrestricted)).id, "u1")
      assert.strictEqual(
        yield* codeOf(Effect.flatMap(authenticate(keys.restricted), access.unrestricted)),
        "RESTRICTED_API_KEY",
      )
    }),
  )

  it.effect("refuses a disabled user and a disabled business", () =>
    Effect.gen(function* () {
      const { businesses, keys, accessBusiness, users, authenticate } = yield* started()
      yield* authenticate(keys.all)
      yield* businesses.setDisabled("u1", "b1", true)
      assert.strictEqual(yield* codeOf(accessBusiness(keys.all, "b1")), "BUSINESS_DISABLED")
      yield* users.setDisabled("u1", true)
      assert.strictEqual(yield* codeOf(authenticate(keys.all)), "USER_DISABLED")
    }),
  )

  it.effect("refuses the keys of a user whom another process disabled, within 30 s", () =>
    Effect.gen(function* () {
      const { database, keys, users, authenticate } = yield* started()
      const other = yield* process(database)
      yield* other.authenticate(keys.all)
      yield* users.setDisabled("u1", true)
      assert.strictEqual(yield* codeOf(authenticate(keys.all)), "USER_DISABLED")
      yield* TestClock.adjust(FRESH_MILLIS)
      assert.strictEqual(yield* codeOf(other.authenticate(keys.all)), "USER_DISABLED")
    }),
  )

  it.effect("applies changed permissions at once in the process that changed them, and within 30 s everywhere", () =>
    Effect.gen(function* () {
      const { access, apiKeys, database, keys, authenticate } = yield* started()
      const other = yield* process(database)
      const { key } = yield* authenticate(keys.all)
      yield* other.authenticate(keys.all)
      yield* apiKeys.change("u1", key.id, { permissions: ["read"] })
      const manages = (one: Access.Access["Service"], caller: typeof authenticate) =>
        codeOf(Effect.flatMap(caller(keys.all), (principal) => one.permitted(principal, ["manage"])))
      assert.strictEqual(yield* manages(access, authenticate), "PERMISSION_MISSING")
      yield* TestClock.adjust(FRESH_MILLIS)
      assert.strictEqual(yield* manages(other.access, other.authenticate), "PERMISSION_MISSING")
      assert.deepStrictEqual((yield* other.authenticate(keys.all)).key.permissions, ["read"])
    }),
  )

  it.effect("gives keys from before permissions existed all permissions", () =>
    Effect.gen(function* () {
      const { apiKeys, sql } = yield* started()
      // the values of a migrated row, and of a row that an older process writes
      yield* sql`INSERT INTO api_keys (id, user_id, name, digest, display, restricted, user_management, created_at)
        VALUES ('old', 'u1', 'old', 'digest', 'vgp_…', 0, 0, 0)`
      const old = (yield* apiKeys.list("u1")).find(({ id }) => id === "old")
      assert.deepStrictEqual(old?.permissions, [...PERMISSIONS])
    }),
  )

  it.effect(
    "takes a good key from an address that tried any number of wrong ones, whether it is known here or not",
    () =>
      Effect.gen(function* () {
        const { apiKeys, keys, authenticate } = yield* started()
        const attacker = "2001:db8:1:2::1"
        yield* authenticate(keys.all, attacker)
        for (let i = 0; i < 5 * FAILURES_PER_MINUTE; i++) {
          assert.strictEqual(yield* codeOf(authenticate(mintSecret(), attacker)), "API_KEY_INVALID")
        }
        assert.strictEqual((yield* authenticate(keys.all, attacker)).key.name, "all")
        const { key } = yield* authenticate(keys.users, attacker)
        assert.strictEqual(key.name, "users")
        yield* apiKeys.revoke("u1", key.id)
        assert.strictEqual(yield* codeOf(authenticate(keys.users, attacker)), "API_KEY_INVALID")
        assert.strictEqual((yield* authenticate(keys.all, attacker)).key.name, "all")
      }),
  )

  it.effect("looks keys up one after another for addresses that try wrong ones, without delaying others", () =>
    Effect.gen(function* () {
      const asked = yield* Queue.unbounded<string>()
      const held = yield* Latch.make(false)
      const database = yield* engine.database
      const context = yield* Layer.build(Layer.fresh(servicesOf(database)))
      const keys = yield* Effect.map(Effect.provideContext(prepare(), context), (made) => made.keys)
      const real = Context.get(context, ApiKeys)
      const slow = ApiKeys.of({
        ...real,
        lookUp: (digest) =>
          Queue.offer(asked, digest).pipe(Effect.andThen(held.await), Effect.andThen(real.lookUp(digest))),
      })
      const layer = Access.layer(unlimited).pipe(
        Layer.provide(Layer.succeedContext(Context.add(context, ApiKeys, slow))),
      )
      const access = Context.get(yield* Layer.build(layer), Access.Access)
      const authenticate = (secret: Redacted.Redacted<string>, address: string) =>
        access.authenticate(Redacted.value(secret), address)
      yield* held.open
      for (let i = 0; i <= FAILURES_PER_MINUTE; i++) yield* codeOf(authenticate(mintSecret(), "192.0.2.77"))
      yield* held.close
      yield* Queue.clear(asked)
      const flood = yield* Effect.forEach(Array.from({ length: 50 }), () =>
        Effect.forkChild(codeOf(authenticate(mintSecret(), "192.0.2.77"))),
      )
      const behind = yield* Effect.forkChild(authenticate(keys.all, "192.0.2.77"))
      const elsewhere = yield* Effect.forkChild(authenticate(keys.users, "192.0.2.78"))
      while ((yield* Queue.size(asked)) < 2) yield* Effect.yieldNow
      for (let turn = 0; turn < 100; turn++) yield* Effect.yieldNow
      // one of the flood, and the one from another address
      assert.strictEqual(yield* Queue.size(asked), 2)
      yield* held.open
      assert.strictEqual((yield* Fiber.join(elsewhere)).key.name, "users")
      assert.strictEqual((yield* Fiber.join(behind)).key.name, "all")
      const codes = yield* Effect.forEach(flood, (fiber) => Fiber.join(fiber))
      assert.deepStrictEqual(new Set(codes), new Set(["API_KEY_INVALID"]))
    }),
  )

  it.effect("counts a key's requests per minute, and its starts separately", () =>
    Effect.gen(function* () {
      const { access, keys, authenticate } = yield* started({ requestsPerMinute: 3, startsPerMinute: 1 })
      const caller = yield* authenticate(keys.all)
      for (const remaining of [2, 1, 0]) {
        assert.deepInclude(yield* access.count(caller, "request"), { remaining, resetSeconds: 60 })
      }
      yield* TestClock.adjust(20_500)
      const error = yield* Effect.flip(access.count(caller, "request"))
      assert.deepInclude(error, { code: "RATE_LIMIT_EXCEEDED", retryAfterSeconds: 40 })
      yield* access.count(caller, "start")
      yield* access.count(yield* authenticate(keys.users), "request")
      yield* TestClock.adjust(39_500)
      assert.deepInclude(yield* access.count(caller, "request"), { remaining: 2 })
    }),
  )
})
