import { assert, describe, it } from "@effect/vitest"
import { Redacted, Result } from "effect"
import { settingsFrom } from "../../src/settings/given.ts"
import {
  type Json,
  minimal,
  pathsOf,
  platform,
  problemsOf,
  SIGNING,
  TOKEN,
  treeOf,
  valid,
  values,
  withSecurity,
} from "./support.ts"

describe("the webhook's credentials", () => {
  it("are required unless only loopback is served", () => {
    const without = (Host: string) => ({ VoiceAiPlatform: platform, Server: { Host } })
    for (const host of ["0.0.0.0", "::", "10.0.0.1", "gate.example"]) {
      assert.deepStrictEqual(pathsOf(without(host)), ["Security.WebhookApiToken"], host)
    }
    for (const host of ["127.0.0.1", "127.8.8.8", "::1", "localhost", "::ffff:127.0.0.1"]) {
      assert.isTrue(
        valid(without(host)).warnings.some((warning) => warning.includes("no Security.WebhookApiToken")),
        host,
      )
    }
  })

  it("are required on loopback too with a trusted proxy, since other machines then reach the gate", () => {
    const behindProxy = (Security: Json) => ({
      VoiceAiPlatform: platform,
      Server: { Host: "127.0.0.1" },
      Security: { TrustedProxies: ["loopback"], ...Security },
    })
    const [problem, ...others] = problemsOf(behindProxy({}))
    assert.deepStrictEqual(others, [])
    assert.strictEqual(problem?.path, "Security.WebhookApiToken")
    assert.include(problem?.expected, "Security.TrustedProxies")
    assert.deepStrictEqual(problemsOf(behindProxy({ WebhookApiToken: TOKEN })), [])
    assert.deepStrictEqual(problemsOf(behindProxy({ WebhookSigningSecret: SIGNING })), [])
    // an invalid entry is one problem, and does not hide the other
    assert.sameMembers(
      [...pathsOf(behindProxy({ TrustedProxies: ["nobody"] }))],
      ["Security.TrustedProxies.0", "Security.WebhookApiToken"],
    )
  })

  it("are required for a gate inside a host, whose server may listen anywhere", () => {
    const inside = { VoiceAiPlatform: platform, Server: { Host: "127.0.0.1" } }
    const result = settingsFrom(inside, { embedded: true })
    assert.isTrue(Result.isFailure(result))
    if (Result.isFailure(result)) {
      assert.deepStrictEqual(
        result.failure.problems.map(({ path }) => path),
        ["Security.WebhookApiToken"],
      )
    }
    assert.isTrue(Result.isSuccess(settingsFrom(minimal, { embedded: true })))
  })

  describe("of a gate whose campaigns are all of vendors", () => {
    const retell = { Platform: "retell", MaxConcurrency: 1, Retell: { ApiKey: "key-of-retell-1", AgentId: "agent-1" } }
    const named = { ...retell, Retell: { AgentId: "agent-2" } }

    it("are not required, and nothing warns of them", () => {
      for (const VoiceAiPlatform of [
        retell,
        { ...retell, Campaigns: { named: { MaxConcurrency: 1, Retell: named.Retell } } },
      ]) {
        for (const Host of ["0.0.0.0", "127.0.0.1"]) {
          const { warnings } = valid({ VoiceAiPlatform, Server: { Host } })
          assert.deepStrictEqual(
            warnings.filter((warning) => warning.includes("WebhookApiToken")),
            [],
          )
        }
      }
      const embedded = settingsFrom({ VoiceAiPlatform: retell }, { embedded: true })
      assert.isTrue(Result.isSuccess(embedded))
    })

    it("are required as soon as one is of the default platform, whatever else is wrong", () => {
      const { MaxConcurrency: _, ...web } = { ...platform, MaxConcurrency: 1 }
      for (const VoiceAiPlatform of [
        { ...retell, Campaigns: { web: { Platform: "iqra", ...web } } },
        { ...platform, Campaigns: { named } },
        { ...retell, Campaigns: { web: { Platform: "IQRA", ...web, MaxConcurrency: "many" } } },
      ]) {
        assert.include(pathsOf({ VoiceAiPlatform, Server: { Host: "0.0.0.0" } }), "Security.WebhookApiToken")
      }
      const wrong = { ...retell, MaxConcurrency: "many" }
      assert.notInclude(pathsOf({ VoiceAiPlatform: wrong }), "Security.WebhookApiToken")
    })
  })

  it("may be one text or a list, for rotation", () => {
    const tree = treeOf(withSecurity({ WebhookApiToken: [TOKEN, `${TOKEN}-new`], WebhookSigningSecret: SIGNING }))
    assert.deepStrictEqual(values(tree.Security.WebhookApiToken), [TOKEN, `${TOKEN}-new`])
    assert.deepStrictEqual(values(tree.Security.WebhookSigningSecret), [SIGNING])
  })

  it("may already be redacted when a host passes them", () => {
    const result = settingsFrom({ ...minimal, Security: { WebhookApiToken: Redacted.make(TOKEN) } })
    assert.isTrue(Result.isSuccess(result))
    if (Result.isSuccess(result)) assert.deepStrictEqual(values(result.success.tree.Security.WebhookApiToken), [TOKEN])
  })

  it.each(["short", "fifteen-charact", "a token with spaces in it"])("refuse the token %s", (token) => {
    assert.deepStrictEqual(pathsOf(withSecurity({ WebhookApiToken: token })), ["Security.WebhookApiToken"])
  })

  it.each([
    SIGNING.replace("whsec_", ""),
    "whsec_c2hvcnQ=",
    `${SIGNING}!`,
    `whsec_${Buffer.alloc(65).toString("base64")}`,
    SIGNING.slice(0, -3),
  ])("refuse the signing secret %s", (secret) => {
    assert.deepStrictEqual(pathsOf(withSecurity({ WebhookSigningSecret: secret })), ["Security.WebhookSigningSecret"])
  })
})
