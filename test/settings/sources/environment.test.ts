/** Settings of environment variables, and of a file of them. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { loadSettings } from "../../../src/settings/load.ts"
import { inDirectory, KEY, minimal, SIGNING, treeOf, valid, values, withSecurity } from "../support.ts"

describe("the environment", () => {
  it("wins over the file", () => {
    const tree = treeOf({ ...minimal, Server: { Port: 1 } }, { Server__Port: "2" })
    assert.strictEqual(tree.Server.Port, 2)
  })

  it("the environment alone is enough, with list items by index and campaigns by name", () => {
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

  describe("a list in a variable", () => {
    const json = withSecurity({ AllowedOrigins: ["https://a.example", "https://b.example", "https://c.example"] })
    const NOTE =
      /^Security\.AllowedOrigins: the list in the environment variable Security__AllowedOrigins(?:__\d)? replaces the whole list in the settings file, which has 3 items\.$/

    it.each([
      [{ Security__AllowedOrigins__0: "https://d.example" }, ["https://d.example"]],
      [{ Security__AllowedOrigins__2: "https://d.example" }, ["https://d.example"]],
      [{ Security__AllowedOrigins: "https://d.example" }, ["https://d.example"]],
      [{ Security__AllowedOrigins: "[]" }, []],
    ])("replaces a whole list of the file, and a note says so: %j", (env, expected) => {
      const { tree, warnings } = valid(json, env)
      assert.deepStrictEqual(tree.Security.AllowedOrigins, expected)
      assert.lengthOf(
        warnings.filter((each) => NOTE.test(each)),
        1,
      )
    })

    it("replaces no list of the file when the variable is empty, which counts as not set", () => {
      const { tree, warnings } = valid(json, { Security__AllowedOrigins__0: "", Security__AllowedOrigins: "" })
      assert.lengthOf(tree.Security.AllowedOrigins, 3)
      assert.notInclude(warnings.join(" "), "AllowedOrigins")
    })

    it("replaces no list of another campaign", () => {
      const VoiceAiPlatform = {
        ...minimal.VoiceAiPlatform,
        AllowedRegionIds: ["eu", "us"],
        Campaigns: { sales: { WebCampaignId: "s", AllowedRegionIds: ["eu", "asia"] } },
      }
      const regions = (env: Readonly<Record<string, string>>) =>
        treeOf({ ...minimal, VoiceAiPlatform }, env).Campaigns.map(({ AllowedRegionIds }) => AllowedRegionIds)
      assert.deepStrictEqual(regions({ VoiceAiPlatform__Campaigns__SALES__AllowedRegionIds__0: "eu" }), [
        ["eu", "us"],
        ["eu"],
      ])
      // an empty list is as if the campaign had none, so it inherits
      assert.deepStrictEqual(regions({ VoiceAiPlatform__Campaigns__sales__AllowedRegionIds: "[]" }), [
        ["eu", "us"],
        ["eu", "us"],
      ])
    })

    it("hides nothing else when it empties a list of secrets", () => {
      const tokens = withSecurity({ ConsoleToken: ["token-of-the-console-1", "token-of-the-console-2"] })
      const tree = treeOf(tokens, { Security__ConsoleToken: "[ ]" })
      assert.deepStrictEqual(values(tree.Security.ConsoleToken), [])
      assert.deepStrictEqual(values(treeOf(tokens).Security.ConsoleToken), [
        "token-of-the-console-1",
        "token-of-the-console-2",
      ])
    })
  })

  it("a variable with list items replaces the file's single text", () => {
    const other = "another-token-of-the-webhook"
    const tree = treeOf(minimal, { Security__WebhookApiToken__0: other })
    assert.deepStrictEqual(values(tree.Security.WebhookApiToken), [other])
  })

  it("an empty variable sets nothing", () => {
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

describe("a file of environment variables", () => {
  it.effect("has no line that would be ignored in silence", () =>
    Effect.gen(function* () {
      const env = [
        "# a comment",
        "Security__RateLimitHourly 5 hunter22",
        "export Server__Port=1",
        "Server__Port=2",
        "",
        'OTHER="a value',
        'of two lines"',
        "hunter22",
        "OPEN='never closed",
      ].join("\n")
      const error = yield* Effect.flip(
        inDirectory({ ".env": env, "settings.json": JSON.stringify(minimal) }, (cwd) =>
          loadSettings({ env: {}, envFile: ".env", cwd }),
        ),
      )
      assert.deepStrictEqual(error.message.split("\n").slice(1), [
        "  .env line 2: expected NAME=value, a comment that begins with #, or an empty line",
        "  .env line 4: expected Server__Port once: of two, the last one would count; found it in line 3 too",
        "  .env line 8: expected NAME=value, a comment that begins with #, or an empty line",
        "  .env line 9: expected a value whose quote ' is closed",
      ])
    }),
  )
})
