/** The commands for API keys, while a platform runs on the same database. */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { Audit } from "../../../src/platform/Audit.ts"
import { Businesses } from "../../../src/platform/businesses/Businesses.ts"
import { ApiKeys } from "../../../src/platform/keys/ApiKeys.ts"
import { Users } from "../../../src/platform/users/Users.ts"
import { runCommand } from "../../harness/command.ts"
import { cheapPasswords } from "../../support/passwords.ts"
import { onEachEngine, servicesOf, vaultKey } from "../engines.ts"

const EMAIL = "ada@example.test"

onEachEngine("platform key", (engine) => {
  it.live("lists, changes and revokes the keys of a user, never shows a secret, and refuses what makes no sense", () =>
    Effect.gen(function* () {
      const database = yield* engine.database
      const context = yield* Layer.build(servicesOf(database).pipe(Layer.provide(cheapPasswords)))
      const keys = Context.get(context, ApiKeys)
      const users = Context.get(context, Users)
      const account = { callConcurrency: 1, password: Redacted.make("a password of the test") }
      const ada = yield* users.create({ ...account, name: "Ada", email: EMAIL })
      const other = yield* users.create({ ...account, name: "Bob", email: "bob@example.test" })
      yield* Context.get(context, Businesses).create(ada.id, { id: "b1", name: "One" })
      yield* Context.get(context, Businesses).create(ada.id, { id: "b2", name: "Two" })
      const { key, secret } = yield* keys.create(ada.id, { name: "gate", scope: { type: "Unrestricted" } })
      const foreign = yield* keys.create(other.id, { name: "foreign", scope: { type: "Unrestricted" } })

      const env = {
        VOICEGATE_PLATFORM_DATABASE: Redacted.value(database),
        VOICEGATE_PLATFORM_VAULT_KEY: Redacted.value(vaultKey),
      }
      const command = (name: string, ...args: ReadonlyArray<string>) =>
        Effect.promise(async () => {
          const { code, stderr, stdout } = await runCommand(["platform", "key", name, "--email", EMAIL, ...args], env)
          assert.notInclude(stdout + stderr, Redacted.value(secret))
          return [code, stdout.trim(), stderr.trim()] as const
        })
      const all = "start, read, manage"
      assert.deepStrictEqual(yield* command("list"), [
        0,
        [key.id, key.display, "works", "unrestricted", all, "-", "gate"].join("\t"),
        "",
      ])
      const narrowed = ["--business", "b2", "--business", "b1", "--permission", "start", "--user-management", "on"]
      assert.deepStrictEqual(yield* command("change", "--key", key.id, ...narrowed, "--name", "narrow"), [
        0,
        [key.id, key.display, "works", "restricted: b1, b2", "start", "user management", "narrow"].join("\t"),
        "",
      ])
      const [code, document] = yield* command("change", "--key", key.id, "--scope", "unrestricted", "--json")
      assert.strictEqual(code, 0)
      const expected = { ...key, name: "narrow", permissions: ["start"], userManagement: true }
      assert.deepStrictEqual(JSON.parse(document), expected)
      assert.deepStrictEqual(JSON.parse((yield* command("list", "--json"))[1]), [expected])

      const refusals: ReadonlyArray<readonly [ReadonlyArray<string>, string]> = [
        [[], "nothing to change: Expected --name, --scope, --business, --permission or --user-management."],
        [["--scope", "restricted"], "--scope restricted: Expected at least one --business."],
        [
          ["--scope", "unrestricted", "--business", "b1"],
          "--scope unrestricted: Expected no --business, which restricts the key.",
        ],
        [["--business", "b3"], "a listed business does not exist"],
        [["--name", " "], "the name of the key: Expected 1 to 100 characters."],
      ]
      for (const [args, message] of refusals) {
        assert.deepStrictEqual(yield* command("change", "--key", key.id, ...args), [1, "", message])
      }
      assert.deepStrictEqual(yield* command("revoke", "--key", foreign.key.id), [1, "", "no such key"])

      const [revoked, line] = yield* command("revoke", "--key", key.id)
      assert.strictEqual(revoked, 0)
      assert.include(line, `${key.id}\t${key.display}\trevoked\t`)
      assert.include((yield* command("change", "--key", key.id, "--name", "late"))[2], "this key was revoked")
      assert.isNotNull((yield* keys.list(ada.id))[0]?.revokedAt)
      assert.isNull((yield* keys.list(other.id))[0]?.revokedAt)
      const actions = (yield* Context.get(context, Audit).list(ada.id, {})).items.map(({ action }) => action)
      for (const action of ["api_key.changed", "api_key.revoked"]) assert.include(actions, action)
    }),
  )
})
