/** API keys and what they may access, on both databases. */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Fiber, Latch, Layer, Queue, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as Access from "../../src/platform/Access.ts"
import { ApiKeys, MAX_OVERLAP_MILLIS } from "../../src/platform/ApiKeys.ts"
import { Audit } from "../../src/platform/Audit.ts"
import { Businesses } from "../../src/platform/Businesses.ts"
import { FRESH_MILLIS } from "../../src/platform/KeyCache.ts"
import { mintSecret } from "../../src/platform/KeySecret.ts"
import { PERMISSIONS } from "../../src/platform/model.ts"
import { Users } from "../../src/platform/Users.ts"
import { onEachEngine, servicesOf } from "./engines.ts"
import { prepare } from "./support.ts"

const unlimited = { requestsPerMinute: 0, startsPerMinute: 0 }

/** One platform's services and its access; built again, it is another process on the same database. */
const process = Effect.fnUntraced(function* (database: Redacted.Redacted<string>, limits: Access.Limits = unlimited) {
  const context = yield* Layer.build(Layer.fresh(Access.layer(limits).pipe(Layer.provideMerge(servicesOf(database)))))
  const access = Context.get(context, Access.Access)
  const authenticate = (secret: Redacted.Redacted<string>, address = "192.0.2.1") =>
    access.authenticate(Redacted.value(secret), address)
  return {
    access,
    authenticate,
    accessBusiness: (secret: Redacted.Redacted<string>, businessId: string) =>
      Effect.flatMap(authenticate(secret), (caller) => access.business(caller, businessId)),
    apiKeys: Context.get(context, ApiKeys),
    businesses: Context.get(context, Businesses),
    users: Context.get(context, Users),
    audit: Context.get(context, Audit),
    sql: Context.get(context, SqlClient.SqlClient),
    makeKeys: Effect.map(Effect.provideContext(prepare(), context), ({ keys }) => keys),
  }
})

/** The code of a refusal. */
const codeOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => ("code" in error ? error.code : error._tag))

