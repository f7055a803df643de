import { assert, describe, it } from "@effect/vitest"
import { settingRows } from "../../../src/settings/showing/table.ts"
import { type Json, minimal, pathsOf, platform, problemsOf, TOKEN, treeOf } from "../support.ts"

describe("names", () => {
  it("names that are unknown are problems, with the setting that was probably meant", () => {
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
      "Logging: no setting of .NET's host; remove it: the log goes to standard output, and has no levels to set",
      `SECURITY.RATELIMITHOURLI: ${none}; did you mean Security.RateLimitHourly?`,
      "Queue.MaxLength.0: one value instead of a list",
    ])
  })

  it("names that are unknown are problems without a value too: null, an empty text, list or group", () => {
    const given = {
      ...minimal,
      VoiceAiPlatform: { ...platform, MaxConcurency: null, Campaigns: {}, Retell: { AgentId: null } },
      Security: { WebhookApiToken: TOKEN, WebhookApiTokn: "", AllowedOrigins: [], TrustedProxies: null, Shadow: {} },
      Securty: {},
      Nonsense: [],
      Logging: {},
      IpIntel: null,
    }
    assert.deepStrictEqual(
      problemsOf(given).map(({ path, expected, found }) => `${path}: ${expected}; found ${found}`),
      [
        "VoiceAiPlatform.MaxConcurency: a known setting; did you mean VoiceAiPlatform.MaxConcurrency?; found no value, in the settings file",
        "Security.WebhookApiTokn: a known setting; did you mean Security.WebhookApiToken?; found no value, in the settings file",
        "Securty: a known setting; found no value, in the settings file",
        "Nonsense: a known setting; found no value, in the settings file",
        "Logging: no setting of .NET's host; remove it: the log goes to standard output, and has no levels to set; found it in the settings file",
      ],
    )
  })

  it("names of the same settings in the .NET reference are named with the setting here", () => {
    const given = {
      ...minimal,
      RedisConnectionString: "cache:6379",
      KnownProxies: ["10.0.0.1"],
      Security: { WebhookApiToken: TOKEN, KnownProxies: ["10.0.0.1"] },
    }
    assert.deepStrictEqual(
      problemsOf(given).map(({ path, expected }) => `${path}: ${expected.replace(/.*; /, "")}`),
      [
        "Security.KnownProxies.0: did you mean Security.TrustedProxies?",
        "RedisConnectionString: did you mean StoreConnectionString?",
        "KnownProxies.0: did you mean Security.TrustedProxies?",
      ],
    )
  })

  it("names of .NET's host are one problem a block, with what does the same here", () => {
    const given = {
      ...minimal,
      Logging: { LogLevel: { Default: "Information", Microsoft: "Warning" } },
      AllowedHosts: "*",
      Kestrel: { Endpoints: { Http: { Url: "http://0.0.0.0:5000" } } },
    }
    assert.deepStrictEqual(
      problemsOf(given).map(({ path, expected, found }) => `${path}: ${expected}; found ${found}`),
      [
        "Logging: no setting of .NET's host; remove it: the log goes to standard output, and has no levels to set; found it in the settings file",
        "AllowedHosts: no setting of .NET's host; set Server.AllowedHosts instead; found it in the settings file",
        "Kestrel: no setting of .NET's host; set Server.Host and Server.Port instead; TLS ends at the reverse proxy; found it in the settings file",
      ],
    )
  })

  it("names that differ from a setting's by one or two letters of the group are problems in the environment too", () => {
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

  it("names of a group need settings below them", () => {
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

  it("names that differ by case only are a problem", () => {
    assert.deepStrictEqual(pathsOf(minimal, { Server__Port: "1", SERVER__PORT: "2" }), ["SERVER.PORT"])
  })

  it("names in the table of settings are the names that are read", () => {
    const known = settingRows.map(({ path }) => path).filter((path) => !/\{(n|name)\}/.test(path))
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
