import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { KEY, minimal, pathsOf, TOKEN, treeOf, valid, values } from "./support.ts"

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
          SilenceSeconds: undefined,
          IdentityRequired: undefined,
          MaxCallSeconds: undefined,
          VendorEndsAfterMinutes: undefined,
          Platform: "iqra",
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
        Identity: {
          Secrets: [],
          JwksUrl: undefined,
          Issuer: undefined,
          Audience: undefined,
          Required: false,
          SingleUse: false,
          Trust: "none",
          JwksStaleHours: 24,
        },
        Security: {
          RateLimitHourly: 20,
          RateLimitDaily: 100,
          RateLimitConcurrency: 0,
          RefundsPerHour: 10,
          MissedTurnCost: 1,
          StatusPerMinute: 120,
          ClientAddressHeader: "x-forwarded-for",
          BlockVpn: true,
          BlockProxy: true,
          BlockTor: true,
          BlockDatacenter: false,
          Shadow: {
            RateLimitHourly: 0,
            RateLimitDaily: 0,
            RateLimitConcurrency: 0,
            BlockVpn: false,
            BlockProxy: false,
            BlockTor: false,
            BlockDatacenter: false,
          },
          LocalWebhooks: false,
          WebhookApiToken: [TOKEN],
          WebhookSigningSecret: [],
          ConsoleToken: [],
          AllowedOrigins: [],
          AllowedHeaders: [],
          TrustedProxies: [],
        },
        Queue: {
          MaxLength: 10000,
          NetworkShare: 1,
          DisconnectGraceSeconds: 30,
          StartWindowSeconds: 30,
          MaxCallMinutes: 30,
          OpenSeconds: 0,
          OnPlatformRefusal: "wait",
          MaxTicketBytes: 8192,
        },
        Privacy: { Addresses: "plain" },
        Server: {
          Host: "0.0.0.0",
          Port: 8080,
          AllowedHosts: undefined,
          MaxConnectionsPerAddress: 256,
          DrainSeconds: 1,
          TraceParent: "link",
          Docs: "public",
          Metrics: "local",
          PrivateHost: "127.0.0.1",
          PrivatePort: 8081,
          BasePath: "",
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
