/** The commands for users, while a platform runs on the same database: sign-ins, keys and the audit log. */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import { Audit } from "../../../src/platform/Audit.ts"
import { ApiKeys } from "../../../src/platform/keys/ApiKeys.ts"
import * as Platform from "../../../src/platform/Platform.ts"
import { Users } from "../../../src/platform/users/Users.ts"
import { type Runs, runCommand } from "../../harness/command.ts"
import { runProgram } from "../../harness/gate.ts"
import { cheapPasswords } from "../../support/passwords.ts"
import { onEachEngine, vaultKey } from "../engines.ts"

const EMAIL = "ada@example.test"
const readCode = Schema.decodeUnknownSync(Schema.Struct({ code: Schema.NullOr(Schema.String) }))

onEachEngine("platform user", (engine) => {
  it.live("adds, lists, disables and enables users and sets their passwords, which affects the running platform", () =>
    Effect.gen(function* () {
      const database = yield* engine.database
      const command = (args: ReadonlyArray<string>, password?: string, runs: Runs = runCommand) =>
        Effect.promise(() =>
          runs(["platform", "user", ...args], {
            VOICEGATE_PLATFORM_DATABASE: Redacted.value(database),
            VOICEGATE_PLATFORM_VAULT_KEY: Redacted.value(vaultKey),
            ...(password !== undefined && { VOICEGATE_PLATFORM_PASSWORD: password }),
          }),
        )
      const added = yield* command(["add", "--email", EMAIL, "--name", "Ada"], undefined, runProgram)
      assert.strictEqual(added.code, 0, added.output)
      const first = /password \(shown once\): (\S+)/.exec(added.output)?.[1] ?? ""
      const id = /user (\S+)/.exec(added.output)?.[1] ?? ""

      const context = yield* Layer.build(Platform.layer({ database, vaultKey }).pipe(Layer.provide(cheapPasswords)))
      const { origin } = Context.get(context, Platform.Platform)
      const users = Context.get(context, Users)
      const { secret } = yield* Context.get(context, ApiKeys).create(id, {
        name: "k",
        scope: { type: "Unrestricted" },
        permissions: ["read"],
      })
      const signIn = (password: string) =>
        Effect.promise(async () => {
          const response = await fetch(`${origin}/dashboard/api/session`, {
            method: "POST",
            headers: { origin, "content-type": "application/json" },
            body: JSON.stringify({ email: EMAIL, password }),
          })
          const cookie = response.headers.getSetCookie().find((each) => each.startsWith("voicegate_session="))
          return { status: response.status, cookie: cookie?.split(";", 1)[0] ?? "" }
        })
      const signedIn = (cookie: string) =>
        Effect.promise(async () => (await fetch(`${origin}/dashboard/api/session`, { headers: { cookie } })).status)
      const withKey = Effect.promise(async () => {
        const headers = { authorization: `Token ${Redacted.value(secret)}` }
        const response = await fetch(`${origin}/api/v1/business`, { headers })
        return `${response.status} ${readCode(await response.json()).code}`
      })

      const before = yield* signIn(first)
      assert.strictEqual(yield* signedIn(before.cookie), 200)
      const changed = yield* command(["password", "--email", EMAIL], "chosen by the operator")
      assert.strictEqual(changed.code, 0, changed.output)
      assert.notInclude(changed.output, "chosen by the operator")
      assert.strictEqual(yield* signedIn(before.cookie), 401)
      assert.strictEqual((yield* signIn(first)).status, 401)
      const after = yield* signIn("chosen by the operator")
      assert.strictEqual(yield* signedIn(after.cookie), 200)

      assert.strictEqual((yield* command(["disable", "--email", EMAIL])).code, 0)
      assert.include((yield* command(["list"])).output, `${EMAIL}\t${id}\tdisabled\tAda`)
      assert.strictEqual(yield* signedIn(after.cookie), 401)
      assert.strictEqual((yield* signIn("chosen by the operator")).status, 401)
      assert.strictEqual(yield* withKey, "403 USER_DISABLED")

      assert.strictEqual((yield* command(["enable", "--email", EMAIL])).code, 0)
      assert.include((yield* command(["list"])).output, `${EMAIL}\t${id}\tenabled\tAda`)
      assert.strictEqual(yield* signedIn(after.cookie), 401)
      assert.strictEqual((yield* signIn("chosen by the operator")).status, 200)
      assert.isFalse((yield* users.find(id)).disabled)

      const unknown = yield* command(["disable", "--email", "nobody@example.test"])
      assert.deepStrictEqual(
        [unknown.code, unknown.output.trim()],
        [1, "no user has the e-mail address nobody@example.test"],
      )
      const short = yield* command(["password", "--email", EMAIL], "short")
      assert.deepStrictEqual([short.code, short.output.trim()], [1, "the password: Expected 12 to 256 characters."])
      const actions = (yield* Context.get(context, Audit).list(id, {})).items.map(({ action }) => action)
      for (const action of ["user.password_changed", "user.disabled", "user.enabled"]) assert.include(actions, action)
    }),
  )
})
