import { NodeFileSystem } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Redacted, Result } from "effect"
import fc from "fast-check"
import { trustedProxies } from "../../src/ip-intel/client-address.ts"
import { Settings } from "../../src/Settings.ts"
import { layerFrom, loadSettings, settingsFrom } from "../../src/settings/load.ts"
import type { SettingProblem } from "../../src/settings/problems.ts"
import { type LoadedSettings, resolveSettings } from "../../src/settings/resolve.ts"
import { settingRows } from "../../src/settings/table.ts"

const KEY = "key-of-the-platform-5f2c"
const TOKEN = "token-of-the-webhook-91"
const SIGNING = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

const platform = {
  ApiSecretToken: KEY,
  BaseUrl: "https://platform.example/api/v1",
  BusinessId: "business-1",
  WebCampaignId: "campaign-1",
  DefaultRegionId: "eu",
}
const minimal = { VoiceAiPlatform: platform, Security: { WebhookApiToken: TOKEN } }

type Json = Readonly<Record<string, unknown>>
type Env = Readonly<Record<string, string>>

const valid = (json: Json, env: Env = {}): LoadedSettings => {
  const result = resolveSettings(json, env)
  if (Result.isFailure(result)) throw result.failure
  return result.success
}
const treeOf = (json: Json, env: Env = {}) => valid(json, env).tree
const problemsOf = (json: Json, env: Env = {}): ReadonlyArray<SettingProblem> => {
  const result = resolveSettings(json, env)
  return Result.isFailure(result) ? result.failure.problems : []
}
const pathsOf = (json: Json, env: Env = {}) => problemsOf(json, env).map(({ path }) => path)
const withPlatform = (more: Json): Json => ({ ...minimal, VoiceAiPlatform: { ...platform, ...more } })
const withSecurity = (more: Json): Json => ({ ...minimal, Security: { WebhookApiToken: TOKEN, ...more } })
const values = (secrets: ReadonlyArray<Redacted.Redacted<string>>) => secrets.map((secret) => Redacted.value(secret))

describe("the smallest settings", () => {
  it("get the documented defaults", () => {
    const { Campaigns, StoreConnectionString, ...rest } = treeOf(minimal)
    assert.strictEqual(Redacted.value(StoreConnectionString), "memory:")
    assert.deepStrictEqual(
      Campaigns.map(({ ApiSecretToken, ...campaign }) => ({ ...campaign, key: Redacted.value(ApiSecretToken) })),
      [
        {
          name: "default",
          key: KEY,
          BaseUrl: "https://platform.example/api/v1/",
          BusinessId: "business-1",
          WebCampaignId: "campaign-1",
          DefaultRegionId: "eu",
          AllowedRegionIds: ["eu"],
          AllowedTransportTypes: ["websocket"],
          MaxConcurrency: undefined,
        },
      ],
    )
    assert.deepStrictEqual(
      { ...rest, Security: { ...rest.Security, WebhookApiToken: values(rest.Security.WebhookApiToken) } },
      {
        IpIntel: {
          Provider: "none",
          ApiKey: undefined,
          BaseUrl: undefined,
          OnError: "allow",
          CacheDays: 14,
          LookupsPerMinute: 600,
          NetworkLookupsPerMinute: 60,
          TimeoutMillis: 2000,
          Lists: { Vpn: [], Datacenter: [], Tor: [], Relay: [], RefreshHours: 24 },
        },
        Security: {
          RateLimitHourly: 20,
          RateLimitDaily: 100,
          RateLimitConcurrency: 3,
          RefundsPerHour: 10,
          MissedTurnCost: 3,
          StatusPerMinute: 120,
          BlockVpn: true,
          BlockProxy: true,
          BlockTor: true,
          BlockDatacenter: false,
          WebhookApiToken: [TOKEN],
          WebhookSigningSecret: [],
          ConsoleToken: undefined,
          AllowedOrigins: [],
          TrustedProxies: [],
        },
        Queue: {
          MaxLength: 10000,
          NetworkShare: 0.25,
          DisconnectGraceSeconds: 30,
          StartWindowSeconds: 30,
          MaxCallMinutes: 120,
          MaxTicketBytes: 8192,
        },
        Privacy: { Addresses: "plain" },
        Server: {
          Host: "0.0.0.0",
          Port: 8080,
          AllowedHosts: undefined,
          MaxConnectionsPerAddress: 256,
          Docs: "public",
          Metrics: "public",
          PrivateHost: "127.0.0.1",
          PrivatePort: 8081,
          PrivateHosts: ["localhost", "127.0.0.1", "[::1]"],
        },
      },
    )
  })

  it("warn that no store is shared and addresses are not looked up", () => {
    const { warnings } = valid(minimal)
    assert.lengthOf(warnings, 2)
    assert.match(warnings[0] ?? "", /StoreConnectionString is not set/)
    assert.match(warnings[1] ?? "", /IpIntel\.Provider is none/)
  })

  it("name every platform field that is missing", () => {
    assert.deepStrictEqual(pathsOf({ Security: { WebhookApiToken: TOKEN } }), [
      "VoiceAiPlatform.WebCampaignId",
      "VoiceAiPlatform.ApiSecretToken",
      "VoiceAiPlatform.BaseUrl",
      "VoiceAiPlatform.BusinessId",
      "VoiceAiPlatform.DefaultRegionId",
    ])
  })
})

