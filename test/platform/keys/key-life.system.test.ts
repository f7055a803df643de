/** The life of an API key: creation, use, rotation, expiry and revocation, on both databases. */
import { assert, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { PERMISSIONS } from "../../../src/platform/keys/ApiKey.ts"
import { MAX_OVERLAP_MILLIS } from "../../../src/platform/keys/ApiKeys.ts"
import { FRESH_MILLIS } from "../../../src/platform/keys/KeyCache.ts"
import { onEachEngine } from "../engines.ts"
import { codeOf, process, startedOn } from "./access-rig.ts"

onEachEngine("the life of a key", (engine) => {
  const started = () => startedOn(engine)

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
        assert.strictEqual(yield* codeOf(apiKeys.rotate("u1", key.id, null)), "KEY_REVOKED")
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
      assert.strictEqual(yield* codeOf(apiKeys.rotate("u1", key.id, null)), "KEY_EXPIRED")

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
      assert.strictEqual(yield* codeOf(apiKeys.change("u1", key.id, { expiresAt: null })), "KEY_EXPIRED")
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

  it.effect("refuses a key that another process has revoked, also when this one's clock was set back meanwhile", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(3_600_000)
      const { apiKeys, database, keys } = yield* started()
      const other = yield* process(database)
      yield* other.authenticate(keys.all)
      const all = (yield* apiKeys.list("u1")).find(({ name }) => name === "all")
      yield* apiKeys.revoke("u1", all?.id ?? "")
      yield* TestClock.setTime(3_000_000)
      assert.strictEqual(yield* codeOf(other.authenticate(keys.all)), "API_KEY_INVALID")
    }),
  )

  it.effect("changes scope and user management of a key, here at once and within 30 s in every other process", () =>
    Effect.gen(function* () {
      const { apiKeys, audit, authenticate, accessBusiness, database } = yield* started()
      const other = yield* process(database)
      const { key, secret } = yield* apiKeys.create("u1", {
        name: "partner",
        scope: { type: "Restricted", businessIds: ["b1"] },
        userManagement: true,
      })
      assert.strictEqual((yield* other.accessBusiness(secret, "b1")).id, "b1")
      assert.strictEqual(yield* codeOf(accessBusiness(secret, "b2")), "RESTRICTED_API_KEY")
      const narrowed = yield* apiKeys.change("u1", key.id, {
        scope: { type: "Restricted", businessIds: ["b2", "b2"] },
        userManagement: false,
      })
      assert.deepInclude(narrowed, { scope: { type: "Restricted", businessIds: ["b2"] }, userManagement: false })
      assert.deepStrictEqual(narrowed.permissions, PERMISSIONS)
      assert.strictEqual(yield* codeOf(accessBusiness(secret, "b1")), "RESTRICTED_API_KEY")
      assert.strictEqual((yield* accessBusiness(secret, "b2")).id, "b2")
      assert.isFalse((yield* authenticate(secret)).key.userManagement)
      // the other process may still know the key as it was, and not for longer than it says
      yield* TestClock.adjust(FRESH_MILLIS)
      assert.strictEqual(yield* codeOf(other.accessBusiness(secret, "b1")), "RESTRICTED_API_KEY")
      assert.isFalse((yield* other.authenticate(secret)).key.userManagement)
      const entry = (yield* audit.list("u1", {})).items.find(({ action }) => action === "api_key.changed")
      assert.include(entry?.detail, "restricted to b2")
      assert.notInclude(entry?.detail, "with user management")

      const opened = yield* apiKeys.change("u1", key.id, { scope: { type: "Unrestricted" }, userManagement: true })
      assert.deepInclude(opened, { scope: { type: "Unrestricted" }, userManagement: true })
      assert.strictEqual((yield* accessBusiness(secret, "b1")).id, "b1")
      const change = (businessIds: ReadonlyArray<string>) =>
        codeOf(apiKeys.change("u1", key.id, { scope: { type: "Restricted", businessIds } }))
      assert.strictEqual(yield* change([]), "BUSINESSES_REQUIRED")
      assert.strictEqual(yield* change(["b1", "b3"]), "BUSINESS_NOT_FOUND")
      const [listed] = (yield* apiKeys.list("u1")).filter(({ id }) => id === key.id)
      assert.deepStrictEqual(listed?.scope, { type: "Unrestricted" })
    }),
  )

  it.effect("reports every wrong field of a key at once, each by its name", () =>
    Effect.gen(function* () {
      const { apiKeys } = yield* started()
      yield* TestClock.setTime(1_000)
      const refused = yield* Effect.flip(
        apiKeys.create("u1", {
          name: " ",
          scope: { type: "Restricted", businessIds: [] },
          permissions: [],
          expiresAt: 1,
          allowedAddresses: ["192.0.2.1", "nonsense", "10.0.0.0/40"],
        }),
      )
      const fields = refused._tag === "Refused" ? (refused.fields ?? []) : []
      assert.deepStrictEqual(
        fields.map(({ field }) => field),
        ["name", "scope", "permissions", "expiresAt", "allowedAddresses"],
      )
      assert.include(fields.at(-1)?.message, "number 2, 3")
      for (const { message } of fields) assert.include(refused.message, message)
    }),
  )
})