onEachEngine("access", (engine) => {
  const started = (limits?: Access.Limits) =>
    Effect.gen(function* () {
      const database = yield* engine.database
      const first = yield* process(database, limits)
      const keys = yield* first.makeKeys
      return { ...first, database, keys }
    })

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

  it.effect("refuses a restricted key without businesses, with a foreign one, and with an invalid name or expiry", () =>
    Effect.gen(function* () {
      const { apiKeys } = yield* started()
      yield* TestClock.setTime(1_000)
      const make = (businessIds: ReadonlyArray<string>, more = {}) =>
        codeOf(
          apiKeys.create("u1", {
            name: "k",
            scope: { type: "Restricted", businessIds },
            permissions: ["start"],
            ...more,
          }),
        )
      assert.strictEqual(yield* make([]), "BUSINESSES_REQUIRED")
      assert.strictEqual(yield* make(["b1", "b3"]), "BUSINESS_NOT_FOUND")
      assert.strictEqual(yield* make(["b1"], { name: " " }), "NAME_INVALID")
      assert.strictEqual(yield* make(["b1"], { permissions: [] }), "PERMISSIONS_REQUIRED")
      assert.strictEqual(yield* make(["b1"], { expiresAt: 1_000 }), "EXPIRY_INVALID")
      assert.lengthOf(yield* apiKeys.list("u1"), 5)
    }),
  )

  it.effect("shows a key's secret once: what is listed, logged in the audit or kept holds none", () =>
    Effect.gen(function* () {
      const { apiKeys, audit, database, keys } = yield* started()
      const listed = yield* apiKeys.list("u1")
      assert.lengthOf(listed, 5)
      const entries = yield* audit.list("u1", {})
      const dump = yield* Effect.promise(() => engine.dump(database))
      assert.include(dump, "api_key.created")
      for (const secret of Object.values(keys)) {
        const text = Redacted.value(secret)
        assert.notInclude(JSON.stringify([listed, entries]), text)
        // Not even the random part.
        assert.notInclude(dump, text.slice(4, 30))
      }
      const restricted = listed.find(({ name }) => name === "restricted")
      assert.deepInclude(restricted, { userManagement: false, scope: { type: "Restricted", businessIds: ["b2"] } })
      assert.strictEqual(restricted?.display, `vgp_…${Redacted.value(keys.restricted).slice(-4)}`)
    }),
  )

  it.effect("refuses a revoked key at once where it was revoked, and within 30 s by every other process", () =>
    Effect.gen(function* () {
      const { apiKeys, audit, database, keys, authenticate } = yield* started()
      const other = yield* process(database)
      yield* authenticate(keys.all)
      yield* other.authenticate(keys.all)
      const all = (yield* apiKeys.list("u1")).find(({ name }) => name === "all")
      yield* apiKeys.revoke("u1", all?.id ?? "")
      assert.strictEqual(yield* codeOf(authenticate(keys.all)), "API_KEY_INVALID")
      // The other process does not know yet, and will.
      yield* other.authenticate(keys.all)
      yield* TestClock.adjust(FRESH_MILLIS)
      assert.isAtMost(FRESH_MILLIS, 30_000)
      assert.strictEqual(yield* codeOf(other.authenticate(keys.all)), "API_KEY_INVALID")
      assert.strictEqual(yield* codeOf(apiKeys.revoke("u2", all?.id ?? "")), "KEY_NOT_FOUND")
      // Repeating it changes nothing and is not logged again.
      yield* apiKeys.revoke("u1", all?.id ?? "")
      const entries = (yield* audit.list("u1", {})).items
      assert.lengthOf(
        entries.filter(({ action, subjectId }) => action === "api_key.revoked" && subjectId === all?.id),
        1,
      )
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

  it.effect("refuses a key after its expiry, whatever is cached", () =>
    Effect.gen(function* () {
      const { apiKeys, authenticate } = yield* started()
      const wanted = { name: "e", scope: { type: "Unrestricted" as const }, permissions: PERMISSIONS, expiresAt: 5_000 }
      const { secret } = yield* apiKeys.create("u1", wanted)
      yield* TestClock.setTime(4_999)
      assert.strictEqual((yield* authenticate(secret)).key.name, "e")
      yield* TestClock.setTime(5_000)
      assert.strictEqual(yield* codeOf(authenticate(secret)), "API_KEY_INVALID")
    }),
  )

  it.effect(
    "rotates a key: both secrets work until the overlap ends, whatever is cached, and then the new one alone",
    () =>
      Effect.gen(function* () {
        const { apiKeys, audit, authenticate, database, keys } = yield* started()
        const other = yield* process(database)
        const { key } = yield* authenticate(keys.all)
        const rotated = yield* apiKeys.rotate("u1", key.id, 60_000)
        assert.notStrictEqual(rotated.key.display, key.display)
        assert.strictEqual(rotated.key.previousSecretUntil, 60_000)
        for (const one of [authenticate, other.authenticate]) {
          assert.strictEqual((yield* one(keys.all)).key.id, key.id)
          assert.deepStrictEqual((yield* one(rotated.secret)).key.permissions, key.permissions)
        }
        yield* TestClock.setTime(59_999)
        yield* authenticate(keys.all)
        yield* TestClock.setTime(60_000)
        assert.strictEqual(yield* codeOf(authenticate(keys.all)), "API_KEY_INVALID")
        assert.strictEqual(yield* codeOf(other.authenticate(keys.all)), "API_KEY_INVALID")
        yield* authenticate(rotated.secret)

        // without an overlap, and after a second rotation, the secret of before ends at once
        const second = yield* apiKeys.rotate("u1", key.id, 120_000)
        const third = yield* apiKeys.rotate("u1", key.id, null)
        for (const ended of [rotated.secret, second.secret]) {
          assert.strictEqual(yield* codeOf(authenticate(ended)), "API_KEY_INVALID")
        }
        yield* authenticate(third.secret)
        const entries = (yield* audit.list("u1", {})).items.filter(({ action }) => action === "api_key.rotated")
        assert.lengthOf(entries, 3)
        assert.isTrue(entries.some(({ detail }) => detail.includes("works until 1970-01-01T00:01:00.000Z")))

        for (const until of [60_000, 60_000 + MAX_OVERLAP_MILLIS + 1]) {
          assert.strictEqual(yield* codeOf(apiKeys.rotate("u1", key.id, until)), "OVERLAP_INVALID")
        }
        assert.strictEqual(yield* codeOf(apiKeys.rotate("u2", key.id, null)), "KEY_NOT_FOUND")
        yield* apiKeys.revoke("u1", key.id)
        assert.strictEqual(yield* codeOf(apiKeys.rotate("u1", key.id, null)), "KEY_NOT_FOUND")
        assert.strictEqual(yield* codeOf(authenticate(third.secret)), "API_KEY_INVALID")
      }),
  )

  it.effect("revokes both secrets of a rotated key, and neither outlives the key", () =>
    Effect.gen(function* () {
      const { apiKeys, authenticate } = yield* started()
      const wanted = { name: "e", scope: { type: "Unrestricted" as const }, permissions: PERMISSIONS, expiresAt: 5_000 }
      const { key, secret } = yield* apiKeys.create("u1", wanted)
      yield* apiKeys.rotate("u1", key.id, 60_000)
      yield* authenticate(secret)
      yield* TestClock.setTime(5_000)
      assert.strictEqual(yield* codeOf(authenticate(secret)), "API_KEY_INVALID")
      assert.strictEqual(yield* codeOf(apiKeys.rotate("u1", key.id, null)), "KEY_NOT_FOUND")

      const next = yield* apiKeys.create("u1", { ...wanted, expiresAt: null })
      const rotated = yield* apiKeys.rotate("u1", next.key.id, 60_000)
      yield* apiKeys.revoke("u1", next.key.id)
      for (const ended of [next.secret, rotated.secret]) {
        assert.strictEqual(yield* codeOf(authenticate(ended)), "API_KEY_INVALID")
      }
    }),
  )

  it.effect("takes a key only from its addresses, and names in the audit log from where it was refused", () =>
    Effect.gen(function* () {
      const { apiKeys, audit, authenticate, database } = yield* started()
      const wanted = { name: "gate", scope: { type: "Unrestricted" as const }, permissions: PERMISSIONS }
      const allowedAddresses = [" 203.0.113.0/24", "203.0.113.0/24", "2001:db8:1::/48", "198.51.100.7"]
      const { key, secret } = yield* apiKeys.create("u1", { ...wanted, allowedAddresses })
      assert.deepStrictEqual(key.allowedAddresses, ["203.0.113.0/24", "2001:db8:1::/48", "198.51.100.7"])
      for (const allowed of ["203.0.113.9", "::ffff:203.0.113.9", "2001:db8:1:2::9", "198.51.100.7"]) {
        yield* authenticate(secret, allowed)
      }
      for (const other of ["203.0.114.9", "198.51.100.8", "2001:db8:2::9", "", "unknown"]) {
        const refusal = yield* Effect.flip(authenticate(secret, other))
        assert.deepInclude(refusal, { kind: "forbidden", code: "ADDRESS_NOT_ALLOWED" })
      }
      const refused = Effect.map(audit.list("u1", {}), ({ items }) =>
        items.flatMap(({ action, detail, subjectId }) =>
          action === "api_key.address_refused" && subjectId === key.id ? [detail] : [],
        ),
      )
      // one a minute of a key, and a network only once an hour: a stolen key cannot fill the log
      assert.deepStrictEqual(yield* refused, [`gate (${key.display}), from 203.0.114.9`])
      yield* TestClock.adjust("1 minute")
      yield* Effect.flip(authenticate(secret, "203.0.114.9"))
      yield* Effect.flip(authenticate(secret, "198.51.100.8"))
      assert.lengthOf(yield* refused, 2)

      yield* apiKeys.change("u1", key.id, { allowedAddresses: ["198.51.100.8"] })
      yield* authenticate(secret, "198.51.100.8")
      assert.strictEqual(yield* codeOf(authenticate(secret, "203.0.113.9")), "ADDRESS_NOT_ALLOWED")
      assert.strictEqual(yield* codeOf((yield* process(database)).authenticate(secret)), "ADDRESS_NOT_ALLOWED")
      yield* apiKeys.change("u1", key.id, { allowedAddresses: [] })
      yield* authenticate(secret, "203.0.113.9")
      for (const wrong of ["example.com", "300.1.1.1", "[2001:db8::1]", "fe80::1%eth0", "10.0.0.0/33"]) {
        const named = { ...wanted, allowedAddresses: ["192.0.2.1", wrong] }
        const refusal = yield* Effect.flip(apiKeys.create("u1", named))
        assert.deepInclude(refusal, { code: "ADDRESSES_INVALID" })
        assert.include(refusal.message, "number 2")
        const changed = apiKeys.change("u1", key.id, { allowedAddresses: [wrong] })
        assert.strictEqual(yield* codeOf(changed), "ADDRESSES_INVALID")
      }
      const many = Array.from({ length: 51 }, (_, index) => `192.0.2.${index}`)
      assert.strictEqual(
        yield* codeOf(apiKeys.create("u1", { ...wanted, allowedAddresses: many })),
        "ADDRESSES_INVALID",
      )
    }),
  )

  it.effect("moves the expiry of a key that still works, and revives none", () =>
    Effect.gen(function* () {
      const { apiKeys, authenticate } = yield* started()
      const wanted = { name: "e", scope: { type: "Unrestricted" as const }, permissions: PERMISSIONS, expiresAt: 5_000 }
      const { key, secret } = yield* apiKeys.create("u1", wanted)
      assert.strictEqual(yield* codeOf(apiKeys.change("u1", key.id, { expiresAt: 0 })), "EXPIRY_INVALID")
      yield* apiKeys.change("u1", key.id, { expiresAt: 9_000 })
      yield* TestClock.setTime(5_000)
      yield* authenticate(secret)
      yield* apiKeys.change("u1", key.id, { name: "renamed" })
      yield* TestClock.setTime(9_000)
      assert.strictEqual(yield* codeOf(authenticate(secret)), "API_KEY_INVALID")
      assert.strictEqual(yield* codeOf(apiKeys.change("u1", key.id, { expiresAt: null })), "KEY_NOT_FOUND")
      const other = yield* apiKeys.create("u1", { ...wanted, expiresAt: 20_000 })
      yield* apiKeys.change("u1", other.key.id, { expiresAt: null })
      yield* TestClock.setTime(30_000)
      yield* authenticate(other.secret)
    }),
  )

  it.effect("renames a key, which keeps its permissions and its secret", () =>
    Effect.gen(function* () {
      const { apiKeys, authenticate, keys } = yield* started()
      const { key } = yield* authenticate(keys.all)
      const renamed = yield* apiKeys.change("u1", key.id, { name: " Reporting " })
      assert.deepStrictEqual([renamed.name, renamed.permissions], ["Reporting", key.permissions])
      assert.strictEqual((yield* authenticate(keys.all)).key.name, "Reporting")
      assert.strictEqual((yield* apiKeys.change("u1", key.id, {})).name, "Reporting")
      for (const name of ["", " ", "x".repeat(101)]) {
        assert.strictEqual(yield* codeOf(apiKeys.change("u1", key.id, { name })), "NAME_INVALID")
      }
    }),
  )

  it.effect("records the use of a key at most once a minute", () =>
    Effect.gen(function* () {
      const { apiKeys, database, keys, authenticate } = yield* started()
      const other = yield* process(database)
      const lastUsed = Effect.map(apiKeys.list("u1"), (all) => all.find(({ name }) => name === "all")?.lastUsedAt)
      assert.isNull(yield* lastUsed)
      yield* TestClock.setTime(100_000)
      yield* authenticate(keys.all)
      assert.strictEqual(yield* lastUsed, 100_000)
      yield* TestClock.setTime(159_999)
      yield* authenticate(keys.all)
      yield* other.authenticate(keys.all)
      assert.strictEqual(yield* lastUsed, 100_000)
      yield* TestClock.setTime(160_000)
      yield* authenticate(keys.all)
      assert.strictEqual(yield* lastUsed, 160_000)
    }),
  )

  it.effect(
    "takes a good key from an address that tried any number of wrong ones, whether it is known here or not",
    () =>
      Effect.gen(function* () {
        const { apiKeys, keys, authenticate } = yield* started()
        const attacker = "2001:db8:1:2::1"
        yield* authenticate(keys.all, attacker)
        for (let i = 0; i < 5 * Access.FAILURES_PER_MINUTE; i++) {
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
      for (let i = 0; i <= Access.FAILURES_PER_MINUTE; i++) yield* codeOf(authenticate(mintSecret(), "192.0.2.77"))
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