describe("problems", () => {
  it("are reported all at once, each with path, expectation and what was found", () => {
    const problems = problemsOf(
      {
        VoiceAiPlatform: { ...platform, BaseUrl: "ftp://platform.example", WebCampaignId: "" },
        Security: { WebhookApiToken: "short", RateLimitHourly: "many", AllowedOrigins: ["https://shop.example/path"] },
        Queue: { MaxLenght: 5 },
      },
      { SERVER__PORT: "99999" },
    )
    assert.deepStrictEqual(problems, [
      {
        path: "VoiceAiPlatform.WebCampaignId",
        expected: "the web campaign",
        found: "nothing",
      },
      {
        path: "VoiceAiPlatform.BaseUrl",
        expected: "an http or https URL without user, query and fragment",
        found: '"ftp://platform.example" in the settings file',
      },
      {
        path: "Security.WebhookApiToken",
        expected: "a token of at least 16 characters, without spaces; several as a list",
        found: "a value that is not shown, in the settings file",
      },
      {
        path: "Security.RateLimitHourly",
        expected: "a whole number from 0 to 1000000",
        found: '"many" in the settings file',
      },
      {
        path: "Security.AllowedOrigins.0",
        expected: "an origin such as https://shop.example (scheme, host, port and no path), or *; one a list item",
        found: '"https://shop.example/path" in the settings file',
      },
      {
        path: "Server.Port",
        expected: "a whole number from 0 to 65535",
        found: '"99999" in the environment variable SERVER__PORT',
      },
      {
        path: "Queue.MaxLenght",
        expected: "a known setting; did you mean Queue.MaxLength?",
        found: "a value that is not shown, in the settings file",
      },
    ])
  })

  it("have one line each in the message", () => {
    const result = settingsFrom({ ...minimal, Server: { Port: "x", Host: "a b" } })
    assert.isTrue(Result.isFailure(result))
    if (Result.isSuccess(result)) return
    assert.strictEqual(
      result.failure.message,
      [
        "The settings have 2 problems:",
        '  Server.Host: expected an address or a host name to listen on, without a port; found "a b" in the settings file',
        '  Server.Port: expected a whole number from 0 to 65535; found "x" in the settings file',
      ].join("\n"),
    )
  })

  it("never show a secret, even one that was pasted into another field or is part of a URL", () => {
    const result = settingsFrom({
      VoiceAiPlatform: {
        ...platform,
        ApiSecretToken: `Token ${KEY}`,
        BaseUrl: "https://u:hunter22@x.example/?k=hunter23",
      },
      Security: { WebhookApiToken: TOKEN, RateLimitDaily: TOKEN, BlockVpn: `${TOKEN} ` },
      StoreConnectionString: "redis://hunter24@cache",
      Server: { Host: "redis://hunter24@cache" },
      Queue: { Tokken: "hunter25" },
    })
    assert.isTrue(Result.isFailure(result))
    if (Result.isSuccess(result)) return
    const { message, problems } = result.failure
    assert.lengthOf(problems, 7)
    assert.notInclude(message, KEY)
    assert.notInclude(message, TOKEN)
    assert.notInclude(message, "hunter")
    assert.notInclude(JSON.stringify(result.failure), "hunter")
  })

  it("never show a secret, whatever is wrong", () => {
    const secret = fc.stringMatching(/^[a-z0-9]{12,40}$/).map((text) => `zq${text}`)
    const junk = (secrets: ReadonlyArray<string>) =>
      fc.oneof(
        fc.string(),
        fc.integer(),
        fc.constant(null),
        fc.constantFrom(...secrets),
        fc.constantFrom(...secrets).map((each) => `x ${each}`),
      )
    const scenario = fc.uniqueArray(secret, { minLength: 5, maxLength: 5 }).chain((secrets) =>
      fc.record({
        secrets: fc.constant(secrets),
        others: fc.array(junk(secrets), { minLength: 12, maxLength: 12 }),
      }),
    )
    fc.assert(
      fc.property(scenario, ({ secrets: [a = "", b = "", c = "", d = "", e = ""], others }) => {
        const [url, host, port, origin, proxy, provider, flag, hours, region, onError, list, campaign] = others
        const result = resolveSettings(
          {
            StoreConnectionString: `redis://${a}@cache`,
            VoiceAiPlatform: {
              ApiSecretToken: `Token ${b}`,
              BaseUrl: url,
              DefaultRegionId: region,
              Campaigns: { other: { WebCampaignId: campaign, ApiSecretToken: e } },
            },
            IpIntel: {
              ApiKey: `${c} `,
              Provider: provider,
              OnError: onError,
              Lists: { Tor: list, RefreshHours: hours },
            },
            Security: { WebhookApiToken: [d], AllowedOrigins: [origin], TrustedProxies: [proxy], BlockTor: flag },
            Server: { Host: host, Port: port },
          },
          { Security__WebhookSigningSecret: `whsec_${e}!` },
        )
        assert.isTrue(Result.isFailure(result))
        if (Result.isSuccess(result)) return
        const printed = `${result.failure.message}\n${JSON.stringify(result.failure)}`
        for (const each of [a, b, c, d, e]) assert.notInclude(printed, each)
      }),
    )
  })
})

