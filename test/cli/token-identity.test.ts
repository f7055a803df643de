/** The command `token identity`: what it signs is what a gate with the same settings accepts. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { IdentityTokens } from "../../src/identity-tokens/IdentityTokens.ts"
import { layer } from "../../src/identity-tokens/layer.ts"
import { runCommand } from "../harness/command.ts"
import { settingsWith } from "../harness/settings.ts"
import { memoryStore } from "../harness/stores.ts"
import { SECRET } from "../support/tokens.ts"

const env = {
  Identity__Secrets__0: SECRET,
  Identity__Secrets__1: `${SECRET}-before`,
  Identity__Audience: "voicegate",
  Identity__Issuer: "https://shop.example",
}
const Identity = { Secrets: [SECRET], Audience: "voicegate", Issuer: "https://shop.example" }

const verified = (token: string) =>
  IdentityTokens.use(({ verify }) => verify?.(token) ?? Effect.die("no token is read")).pipe(
    Effect.provide(layer.pipe(Layer.provide(Layer.merge(memoryStore, settingsWith({ Identity }))))),
    Effect.runPromise,
  )

describe("voicegate token identity", () => {
  it("signs a token that the gate accepts, and prints it alone", async () => {
    const { code, stderr, stdout } = await runCommand(["token", "identity", "--sub", "customer-7"], env)
    assert.strictEqual(code, 0)
    assert.match(stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/)
    assert.include(stderr, '"customer-7"')
    assert.notInclude(stdout + stderr, SECRET)
    const token = await verified(stdout.trim())
    assert.deepStrictEqual(token.identity, { subject: "customer-7" })
    assert.approximately(token.until, Date.now() + 600_000, 10_000)
  })

  it("signs what is known of the customer", async () => {
    const args =
      "--sub customer-7 --campaign sales --campaign support --limit-hour 3 --limit-day 9 --call-seconds 600 --name Ada --variable plan=gold --variable note=a=b --expires 2h --json"
    const { code, stdout } = await runCommand(["token", "identity", ...args.split(" ")], env)
    assert.strictEqual(code, 0)
    const { jti, sub, token } = JSON.parse(stdout)
    const { campaigns, identity, use } = await verified(token)
    assert.deepStrictEqual(identity, {
      subject: sub,
      name: "Ada",
      limits: { hour: 3, day: 9, callSeconds: 600 },
      variables: { plan: "gold", note: "a=b" },
    })
    assert.deepStrictEqual(campaigns, ["sales", "support"])
    assert.include(use, jti)
  })

  it("says what is wrong, and shows no secret", async () => {
    for (const [args, message, exit] of [
      ["--sub customer-7 --limit-hour 0", "voicegate.limits.hour", 1],
      ["--sub customer-7 --expires 25h", "at most 24h", 2],
      ["--sub customer-7 --variable plan", "name=value", 2],
      [`--sub customer-7 --variable long=${"x".repeat(4000)}`, "may have 4096", 1],
    ] as const) {
      const { code, output } = await runCommand(["token", "identity", ...args.split(" ")], env)
      assert.strictEqual(code, exit, output)
      assert.include(output, message)
      assert.notInclude(output, SECRET)
    }
    const none = await runCommand(["token", "identity", "--sub", "customer-7"], {})
    assert.strictEqual(none.code, 1)
    assert.include(none.output, "token identity-secret")
    const short = await runCommand(["token", "identity", "--sub", "customer-7"], { Identity__Secrets: "too-short" })
    assert.strictEqual(short.code, 1)
    assert.include(short.output, "at least 32 characters")
    assert.notInclude(short.output, "too-short")
  })
})
