import { assert, describe, it } from "@effect/vitest"
import { type Changes, changesOf } from "../../src/settings/changes.ts"
import { type Json, minimal, platform, TOKEN, treeOf, values } from "./support.ts"

const before = treeOf({ ...minimal, StoreConnectionString: "redis://one:6379" })
const namesOf = ({ changes, ...rest }: Changes) => ({ ...rest, changed: changes.map(({ setting }) => setting) })
const changed = (after: Json, from: Json = minimal) => namesOf(changesOf(treeOf(from), treeOf(after)))
const names = (after: Json, from: Json = minimal) => changed(after, from).changed
const withPlatform = (more: Json): Json => ({ ...minimal, VoiceAiPlatform: { ...platform, ...more } })

describe("changed settings", () => {
  it("are none when nothing differs", () => {
    assert.deepInclude(changed(minimal), { changed: [], kept: [] })
  })

  it("are named as an operator writes them, without their values", () => {
    const secret = "another-token-of-the-webhook"
    const given = { ...minimal, Security: { WebhookApiToken: secret, RateLimitHourly: 7 }, Queue: { MaxLength: 3 } }
    const { changed: named, tree } = changed(given)
    assert.deepStrictEqual(named, ["Queue.MaxLength", "Security.RateLimitHourly", "Security.WebhookApiToken"])
    assert.deepStrictEqual(values(tree.Security.WebhookApiToken), [secret])
  })

  it("name campaigns that were added or removed, and settings that one alone or all with it have changed", () => {
    const sales = { Campaigns: { sales: { WebCampaignId: "sales-1" } } }
    assert.deepStrictEqual(names(withPlatform(sales)), ["VoiceAiPlatform.Campaigns.sales (added)"])
    assert.deepStrictEqual(names(minimal, withPlatform(sales)), ["VoiceAiPlatform.Campaigns.sales (removed)"])
    const key = { ApiSecretToken: "another-key-of-the-platform" }
    assert.deepStrictEqual(names(withPlatform({ ...sales, ...key }), withPlatform(sales)), [
      "VoiceAiPlatform.ApiSecretToken",
    ])
    const slots = { Campaigns: { sales: { WebCampaignId: "sales-1", MaxConcurrency: 2 } } }
    assert.deepStrictEqual(names(withPlatform(slots), withPlatform(sales)), [
      "VoiceAiPlatform.Campaigns.sales.MaxConcurrency",
    ])
  })
})

describe("the values of changed settings", () => {
  const valuesOf = (after: Json, from: Json = minimal) =>
    changesOf(treeOf(from), treeOf(after)).changes.map(({ after: next, before: old, setting }) => [setting, old, next])

  it("are shown as before and after, and as not set", () => {
    const given = {
      ...withPlatform({ MaxConcurrency: 3, AllowedRegionIds: ["eu", "us"], DefaultRegionId: "us" }),
      Security: { WebhookApiToken: TOKEN, BlockVpn: false, RateLimitHourly: 7 },
    }
    assert.deepStrictEqual(valuesOf(given), [
      ["Security.BlockVpn", "true", "false"],
      ["Security.RateLimitHourly", "20", "7"],
      ["VoiceAiPlatform.AllowedRegionIds", '["eu"]', '["eu", "us"]'],
      ["VoiceAiPlatform.DefaultRegionId", '"eu"', '"us"'],
      ["VoiceAiPlatform.MaxConcurrency", "not set", "3"],
    ])
  })

  it("the values of changed settings that are long lists are what was added and removed, and how many there are", () => {
    const origins = Array.from({ length: 12 }, (_, n) => `https://shop-${n}.example`)
    const from = { ...minimal, Security: { WebhookApiToken: TOKEN, AllowedOrigins: origins } }
    const changed = (next: ReadonlyArray<string>) =>
      valuesOf({ ...minimal, Security: { WebhookApiToken: TOKEN, AllowedOrigins: next } }, from)
    assert.deepStrictEqual(changed([...origins, "https://new.example"]), [
      ["Security.AllowedOrigins", "12 items", '13 items, among them "https://new.example"'],
    ])
    assert.deepStrictEqual(changed([...origins.slice(0, -1), "https://new.example"]), [
      [
        "Security.AllowedOrigins",
        '12 items, among them "https://shop-11.example"',
        '12 items, among them "https://new.example"',
      ],
    ])
    assert.deepStrictEqual(changed(origins.toReversed()), [
      ["Security.AllowedOrigins", "12 items", "12 items in another order"],
    ])
  })

  it("are hidden when they are secrets, or contain one of before or after", () => {
    const [key, token, console] = [
      "another-key-of-the-platform",
      "another-token-of-the-webhook",
      "token-of-the-console",
    ]
    const from = {
      ...minimal,
      Security: { WebhookApiToken: TOKEN, ConsoleToken: `${console}-1` },
    }
    const given = {
      // the old token was pasted where it does not belong
      ...withPlatform({ ApiSecretToken: key, BusinessId: TOKEN }),
      Security: { WebhookApiToken: [token, `${token}-2`], ConsoleToken: `${console}-2` },
    }
    const shown = valuesOf(given, from)
    assert.deepStrictEqual(shown, [
      ["Security.ConsoleToken", "[***]", "[***]"],
      ["Security.WebhookApiToken", "[***]", "[***, ***]"],
      ["VoiceAiPlatform.ApiSecretToken", "***", "***"],
      ["VoiceAiPlatform.BusinessId", '"business-1"', "***"],
    ])
  })

  it("hide a body that may contain keys", () => {
    const withBody = (key: string): Json => {
      const Generic = {
        ...{ BaseUrl: "https://vendor.example/", AgentId: "agent-1", StartPath: "calls", SessionIdField: "id" },
        ...{ UrlField: "url", StartBody: JSON.stringify({ key }) },
      }
      return withPlatform({ Campaigns: { open: { Platform: "generic", MaxConcurrency: 1, Generic } } })
    }
    assert.deepStrictEqual(valuesOf(withBody("secret-two"), withBody("secret-one")), [
      ["VoiceAiPlatform.Campaigns.open.Generic.StartBody", "***", "***"],
    ])
  })

  it("are shown beside a campaign whose vendor needs no key", () => {
    const Generic = {
      BaseUrl: "https://vendor.example/",
      AgentId: "agent-1",
      StartPath: "calls",
      SessionIdField: "id",
      UrlField: "url",
    }
    const withVendor = (AgentId: string): Json =>
      withPlatform({
        DefaultRegionId: AgentId,
        Campaigns: { open: { Platform: "generic", MaxConcurrency: 1, Generic: { ...Generic, AgentId } } },
      })
    assert.deepInclude(valuesOf(withVendor("two"), withVendor("one")), [
      "VoiceAiPlatform.DefaultRegionId",
      '"one"',
      '"two"',
    ])
  })
})