describe("names", () => {
  it("that are unknown are problems, with the setting that was probably meant", () => {
    const expectations = problemsOf(
      {
        VoiceAiPlatform: { ...platform, Campaigns: { sales: { WebCampaignId: "c2", MaxConcurency: 2 } } },
        Security: { WebhookApiToken: TOKEN, MaxLength: 3, Nonsense: true },
        Logging: { Level: "debug" },
      },
      { SECURITY__RATELIMITHOURLI: "5", Queue__MaxLength__0: "5", UNRELATED__NAME: "x", SERVER: "web-1" },
    ).map(({ path, expected }) => `${path}: ${expected}`)
    const none = "a known setting"
    assert.sameMembers(expectations, [
      `VoiceAiPlatform.Campaigns.sales.MaxConcurency: ${none}; did you mean VoiceAiPlatform.Campaigns.sales.MaxConcurrency?`,
      `Security.MaxLength: ${none}; did you mean Queue.MaxLength?`,
      `Security.Nonsense: ${none}`,
      `Logging.Level: ${none}`,
      `SECURITY.RATELIMITHOURLI: ${none}; did you mean Security.RateLimitHourly?`,
      "Queue.MaxLength.0: one value instead of a list",
    ])
  })

  it("that differ from a setting's by one or two letters of the group are problems in the environment too", () => {
    const problems = problemsOf(minimal, {
      Securty__RateLimitHourly: "3",
      Queues__MaxLength: "5",
      STORECONECTIONSTRING: "redis://:secret@store.example",
      Secuirty__TrustedProxies__0: "loopback",
      Securty__Empty: "",
      Service__Port: "80",
      Logging__LogLevel: "debug",
    })
    const none = "a known setting; did you mean"
    assert.sameMembers(
      problems.map(({ path, expected }) => `${path}: ${expected}`),
      [
        `Securty.RateLimitHourly: ${none} Security.RateLimitHourly?`,
        `Queues.MaxLength: ${none} Queue.MaxLength?`,
        `STORECONECTIONSTRING: ${none} StoreConnectionString?`,
        `Secuirty.TrustedProxies.0: ${none} Security.TrustedProxies?`,
      ],
    )
    assert.notInclude(JSON.stringify(problems), "secret@")
  })

  it("of a group need settings below them", () => {
    assert.deepStrictEqual(
      problemsOf({ ...minimal, Queue: 5 }).map(({ path, expected }) => `${path}: ${expected}`),
      ["Queue: a group of settings instead of a value"],
    )
  })

  it("are matched without regard to case, in the file and in the environment", () => {
    const tree = treeOf({ ...minimal, queue: { MAXLENGTH: 7 } }, { security__ratelimithourly: "3" })
    assert.strictEqual(tree.Queue.MaxLength, 7)
    assert.strictEqual(tree.Security.RateLimitHourly, 3)
  })

  it("that differ by case only are a problem", () => {
    assert.deepStrictEqual(pathsOf(minimal, { Server__Port: "1", SERVER__PORT: "2" }), ["SERVER.PORT"])
  })

  it("in the table of settings are the names that are read", () => {
    const known = settingRows.map(({ path }) => path).filter((path) => !path.includes("{name}"))
    for (const path of known) {
      const json = path.split(".").reduceRight<unknown>((value, name) => ({ [name]: value }), "?")
      const expectations = problemsOf(json as Json).map(({ expected }) => expected)
      assert.isFalse(
        expectations.some((expected) => expected.includes("a known setting")),
        path,
      )
    }
    assert.isAbove(known.length, 35)
  })
})

