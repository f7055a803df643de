import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { type Json, KEY, minimal, pathsOf, platform, problemsOf, treeOf, valid } from "../support.ts"

const withPlatform = (more: Json): Json => ({ ...minimal, VoiceAiPlatform: { ...platform, ...more } })

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

  it("a base address that sends the key unencrypted over the network causes a warning, except on this machine", () => {
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
        SilenceSeconds: 60,
        MaxCallSeconds: 600,
        Campaigns: {
          sales: {
            WebCampaignId: "campaign-2",
            DefaultRegionId: "us",
            ApiSecretToken: "another",
            AllowedTransportTypes: "webrtc",
            MaxCallSeconds: 120,
          },
          support: {
            WebCampaignId: "campaign-3",
            BusinessId: "business-2",
            MaxConcurrency: 2,
            SilenceSeconds: 90,
            IdentityRequired: false,
            VendorEndsAfterMinutes: 20,
          },
        },
      }),
    )
    assert.deepStrictEqual(
      Campaigns.map(({ ApiSecretToken, BaseUrl: _, ...rest }) => [
        Redacted.value(ApiSecretToken),
        ...Object.values(rest),
      ]),
      [
        [
          KEY,
          "default",
          "business-1",
          "campaign-1",
          "eu",
          5,
          ["eu", "us"],
          ["websocket", "webrtc"],
          60,
          undefined,
          600,
          undefined,
          "iqra",
        ],
        [
          "another",
          "sales",
          "business-1",
          "campaign-2",
          "us",
          undefined,
          ["eu", "us"],
          ["webrtc"],
          60,
          undefined,
          120,
          undefined,
          "iqra",
        ],
        [
          KEY,
          "support",
          "business-2",
          "campaign-3",
          "eu",
          2,
          ["eu", "us"],
          ["websocket", "webrtc"],
          90,
          false,
          600,
          20,
          "iqra",
        ],
      ].map((row) => row),
    )
  })

  it("have no calls that are longer than their slots are held", () => {
    const problems = problemsOf(
      withPlatform({
        MaxCallSeconds: 1801,
        Campaigns: {
          sales: { WebCampaignId: "campaign-2" },
          support: { WebCampaignId: "campaign-3", MaxCallSeconds: 1800 },
        },
      }),
    )
    assert.deepStrictEqual(
      problems.map(({ path, expected }) => [path, expected]),
      [["VoiceAiPlatform.MaxCallSeconds", "at most Queue.MaxCallMinutes, which is 30 (1800 s)"]],
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
