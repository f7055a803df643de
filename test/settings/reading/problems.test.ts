/** Everything that is wrong is reported at once, and no report shows a secret. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import fc from "fast-check"
import { vendorFields } from "../../../src/platform-api/vendors.ts"
import { settingsFrom } from "../../../src/settings/given.ts"
import { resolveSettings } from "../../../src/settings/reading/resolve.ts"
import { settingRows } from "../../../src/settings/showing/table.ts"
import { variablesOf } from "../../../src/settings/sources/variables.ts"
import { KEY, minimal, pathsOf, platform, problemsOf, SIGNING, TOKEN } from "../support.ts"

describe("problems", () => {
  it("problems of a list that is written as one text say how its items are written", () => {
    for (const text of ["https://a.example,https://b.example", '["https://a.example"]']) {
      const [problem] = problemsOf(minimal, { Security__AllowedOrigins: text })
      assert.include(
        problem?.expected,
        "the items are written apart: in the environment as Security__AllowedOrigins__0 and so on, in the file as a list in brackets",
      )
    }
    const [one] = problemsOf(minimal, { Security__AllowedOrigins: "shop.example" })
    assert.notInclude(one?.expected, "apart")
  })

  it("say of each setting what was expected of its value", () => {
    const silent = settingRows.flatMap(({ path }) => {
      if (path.endsWith(".{name}.*")) return []
      // no setting is a text with a control character
      const at = path.replace("{n}", "0")
      const vendor = Object.keys(vendorFields).find((group) => at.startsWith(`VoiceAiPlatform.${group}.`)) ?? "iqra"
      const found = problemsOf(minimal, {
        VoiceAiPlatform__Platform: vendor.toLowerCase(),
        [at.replaceAll(".", "__")]: "\u0007",
      }).filter((problem) => problem.path === at)
      return found.length > 0 && found.every(({ expected }) => expected !== "") ? [] : [path]
    })
    assert.deepStrictEqual(silent, [])
  })

  for (const [vendor, section, wrong] of [
    ["iqra", {}, "VoiceAiPlatform.BaseUrl"],
    [
      "vapi",
      { Vapi: { ApiKey: "key-of-the-vendor-5f2c", AssistantId: "assistant-1" } },
      "VoiceAiPlatform.SilenceSeconds",
    ],
  ] as const) {
    it(`are reported at once of all groups of a campaign, also of one with a problem (${vendor})`, () => {
      const paths = pathsOf({
        ...minimal,
        Queue: { MaxCallMinutes: 10 },
        Identity: { JwksUrl: "http" },
        VoiceAiPlatform: {
          ...(vendor === "iqra"
            ? { ...platform, BaseUrl: "ftp://platform.example" }
            : { MaxConcurrency: 1, ...section }),
          Platform: vendor,
          SilenceSeconds: "some",
          MaxCallSeconds: 601,
          Hours: { Open: "Mon-Fri 09:00-18:00" },
          Overflow: { Offers: ["Ask sales campaign:sales"] },
          Events: { Url: "https://crm.example", MaxStored: "all" },
          Account: { ReservedSlots: 1, MaxConcurrency: "few" },
          Price: { PerMinute: "cheap" },
          Budget: { Zone: "Berlin" },
          Budgets: [
            { Name: "a", Of: "nobody", Unit: "minutes", Per: "day", Cap: 1 },
            { Name: "b", Of: "account", Unit: "money", Per: "day", Cap: 1 },
            { Name: "b", Of: "campaign", Unit: "minutes", Per: "day", Cap: 1 },
          ],
        },
      })
      const expected = [
        ...[
          "SilenceSeconds",
          "MaxCallSeconds",
          "Hours.Zone",
          "Overflow.Offers.0",
          "Events.MaxStored",
          "Events.Secrets",
        ],
        ...[
          "Account.MaxConcurrency",
          "Account.Name",
          "Price.PerMinute",
          "Budget.Zone",
          "Budgets.0.Of",
          "Budgets.2.Name",
        ],
      ].map((name) => `VoiceAiPlatform.${name}`)
      assert.includeMembers([...paths], [...expected, wrong, "Identity.JwksUrl"])
      assert.strictEqual(new Set(paths).size, paths.length, paths.join("\n"))
    })
  }

  it("of a value that is wrong are not said a second time, as if it were missing", () => {
    const paths = pathsOf({
      ...minimal,
      VoiceAiPlatform: {
        ...platform,
        Hours: { Zone: "EST", Open: "Mon-Fri 09:00-18:00" },
        Overflow: { Offers: ["no offer", "Ask sales campaign:sales"] },
        Events: { Url: "nowhere", Secrets: [SIGNING] },
        Account: { Name: "an account with a name that is too long ".repeat(20), ReservedSlots: 1 },
        Price: { PerMinute: "cheap", Currency: "EUR" },
        Budgets: [{ Name: "b", Of: "campaign", Unit: "money", Per: "day", Cap: 1 }],
        Campaigns: { sales: { WebCampaignId: "campaign-2", Hours: { Open: "Sat 09:00-12:00" } } },
      },
    })
    assert.sameMembers(
      [...paths],
      [
        ...["Hours.Zone", "Overflow.Offers.0", "Events.Url", "Account.Name", "Price.PerMinute"].map(
          (name) => `VoiceAiPlatform.${name}`,
        ),
      ],
    )
  })

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
        expected:
          "a token of at least 16 characters, without spaces; several as a list; whsec_… belongs in Security.WebhookSigningSecret",
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
        '  Server.Host: expected an address or a host name to listen on, without a port; found "a b" in the given settings',
        '  Server.Port: expected a whole number from 0 to 65535; found "x" in the given settings',
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
          variablesOf({ Security__WebhookSigningSecret: `whsec_${e}!` }),
        )
        assert.isTrue(Result.isFailure(result))
        if (Result.isSuccess(result)) return
        const printed = `${result.failure.message}\n${JSON.stringify(result.failure)}`
        for (const each of [a, b, c, d, e]) assert.notInclude(printed, each)
      }),
    )
  })
})