describe("the environment", () => {
  it("wins over the file", () => {
    const tree = treeOf({ ...minimal, Server: { Port: 1 } }, { Server__Port: "2" })
    assert.strictEqual(tree.Server.Port, 2)
  })

  it("alone is enough, with list items by index and campaigns by name", () => {
    const tree = treeOf(
      {},
      {
        VoiceAiPlatform__ApiSecretToken: KEY,
        VoiceAiPlatform__BaseUrl: "http://127.0.0.1:9000",
        VoiceAiPlatform__BusinessId: "b",
        VoiceAiPlatform__WebCampaignId: "c",
        VoiceAiPlatform__DefaultRegionId: "eu",
        VoiceAiPlatform__AllowedRegionIds__0: "eu",
        VoiceAiPlatform__AllowedRegionIds__1: "us",
        VoiceAiPlatform__Campaigns__sales__WebCampaignId: "c2",
        Security__WebhookSigningSecret__0: SIGNING,
        Security__AllowedOrigins__0: "https://a.example",
        Security__AllowedOrigins__10: "https://c.example",
        Security__AllowedOrigins__2: "https://b.example",
        StoreConnectionString: "redis://cache",
      },
    )
    assert.deepStrictEqual(tree.Campaigns[0].AllowedRegionIds, ["eu", "us"])
    assert.deepStrictEqual(
      tree.Campaigns.map(({ name }) => name),
      ["default", "sales"],
    )
    assert.deepStrictEqual(tree.Security.AllowedOrigins, [
      "https://a.example",
      "https://b.example",
      "https://c.example",
    ])
    assert.deepStrictEqual(values(tree.Security.WebhookSigningSecret), [SIGNING])
    assert.strictEqual(Redacted.value(tree.StoreConnectionString), "redis://cache")
  })

  it("replaces single items of the file's list, or the whole list with a single text", () => {
    const json = withSecurity({ AllowedOrigins: ["https://a.example", "https://b.example"] })
    assert.deepStrictEqual(treeOf(json, { Security__AllowedOrigins__0: "https://c.example" }).Security.AllowedOrigins, [
      "https://c.example",
      "https://b.example",
    ])
    assert.deepStrictEqual(treeOf(json, { Security__AllowedOrigins: "https://c.example" }).Security.AllowedOrigins, [
      "https://c.example",
    ])
  })

  it("with list items replaces the file's single text", () => {
    const other = "another-token-of-the-webhook"
    const tree = treeOf(minimal, { Security__WebhookApiToken__0: other })
    assert.deepStrictEqual(values(tree.Security.WebhookApiToken), [other])
  })

  it("with an empty variable sets nothing", () => {
    assert.strictEqual(treeOf({ ...minimal, Server: { Port: 1 } }, { Server__Port: "" }).Server.Port, 1)
  })

  it.each([
    ["true", true],
    ["True", true],
    ["1", true],
    ["yes", true],
    ["FALSE", false],
    ["0", false],
    ["no", false],
  ])("takes %s as a boolean", (text, expected) => {
    assert.strictEqual(treeOf(minimal, { Security__BlockDatacenter: text }).Security.BlockDatacenter, expected)
    assert.strictEqual(treeOf(minimal, { Security__BlockVpn: text }).Security.BlockVpn, expected)
  })
})

