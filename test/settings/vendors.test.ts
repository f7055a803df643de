/** Campaigns whose platform is a vendor. */
import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { pathsOf, platform, problemsOf, TOKEN, treeOf } from "./support.ts"

const LiveKit = { Url: "wss://live.example/", ApiKey: "APIkey", ApiSecret: "the-secret-of-livekit" }
const livekit = { Platform: "livekit", MaxConcurrency: 2, LiveKit }
const file = (VoiceAiPlatform: object) => ({ VoiceAiPlatform, Security: { WebhookApiToken: TOKEN } })

describe("a vendor's campaign", () => {
  it("needs the vendor's settings, and none of the default platform's", () => {
    const [campaign] = treeOf(file(livekit)).Campaigns
    assert.deepInclude(campaign, {
      name: "default",
      Platform: "livekit",
      BaseUrl: "https://live.example/",
      BusinessId: "livekit",
      WebCampaignId: "live.example",
      DefaultRegionId: "default",
      MaxConcurrency: 2,
    })
    assert.strictEqual(campaign.LiveKit?.Url, "wss://live.example")
    assert.strictEqual(Redacted.value(campaign.ApiSecretToken), "the-secret-of-livekit")
  })

  it("a campaign of OpenAI's Live API names a model of that API, and no stored prompt", () => {
    const OpenAI = { ApiKey: "key-of-openai", AgentId: "helper", Api: "live" }
    const openai = { Platform: "openai", MaxConcurrency: 2 }
    assert.deepStrictEqual(pathsOf(file({ ...openai, OpenAI })), ["VoiceAiPlatform.OpenAI.Model"])
    const PromptId = "pmpt_1"
    assert.deepStrictEqual(pathsOf(file({ ...openai, OpenAI: { ...OpenAI, Model: "gpt-live-1", PromptId } })), [
      "VoiceAiPlatform.OpenAI.PromptId",
    ])
    assert.deepStrictEqual(pathsOf(file({ ...openai, OpenAI: { ...OpenAI, Model: "gpt-live-1" } })), [])
    assert.deepStrictEqual(pathsOf(file({ ...openai, OpenAI: { ...OpenAI, Api: "realtime", PromptId } })), [])
  })

  it("a campaign of a vendor that has ended its service is refused with the reason, and so are the vendor's settings", () => {
    const Hume = { ApiKey: "the-key-of-hume", ConfigId: "config" }
    const problems = problemsOf(file({ ...livekit, Campaigns: { old: { Platform: "hume", Hume } } }))
    assert.deepStrictEqual(
      problems.map(({ path }) => path),
      [
        "VoiceAiPlatform.Campaigns.old.Platform",
        "VoiceAiPlatform.Campaigns.old.Hume.ApiKey",
        "VoiceAiPlatform.Campaigns.old.Hume.ConfigId",
      ],
    )
    for (const { expected } of problems) assert.include(expected, "Hume ended its voice agents (EVI) on 2026-11-13")
    assert.notInclude(JSON.stringify(problems), "the-key-of-hume")
  })

  it("says which of the vendor's settings are missing or invalid, without showing a secret", () => {
    assert.deepStrictEqual(pathsOf(file({ Platform: "livekit" })), [
      "VoiceAiPlatform.MaxConcurrency",
      "VoiceAiPlatform.LiveKit.Url",
      "VoiceAiPlatform.LiveKit.ApiKey",
      "VoiceAiPlatform.LiveKit.ApiSecret",
    ])
    const problems = problemsOf(
      file({ ...livekit, LiveKit: { ...LiveKit, Url: "live.example", ApiSecret: "my secret" } }),
    )
    assert.deepStrictEqual(
      problems.map(({ path }) => path),
      ["VoiceAiPlatform.LiveKit.Url", "VoiceAiPlatform.LiveKit.ApiSecret"],
    )
    assert.notInclude(JSON.stringify(problems), "my secret")
    assert.strictEqual(problems[1]?.expected, "a key or secret of ASCII characters, without spaces")
  })

  it("a campaign of Daily has a webhook secret that is base64, since other text would be a key of no bytes, which anybody has", () => {
    const path = "VoiceAiPlatform.Daily.WebhookSecret"
    const of = (WebhookSecret: string) =>
      pathsOf(
        file({
          Platform: "daily",
          MaxConcurrency: 2,
          Daily: { ApiKey: "key-of-daily", AgentId: "helper", WebhookSecret },
        }),
      )
    for (const bytes of [8, 16, 17, 18, 32]) {
      const key = Buffer.alloc(bytes, 7).toString("base64")
      assert.deepStrictEqual(of(key), [], key)
      assert.deepStrictEqual(of(key.replaceAll("=", "")), [], key)
    }
    const others = ["*".repeat(32), "................................", "a", "dGVzdA==", "the secret of daily"]
    for (const other of others) assert.deepStrictEqual(of(other), [path], other)
  })

  it("is read from the environment", () => {
    const [campaign] = treeOf(file(livekit), { VoiceAiPlatform__LiveKit__AgentName: "helper" }).Campaigns
    assert.strictEqual(campaign.WebCampaignId, "live.example:helper")
  })

  it("names the platforms when its own is not one", () => {
    const [problem] = problemsOf(file({ ...livekit, Platform: "livekid" }))
    assert.deepInclude(problem, { path: "VoiceAiPlatform.Platform" })
    assert.include(problem?.expected, "livekit")
  })

  it("suggests the vendor's setting for a misspelt one", () => {
    const [problem] = problemsOf(file({ ...livekit, LiveKit: { ...LiveKit, AgentNam: "x" } }))
    assert.include(problem?.expected, "VoiceAiPlatform.LiveKit.AgentName")
  })

  it("inherits all but agent and slots, and must not share its agent with another", () => {
    const Campaigns = { sales: { MaxConcurrency: 1, LiveKit: { AgentName: "sales" } } }
    const [first, sales] = treeOf(file({ ...livekit, Campaigns })).Campaigns
    assert.isUndefined(first.LiveKit?.AgentName)
    assert.deepInclude(sales, { Platform: "livekit", WebCampaignId: "live.example:sales", MaxConcurrency: 1 })
    const twice = file({ ...livekit, Campaigns: { sales: { MaxConcurrency: 1 } } })
    assert.deepStrictEqual(pathsOf(twice), ["VoiceAiPlatform.Campaigns.sales"])
  })

  it("a campaign of any other kind of vendor needs a place for the credential, and valid templates", () => {
    const Generic = {
      BaseUrl: "https://vendor.example/v1",
      AgentId: "agent",
      Headers: "Authorization: Bearer the-key",
      StartPath: "start",
      SessionIdField: "id",
    }
    const generic = (more: object) => file({ Platform: "generic", MaxConcurrency: 1, Generic: { ...Generic, ...more } })
    assert.deepInclude(treeOf(generic({ UrlField: "url" })).Campaigns[0], {
      BaseUrl: "https://vendor.example/v1/",
      WebCampaignId: "vendor.example:agent",
    })
    assert.deepStrictEqual(pathsOf(generic({})), ["VoiceAiPlatform.Generic.UrlField"])
    const problems = problemsOf(generic({ UrlField: "url", StartBody: "{", Headers: ["no header, secret-key"] }))
    assert.sameMembers(
      problems.map(({ path }) => path),
      ["VoiceAiPlatform.Generic.Headers.0", "VoiceAiPlatform.Generic.StartBody"],
    )
    assert.notInclude(JSON.stringify(problems), "secret-key")
  })

  it("stands beside campaigns of the default platform", () => {
    const Campaigns = { live: { Platform: "livekit", MaxConcurrency: 3, LiveKit } }
    const [first, live] = treeOf(file({ ...platform, Campaigns })).Campaigns
    assert.deepInclude(first, { Platform: "iqra", BusinessId: "business-1" })
    assert.deepInclude(live, { Platform: "livekit", BusinessId: "livekit", DefaultRegionId: "eu" })
  })
})