describe("settings that cannot change while the gate runs", () => {
  it("keep their values and are named", () => {
    const after = treeOf({
      ...minimal,
      StoreConnectionString: "redis://two:6379",
      Privacy: { Addresses: "hashed" },
      Server: { Port: 9, Docs: "off" },
      Queue: { MaxLength: 3 },
    })
    const { changed, kept, tree } = namesOf(changesOf(before, after))
    assert.deepStrictEqual(changed, ["Queue.MaxLength"])
    assert.deepStrictEqual(kept, ["Privacy.Addresses", "Server.Docs", "Server.Port", "StoreConnectionString"])
    assert.deepStrictEqual(tree, { ...before, Queue: { ...before.Queue, MaxLength: 3 } })
  })

  it("include whether there is a console, but not its token", () => {
    const withToken = (ConsoleToken?: string): Json => ({
      ...minimal,
      Security: { WebhookApiToken: TOKEN, ...(ConsoleToken === undefined ? {} : { ConsoleToken }) },
    })
    const [one, two] = ["token-of-the-console-1", "token-of-the-console-2"]
    assert.deepInclude(changed(withToken(one)), { changed: [], kept: ["Security.ConsoleToken"] })
    assert.deepInclude(changed(minimal, withToken(one)), { changed: [], kept: ["Security.ConsoleToken"] })
    assert.deepInclude(changed(withToken(two), withToken(one)), { changed: ["Security.ConsoleToken"], kept: [] })
  })

  it("do not weaken the checks of the address that is still served", () => {
    const local: Json = { VoiceAiPlatform: platform, Server: { Host: "127.0.0.1" } }
    // a gate on loopback accepts webhooks of its machine without a secret, but this gate still serves others
    const { kept, tree } = changed(local)
    assert.deepStrictEqual(values(tree.Security.WebhookApiToken), [])
    assert.isFalse(tree.Security.LocalWebhooks)
    assert.deepStrictEqual(kept, ["Server.Host"])
    const proxied: Json = { VoiceAiPlatform: platform, Security: { TrustedProxies: ["loopback"] } }
    assert.isFalse(changed(proxied, local).tree.Security.LocalWebhooks)
    // a gate on loopback accepts its own names only, until it listens elsewhere
    const { tree: opened } = changed(minimal, local)
    assert.deepStrictEqual(opened.Server.AllowedHosts, treeOf(local).Server.AllowedHosts)
    assert.isDefined(opened.Server.AllowedHosts)
  })
})