describe("a base address", () => {
  it.each([
    ["https://platform.example/api/v1", "https://platform.example/api/v1/"],
    ["https://platform.example/api/v1/", "https://platform.example/api/v1/"],
    ["https://platform.example/api/v1//", "https://platform.example/api/v1/"],
    ["http://127.0.0.1:9000", "http://127.0.0.1:9000/"],
  ])("%s ends in one slash", (given, expected) => {
    assert.strictEqual(treeOf(withPlatform({ BaseUrl: given })).Campaigns[0].BaseUrl, expected)
  })

  it.each(["platform.example", "ftp://platform.example", "https://u:p@platform.example", "https://x.example/?a=1"])(
    "%s is refused",
    (given) => {
      assert.deepStrictEqual(pathsOf(withPlatform({ BaseUrl: given })), ["VoiceAiPlatform.BaseUrl"])
    },
  )

  it("that sends the key unencrypted over the network causes a warning, except on this machine", () => {
    const unencrypted = (BaseUrl: string) =>
      valid(withPlatform({ BaseUrl })).warnings.filter((warning) => warning.includes("unencrypted")).length
    assert.strictEqual(unencrypted("http://platform.example"), 1)
    assert.strictEqual(unencrypted("http://127.0.0.1:1"), 0)
    assert.strictEqual(unencrypted("http://[::1]:1"), 0)
    assert.strictEqual(unencrypted("https://platform.example"), 0)
  })
})

describe("regions and campaigns", () => {
  it("refuse a default region that is not allowed", () => {
    assert.deepStrictEqual(pathsOf(withPlatform({ AllowedRegionIds: ["us"] })), ["VoiceAiPlatform.DefaultRegionId"])
  })

  it("inherit from the default campaign all but the web campaign and the slots", () => {
    const { Campaigns } = treeOf(
      withPlatform({
        MaxConcurrency: 5,
        AllowedRegionIds: ["eu", "us"],
        AllowedTransportTypes: ["websocket", "webrtc"],
        Campaigns: {
          sales: {
            WebCampaignId: "campaign-2",
            DefaultRegionId: "us",
            ApiSecretToken: "another",
            AllowedTransportTypes: "webrtc",
          },
          support: { WebCampaignId: "campaign-3", BusinessId: "business-2", MaxConcurrency: 2 },
        },
      }),
    )
    assert.deepStrictEqual(
      Campaigns.map(({ ApiSecretToken, BaseUrl: _, ...rest }) => [
        Redacted.value(ApiSecretToken),
        ...Object.values(rest),
      ]),
      [
        [KEY, "default", "business-1", "campaign-1", "eu", 5, ["eu", "us"], ["websocket", "webrtc"]],
        ["another", "sales", "business-1", "campaign-2", "us", undefined, ["eu", "us"], ["webrtc"]],
        [KEY, "support", "business-2", "campaign-3", "eu", 2, ["eu", "us"], ["websocket", "webrtc"]],
      ].map((row) => row),
    )
  })

  it("allow only known transports", () => {
    assert.deepStrictEqual(
      treeOf(withPlatform({ AllowedTransportTypes: "WebRTC" })).Campaigns[0].AllowedTransportTypes,
      ["webrtc"],
    )
    const problems = problemsOf(withPlatform({ AllowedTransportTypes: ["websocket", "carrier pigeon"] }))
    assert.deepInclude(problems[0], {
      path: "VoiceAiPlatform.AllowedTransportTypes.1",
      expected: "websocket or webrtc",
    })
  })

  it("have the campaign's own default region as the only one when no list is given anywhere", () => {
    const { Campaigns } = treeOf(withPlatform({ Campaigns: { sales: { WebCampaignId: "c2", DefaultRegionId: "us" } } }))
    assert.deepStrictEqual(Campaigns[1]?.AllowedRegionIds, ["us"])
  })

  it("must have different web campaigns", () => {
    assert.deepStrictEqual(
      pathsOf(withPlatform({ Campaigns: { a: { MaxConcurrency: 1 }, b: { WebCampaignId: "campaign-1" } } })),
      ["VoiceAiPlatform.Campaigns.a.WebCampaignId", "VoiceAiPlatform.Campaigns.b.WebCampaignId"],
    )
  })

  it("may have the same web campaign in different businesses", () => {
    const json = withPlatform({ Campaigns: { b: { WebCampaignId: "campaign-1", BusinessId: "business-2" } } })
    assert.lengthOf(treeOf(json).Campaigns, 2)
  })

  it("must have a name that is not reserved and has valid characters only", () => {
    assert.deepStrictEqual(
      pathsOf(withPlatform({ Campaigns: { Default: { WebCampaignId: "x" }, "a b": { WebCampaignId: "y" } } })),
      ["VoiceAiPlatform.Campaigns.Default", "VoiceAiPlatform.Campaigns.a b"],
    )
  })

  it.each([0, -1, 1.5, "two"])("refuse %s slots", (MaxConcurrency) => {
    assert.deepStrictEqual(pathsOf(withPlatform({ MaxConcurrency })), ["VoiceAiPlatform.MaxConcurrency"])
  })
})

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