describe("the account of campaigns", () => {
  const other = (Account: object, more: object = {}) => ({
    sales: { LiveKit: { AgentName: "sales" }, Account, ...more },
  })
  const shared = (Account: object, Campaigns: object) => file({ Platform: "livekit", LiveKit, Account, Campaigns })

  it("states the limit once, for all, in place of their own", () => {
    const tree = treeOf(shared({ Name: "main", ReservedSlots: 1 }, other({ Name: "main", MaxConcurrency: 5 })))
    assert.deepStrictEqual(
      tree.Campaigns.map(({ Account, MaxConcurrency }) => ({ Account, MaxConcurrency })),
      [
        { Account: { Name: "main", MaxConcurrency: 5, ReservedSlots: 1 }, MaxConcurrency: undefined },
        { Account: { Name: "main", MaxConcurrency: 5, ReservedSlots: 0 }, MaxConcurrency: undefined },
      ],
    )
    const alone = file({
      ...livekit,
      Account: { Name: "main", MaxConcurrency: 5 },
      Campaigns: other({}, { MaxConcurrency: 1 }),
    })
    assert.isUndefined(treeOf(alone).Campaigns[1]?.Account)
  })

  it("must have a limit where the vendor does not tell one", () => {
    assert.deepStrictEqual(pathsOf(shared({ Name: "main" }, other({ Name: "main" }))), [
      "VoiceAiPlatform.Account.MaxConcurrency",
    ])
    const Retell = { ApiKey: "key", AgentId: "a" }
    assert.deepStrictEqual(pathsOf(file({ Platform: "retell", Retell, Account: { Name: "main" } })), [])
  })

  it("must not be contradicted: another limit, another platform, more reserved than there is, no name", () => {
    const path = "VoiceAiPlatform.Campaigns.sales.Account"
    const limited = { Name: "main", MaxConcurrency: 5, ReservedSlots: 3 }
    assert.deepStrictEqual(pathsOf(shared(limited, other({ Name: "main", MaxConcurrency: 6 }))), [
      `${path}.MaxConcurrency`,
    ])
    assert.deepStrictEqual(pathsOf(shared(limited, other({ Name: "main", ReservedSlots: 3 }))), [
      `${path}.ReservedSlots`,
    ])
    const own = other({ Name: "main", ReservedSlots: 2 }, { MaxConcurrency: 1 })
    assert.deepStrictEqual(pathsOf(shared(limited, own)), [`${path}.ReservedSlots`])
    const Campaigns = {
      sales: { Platform: "retell", Retell: { ApiKey: "key", AgentId: "a" }, Account: { Name: "main" } },
    }
    assert.deepStrictEqual(pathsOf(shared(limited, Campaigns)), [`${path}.Name`])
    assert.deepStrictEqual(pathsOf(shared(limited, other({ ReservedSlots: 1 }, { MaxConcurrency: 1 }))), [
      `${path}.Name`,
    ])
    assert.deepStrictEqual(pathsOf(shared({ ...limited, Name: "two words" }, {})), ["VoiceAiPlatform.Account.Name"])
  })
})
