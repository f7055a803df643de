/** Values that are valid and yet not what the operator meant: each is refused or warned of, with its path. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { settingsFrom } from "../../../src/settings/given.ts"
import {
  type Json,
  KEY,
  minimal,
  pathsOf,
  platform,
  problemsOf,
  SIGNING,
  TOKEN,
  valid,
  withSecurity,
} from "../support.ts"

const warningsOf = (json: Json, env: Readonly<Record<string, string>> = {}) =>
  valid(
    { ...json, StoreConnectionString: "redis://cache", IpIntel: { Provider: "ipapi.is", ...(json.IpIntel ?? {}) } },
    env,
  ).warnings

const withCampaigns = (Campaigns: Json): Json => ({ ...minimal, VoiceAiPlatform: { ...platform, Campaigns } })

describe("likely mistakes that are refused", () => {
  it("refuses quotes round a value, which docker's --env-file keeps", () => {
    for (const quote of ['"', "'", "`"]) {
      const env = {
        VoiceAiPlatform__ApiSecretToken: `${quote}${KEY}${quote}`,
        Security__WebhookApiToken: `${quote}${TOKEN}${quote}`,
        Server__Port: `${quote}80${quote}`,
      }
      const problems = problemsOf(minimal, env)
      assert.sameMembers(
        problems.map(({ path }) => path),
        ["VoiceAiPlatform.ApiSecretToken", "Security.WebhookApiToken", "Server.Port"],
      )
      for (const { expected, found } of problems) {
        assert.strictEqual(expected, "the value without quotes round it")
        assert.match(found ?? "", /^a value in quotes, in the environment variable /)
      }
    }
  })

  it("refuses one secret for webhook and console, or for the platform's key too", () => {
    const [problem, ...others] = problemsOf(withSecurity({ ConsoleToken: TOKEN }))
    assert.deepStrictEqual(others, [])
    assert.strictEqual(problem?.path, "Security.ConsoleToken")
    assert.include(problem?.expected, "Security.WebhookApiToken has the same")
    assert.deepStrictEqual(pathsOf({ ...minimal, Security: { WebhookApiToken: [KEY, TOKEN] } }), [
      "Security.WebhookApiToken.0",
    ])
    assert.notInclude(JSON.stringify(problemsOf(withSecurity({ ConsoleToken: TOKEN }))), TOKEN)
    // campaigns may share a key, and a rotation has two tokens
    const sales = { WebCampaignId: "sales", ApiSecretToken: KEY }
    assert.deepStrictEqual(pathsOf({ ...withCampaigns({ sales }), Security: { WebhookApiToken: [TOKEN] } }), [])
  })

  it("refuses a signing secret as token", () => {
    const [problem] = problemsOf(withSecurity({ WebhookApiToken: SIGNING }))
    assert.include(problem?.expected, "Security.WebhookSigningSecret")
  })

  it("refuses bits of a host in a CIDR, and names the network and the address that may be meant", () => {
    const [problem, ...others] = problemsOf(
      withSecurity({ TrustedProxies: ["10.1.2.3/8", "10.0.0.0/8", "192.0.2.1/32", "2001:db8::1/64", "2001:db8::/32"] }),
    )
    assert.strictEqual(problem?.path, "Security.TrustedProxies.0")
    assert.strictEqual(
      problem?.expected,
      "the network 10.0.0.0/8, or the address 10.1.2.3 alone: a CIDR has no bits after its first 8",
    )
    assert.deepStrictEqual(
      others.map(({ path }) => path),
      ["Security.TrustedProxies.3"],
    )
  })

  it("refuses groups and campaigns whose names differ by case only", () => {
    const twice = withCampaigns({ sales: { WebCampaignId: "s" }, Sales: { MaxConcurrency: 2 } })
    assert.deepStrictEqual(problemsOf(twice), [
      {
        path: "VoiceAiPlatform.Campaigns.Sales",
        expected: "one group (names differ by case only)",
        found: "two: sales and Sales",
      },
    ])
    assert.include(pathsOf({ ...minimal, queue: { MaxLength: 1 }, Queue: { MaxCallMinutes: 1 } }), "Queue")
  })

  it("refuses a number that JSON does not keep exactly, such as a long id without quotes", () => {
    const json: Json = JSON.parse(
      JSON.stringify({ ...minimal, VoiceAiPlatform: { ...platform, BusinessId: 0 } }).replace(
        '"BusinessId":0',
        '"BusinessId":12345678901234567890',
      ),
    )
    const [problem] = problemsOf(json)
    assert.strictEqual(problem?.path, "VoiceAiPlatform.BusinessId")
    assert.include(problem?.expected, "a text in quotes if it is an id")
  })

  it("refuses invisible characters in an id", () => {
    for (const invisible of ["\u200b", "\u2060", "\u202e", "\ufeff"]) {
      const VoiceAiPlatform = { ...platform, BusinessId: `busi${invisible}ness` }
      assert.deepStrictEqual(pathsOf({ ...minimal, VoiceAiPlatform }), ["VoiceAiPlatform.BusinessId"])
    }
  })

  it("refuses a required setting that a campaign inherits from nowhere", () => {
    const Campaigns = { sales: { Platform: "retell", MaxConcurrency: 1, Retell: { AgentId: "a" } } }
    assert.deepStrictEqual(pathsOf(withCampaigns(Campaigns)), ["VoiceAiPlatform.Campaigns.sales.Retell.ApiKey"])
    // one that the default campaign needs too is reported once
    const { BaseUrl: _, ...rest } = platform
    const VoiceAiPlatform = { ...rest, Campaigns: { sales: { WebCampaignId: "s" } } }
    assert.deepStrictEqual(pathsOf({ ...minimal, VoiceAiPlatform }), ["VoiceAiPlatform.BaseUrl"])
  })
})

describe("likely mistakes that are warned of", () => {
  it("warns of nothing in ordinary settings", () => {
    assert.deepStrictEqual(warningsOf(minimal), [])
  })

  it("warns of an empty secret, in the environment, as a file's name, and in the file", () => {
    const json = withSecurity({ ConsoleToken: " " })
    assert.deepStrictEqual(warningsOf(json, { IpIntel__ApiKey: "", Security__WebhookSigningSecret__0__File: "" }), [
      "Security.ConsoleToken: empty in the settings file, which counts as not set.",
      "IpIntel.ApiKey: empty in the environment variable IpIntel__ApiKey, which counts as not set.",
      "Security.WebhookSigningSecret.0: empty in the environment variable Security__WebhookSigningSecret__0__File, which counts as not set.",
    ])
    assert.deepStrictEqual(warningsOf(minimal, { Server__Port: "" }), [])
  })

  it("warns of limits that cannot take effect", () => {
    assert.deepStrictEqual(warningsOf(withSecurity({ RateLimitHourly: 200, Shadow: { RateLimitHourly: 300 } })), [
      "Security.RateLimitHourly is 200, above Security.RateLimitDaily, which is 100: the daily limit alone decides.",
      "Security.Shadow.RateLimitHourly is 300, not below Security.RateLimitHourly, which is 200: it would refuse nobody else.",
    ])
    assert.deepStrictEqual(warningsOf(withSecurity({ RateLimitHourly: 200, RateLimitDaily: 0 })), [])
  })

  it("warns of items that a list has twice", () => {
    const VoiceAiPlatform = { ...platform, AllowedRegionIds: ["eu", "us", "EU"] }
    assert.deepStrictEqual(warningsOf({ ...minimal, VoiceAiPlatform }), [
      "VoiceAiPlatform.AllowedRegionIds.2: the same as VoiceAiPlatform.AllowedRegionIds.0, so it counts once.",
    ])
  })

  it("warns of ranges of trusted proxies that are wider than any network", () => {
    const [first, ...others] = warningsOf(withSecurity({ TrustedProxies: ["0.0.0.0/0", "10.0.0.0/8"] }))
    assert.match(first ?? "", /trusts every address/)
    assert.deepStrictEqual(others, [])
    const half = warningsOf(withSecurity({ TrustedProxies: ["0.0.0.0/1", "128.0.0.0/1", "private"] }))
    assert.strictEqual(half.length, 2)
    assert.match(half[0] ?? "", /trusts 0\.0\.0\.0\/1, more than any network has/)
  })

  it("warns of settings of IP intelligence that its provider does not use", () => {
    const IpIntel = { Provider: "none", ApiKey: "key-of-the-provider", Lists: { Vpn: ["vpn.txt"] } }
    const warnings = warningsOf({ ...minimal, IpIntel })
    assert.include(warnings, "IpIntel.ApiKey, IpIntel.Lists.Vpn: not used, because IpIntel.Provider is none.")
  })
})

describe("settings that a host gives as an object", () => {
  it("are not said to be in a settings file", () => {
    const result = settingsFrom({ ...minimal, Server: { Port: "many" } })
    assert.isTrue(Result.isFailure(result))
    if (Result.isFailure(result)) {
      assert.include(result.failure.message, 'found "many" in the given settings')
      assert.notInclude(result.failure.message, "settings file")
    }
  })

  it("are not said to be without store, addresses or platform that the host itself provides", () => {
    const own = { ipIntel: true, platform: true, store: true }
    const { Security: _, ...json } = minimal
    const loaded = Result.getOrThrow(settingsFrom(json, { embedded: true, own }))
    assert.deepStrictEqual(loaded.warnings, [])
    const unused = { ...json, StoreConnectionString: "redis://cache", IpIntel: { Provider: "ipapi.is" } }
    assert.deepStrictEqual(Result.getOrThrow(settingsFrom(unused, { embedded: true, own })).warnings, [
      "StoreConnectionString: not used, because the host application has its own store.",
      "IpIntel.Provider: not used, because the host application has its own ipIntel.",
    ])
  })
})