describe("origins and proxies", () => {
  it.each([
    ["https://shop.example", "https://shop.example"],
    ["https://shop.example/", "https://shop.example"],
    ["https://Shop.Example:443", "https://shop.example"],
    ["http://localhost:5173", "http://localhost:5173"],
    ["*", "*"],
  ])("the origin %s is compared as %s", (given, expected) => {
    assert.deepStrictEqual(treeOf(withSecurity({ AllowedOrigins: given })).Security.AllowedOrigins, [expected])
  })

  it.each([
    "shop.example",
    "https://shop.example/path",
    "https://shop.example?x",
    "https://*.example",
    "https://a.example,https://b.example",
    "null",
    "ws://shop.example",
  ])("the origin %s is refused", (given) => {
    assert.deepStrictEqual(pathsOf(withSecurity({ AllowedOrigins: [given] })), ["Security.AllowedOrigins.0"])
  })

  it("proxies are addresses, ranges and two words", () => {
    const given = ["203.0.113.7", "10.1.0.0/16", "2001:db8::/32", "loopback", "Private"]
    assert.deepStrictEqual(treeOf(withSecurity({ TrustedProxies: given })).Security.TrustedProxies, [
      "203.0.113.7",
      "10.1.0.0/16",
      "2001:db8::/32",
      "127.0.0.0/8",
      "::1/128",
      "10.0.0.0/8",
      "172.16.0.0/12",
      "192.168.0.0/16",
      "fc00::/7",
    ])
  })

  it.each([
    ...["10", "010.1.1.1", "10.0.0.0/33", "proxy.example", "10.0.0.0/", "1.2.3", "fe80::1%eth0", "[::1]"],
    ...["10.0.0.0/08", "fd00::/064", "::ffff:10.0.0.0/90", "10.0.0.0/8/8"],
  ])("the proxy %s is refused", (given) => {
    assert.deepStrictEqual(pathsOf(withSecurity({ TrustedProxies: [given] })), ["Security.TrustedProxies.0"])
  })

  it("the settings accept exactly the proxies that the gate can compile", () => {
    const digits = fc.string({ unit: fc.constantFrom(..."0123456789"), maxLength: 3 })
    const base = fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.ipV4().map((address) => `::ffff:${address}`),
      fc.string({ unit: fc.constantFrom(..."01fF.:%[]/ "), maxLength: 12 }),
    )
    fc.assert(
      fc.property(base, fc.oneof(digits, fc.constant(undefined)), (address, prefix) => {
        const given = prefix === undefined ? address : `${address}/${prefix}`
        const result = resolveSettings(withSecurity({ TrustedProxies: [given] }), {})
        if (Result.isSuccess(result)) trustedProxies(result.success.tree.Security.TrustedProxies)
      }),
    )
  })

  it("that trust or allow everyone cause a warning", () => {
    const { warnings } = valid(withSecurity({ AllowedOrigins: "*", TrustedProxies: "0.0.0.0/0" }))
    assert.lengthOf(
      warnings.filter((warning) => /any web page|trusts every address/.test(warning)),
      2,
    )
  })
})

