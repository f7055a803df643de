import { assert, describe, it } from "@effect/vitest"
import { Redacted, Result } from "effect"
import { settingsFrom } from "../../src/settings/given.ts"
import type { LoadedSettings, Place } from "../../src/settings/reading/resolve.ts"
import {
  type Json,
  minimal,
  pathsOf,
  platform,
  SIGNING,
  TOKEN,
  treeOf,
  valid,
  values,
  withSecurity,
} from "./support.ts"

describe("the webhook's credentials", () => {
  const warningsOf = ({ warnings }: LoadedSettings) => warnings.filter((each) => each.includes("WebhookApiToken"))
  const REFUSED =
    /webhooks of ended sessions are refused. Meanwhile a slot comes free when .* at the latest, Queue\.MaxCallMinutes \(30\)/

  it("may be absent: webhooks are then refused, and one warning says how slots come free meanwhile", () => {
    for (const Host of ["0.0.0.0", "::", "10.0.0.1", "gate.example"]) {
      const loaded = valid({ VoiceAiPlatform: platform, Server: { Host } })
      const [warning, ...others] = warningsOf(loaded)
      assert.match(warning ?? "", REFUSED, Host)
      assert.deepStrictEqual(others, [])
      assert.isFalse(loaded.tree.Security.LocalWebhooks)
    }
    assert.deepStrictEqual(warningsOf(valid(minimal)), [])
  })

  it("may be absent on loopback, where webhooks of this machine are accepted", () => {
    for (const Host of ["127.0.0.1", "127.8.8.8", "::1", "localhost", "::ffff:127.0.0.1"]) {
      const loaded = valid({ VoiceAiPlatform: platform, Server: { Host } })
      assert.match(warningsOf(loaded)[0] ?? "", /no Security.WebhookApiToken is set/, Host)
      assert.isTrue(loaded.tree.Security.LocalWebhooks)
    }
  })

  it("leave nothing accepted on loopback with a trusted proxy, since other machines then reach the gate", () => {
    const behindProxy = (Security: Json) => ({
      VoiceAiPlatform: platform,
      Server: { Host: "127.0.0.1" },
      Security: { TrustedProxies: ["loopback"], ...Security },
    })
    const loaded = valid(behindProxy({}))
    assert.match(warningsOf(loaded)[0] ?? "", REFUSED)
    assert.isFalse(loaded.tree.Security.LocalWebhooks)
    assert.deepStrictEqual(warningsOf(valid(behindProxy({ WebhookSigningSecret: SIGNING }))), [])
  })

  describe("of a gate inside a host, whose server may listen anywhere", () => {
    const inside = { VoiceAiPlatform: platform, Server: { Host: "127.0.0.1" } }
    const embedded = (place: Place, json: Json = inside) => Result.getOrThrow(settingsFrom(json, place))

    it("may be absent: webhooks are refused whatever Server.Host is, which no message names", () => {
      const loaded = embedded({ embedded: true })
      assert.match(warningsOf(loaded)[0] ?? "", REFUSED)
      assert.notInclude(loaded.warnings.join(" "), "Server.Host")
      assert.isFalse(loaded.tree.Security.LocalWebhooks)
    })

    it("are not asked for where the host has its own platform, which reports ends itself", () => {
      assert.deepStrictEqual(warningsOf(embedded({ embedded: true, own: { platform: true } })), [])
    })
  })

  describe("of a gate whose campaigns are all of vendors", () => {
    const retell = { Platform: "retell", MaxConcurrency: 1, Retell: { ApiKey: "key-of-retell-1", AgentId: "agent-1" } }
    const named = { ...retell, Retell: { ...retell.Retell, AgentId: "agent-2" } }

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

    it("are asked for as soon as one is of the default platform", () => {
      const web = { ...platform, MaxConcurrency: 1 }
      for (const VoiceAiPlatform of [
        { ...retell, Campaigns: { web: { Platform: "iqra", ...web } } },
        { ...platform, Campaigns: { named } },
        { ...retell, Campaigns: { web: { Platform: "IQRA", ...web } } },
      ]) {
        assert.match(warningsOf(valid({ VoiceAiPlatform, Server: { Host: "0.0.0.0" } }))[0] ?? "", REFUSED)
      }
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