describe("the lookups of one network", () => {
  it.each([
    [{}, 60],
    [{ LookupsPerMinute: 10_000 }, 1_000],
    [{ LookupsPerMinute: 20 }, 5],
    [{ LookupsPerMinute: 3 }, 3],
    [{ LookupsPerMinute: 600, NetworkLookupsPerMinute: 7 }, 7],
  ])("of %j are %d a minute", (IpIntel, expected) => {
    assert.strictEqual(treeOf({ ...minimal, IpIntel }).IpIntel.NetworkLookupsPerMinute, expected)
  })

  it("are at most all lookups", () => {
    assert.deepStrictEqual(pathsOf({ ...minimal, IpIntel: { LookupsPerMinute: 10, NetworkLookupsPerMinute: 11 } }), [
      "IpIntel.NetworkLookupsPerMinute",
    ])
  })
})

describe("the provider of IP intelligence", () => {
  const providerOf = (IpIntel: Json) => treeOf({ ...minimal, IpIntel }).IpIntel.Provider

  it("follows from other settings when it is not set", () => {
    assert.strictEqual(providerOf({}), "none")
    assert.strictEqual(providerOf({ Lists: { Tor: ["tor.txt"] } }), "lists")
    assert.strictEqual(providerOf({ ApiKey: "k", Lists: { Tor: ["tor.txt"] } }), "ipapi.is")
    assert.strictEqual(providerOf({ BaseUrl: "http://127.0.0.1:1" }), "ipapi.is")
    assert.strictEqual(providerOf({ ApiKey: "k", Provider: "none" }), "none")
  })

  it.each([
    ["ipapi", "ipapi.is"],
    ["IPAPI.is", "ipapi.is"],
    ["ProxyCheck", "proxycheck.io"],
    ["vpnapi.io", "vpnapi.io"],
    ["IP2Location", "ip2location.io"],
    ["ip-info", "ipinfo.io"],
    ["None", "none"],
  ])("is named %s as well", (Provider, expected) => {
    assert.strictEqual(providerOf({ Provider, ApiKey: "k" }), expected)
  })

  it.each<[string, string]>([
    ["maxmind", "IpIntel.BaseUrl"],
    ["ipinfo", "IpIntel.ApiKey"],
    ["lists", "IpIntel.Lists"],
    ["whois", "IpIntel.Provider"],
  ])("%s without the setting that it needs is a problem of %s", (Provider, path) => {
    assert.deepStrictEqual(pathsOf({ ...minimal, IpIntel: { Provider } }), [path])
  })

  it("over HTTP needs a valid URL", () => {
    assert.deepStrictEqual(pathsOf({ ...minimal, IpIntel: { BaseUrl: "proxy.local" } }), ["IpIntel.BaseUrl"])
    assert.strictEqual(providerOf({ Provider: "maxmind", BaseUrl: "data/anonymous.mmdb" }), "maxmind")
  })
})

describe("the store", () => {
  it("is a problem when its connection string cannot be read, with what is expected", () => {
    const [problem] = problemsOf({ ...minimal, StoreConnectionString: "redis://:hunter22@a,b" })
    assert.deepStrictEqual(problem, {
      path: "StoreConnectionString",
      expected: "one host; several need redis+cluster:// or redis+sentinel://",
      found: "a value that is not shown, in the settings file",
    })
  })

  it("has warnings about ignored options", () => {
    const { warnings } = valid({ ...minimal, StoreConnectionString: "cache,abortConnect=false" })
    assert.include(warnings, "StoreConnectionString: the option abortConnect is ignored.")
  })

  it("causes no warning when memory is set explicitly", () => {
    const { warnings } = valid({ ...minimal, StoreConnectionString: "memory:" })
    assert.isFalse(warnings.some((warning) => warning.includes("StoreConnectionString")))
  })
})

describe("the settings file", () => {
  const inDirectory = <A, E>(
    files: Readonly<Record<string, string>>,
    use: (cwd: string) => Effect.Effect<A, E, FileSystem.FileSystem>,
  ) =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* fs.makeTempDirectoryScoped()
      for (const [name, text] of Object.entries(files)) yield* fs.writeFileString(`${cwd}/${name}`, text)
      return yield* use(cwd)
    }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer))

  it.effect("is settings.json in the working directory, and may start with a byte order mark", () =>
    Effect.gen(function* () {
      const files = { "settings.json": `\uFEFF${JSON.stringify({ ...minimal, Server: { Port: 1234 } })}` }
      const { tree } = yield* inDirectory(files, (cwd) => loadSettings({ env: {}, cwd }))
      assert.strictEqual(tree.Server.Port, 1234)
    }),
  )

  it.effect("is another one when it is given", () =>
    Effect.gen(function* () {
      const files = {
        "settings.json": JSON.stringify(minimal),
        "other.json": JSON.stringify({ ...minimal, Server: { Port: 4321 } }),
      }
      const { tree } = yield* inDirectory(files, (cwd) => loadSettings({ file: "other.json", env: {}, cwd }))
      assert.strictEqual(tree.Server.Port, 4321)
    }),
  )

  it.effect("may be absent, but not when it is given", () =>
    Effect.gen(function* () {
      const absent = yield* Effect.flip(inDirectory({}, (cwd) => loadSettings({ env: {}, cwd })))
      assert.include(JSON.stringify(absent), "VoiceAiPlatform.BaseUrl")
      const named = yield* Effect.flip(inDirectory({}, (cwd) => loadSettings({ file: "x.json", env: {}, cwd })))
      assert.strictEqual(
        named.message,
        "The settings have a problem:\n  x.json: expected a settings file that can be read (NotFound)",
      )
    }),
  )

  it.effect("that is not JSON is a problem with its position, without quoting any text", () =>
    Effect.gen(function* () {
      for (const [text, expected] of [
        ['{\n  "Security": hunter22\n}', /expected valid JSON/],
        ['{\n  "Security": {}\n  "hunter22": 1\n}', /the error is at line 3 column 3/],
        ["[]", /an object of settings/],
      ] as const) {
        const error = yield* Effect.flip(
          inDirectory({ "settings.json": text }, (cwd) => loadSettings({ env: {}, cwd })),
        )
        assert.match(error.message, expected)
        assert.notInclude(JSON.stringify(error), "hunter")
      }
    }),
  )
})

describe("the layer", () => {
  it.effect("provides the tree to a host that passes an object", () =>
    Effect.gen(function* () {
      const settings = yield* Settings
      assert.strictEqual(settings.Campaigns[0].BusinessId, "business-1")
      assert.notInclude(JSON.stringify(settings), KEY)
      assert.notInclude(String(settings.Campaigns[0].ApiSecretToken), KEY)
    }).pipe(Effect.provide(layerFrom(minimal))),
  )
})

describe("the private port", () => {
  const withServer = (Server: Json) => pathsOf({ ...minimal, Server })

  it("must differ from the public one when both listen on the same address", () => {
    for (const Server of [
      { Docs: "private", PrivatePort: 8080 },
      { Docs: "private", Port: 8081 },
      { Metrics: "private", PrivatePort: 9000, Port: 9000, PrivateHost: "10.0.0.1" },
      { Docs: "private", PrivatePort: 8080, Host: "10.0.0.1", PrivateHost: "0.0.0.0" },
    ]) {
      assert.deepStrictEqual(withServer(Server), ["Server.PrivatePort"], JSON.stringify(Server))
    }
  })

  it("may be the public one on another address, while nothing is private, and when the system chooses it", () => {
    for (const Server of [
      { Docs: "private", PrivatePort: 8080, Host: "10.0.0.1", PrivateHost: "10.0.0.2" },
      { Docs: "off", PrivatePort: 8080 },
      { Docs: "private", Port: 0, PrivatePort: 0 },
    ]) {
      assert.deepStrictEqual(withServer(Server), [], JSON.stringify(Server))
    }
  })
})
