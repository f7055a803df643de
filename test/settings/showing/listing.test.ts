/** The list of settings that `--print-config` prints. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { listLoaded, loadSettings } from "../../../src/settings/load.ts"
import { listingText, listSettings } from "../../../src/settings/showing/listing.ts"
import { settingRows } from "../../../src/settings/showing/table.ts"
import { flatten } from "../../../src/settings/sources/flat.ts"
import { variablesOf } from "../../../src/settings/sources/variables.ts"
import { inDirectory, KEY, minimal, TOKEN } from "../support.ts"

describe("the list of settings", () => {
  const listed = listSettings(
    flatten({ VoiceAiPlatform: { BusinessId: "b1" }, Security: { TrustedProxies: ["10.0.0.1"] } }, variablesOf({}), []),
  )
  const at = (path: string) => {
    const { from, value } = listed.find((each) => each.path === path) ?? {}
    return [value, from]
  }

  it("says clearly what is not set, and what applies instead", () => {
    assert.deepStrictEqual(at("VoiceAiPlatform.BaseUrl"), ["not set", "required"])
    assert.deepStrictEqual(at("VoiceAiPlatform.MaxConcurrency"), ["not set", "default: from the platform"])
    assert.deepStrictEqual(at("IpIntel.ApiKey"), ["not set", "default: none"])
    assert.deepStrictEqual(at("Security.ConsoleToken"), ["not set", "default: off"])
    assert.deepStrictEqual(at("Security.AllowedOrigins"), ["not set", "default: none"])
  })

  it("shows nothing of a body that may contain keys, nor its values in another setting", () => {
    const text = listingText(
      listSettings(
        flatten(
          {
            VoiceAiPlatform: {
              Generic: {
                StartBody: '{"auth":["pass-9f2c"],"plan":"{{agent}} gold-member"}',
                StartPath: "calls?key=pass-9f2c",
                AgentId: "agent-pass-9f2c",
                SessionIdField: "auth.id",
              },
            },
          },
          variablesOf({ VoiceAiPlatform__Campaigns__named__Generic__StartBody: '["pass-77aa"]' }),
          [],
        ),
      ),
    )
    assert.notMatch(text, /pass-9f2c|gold-member|pass-77aa/)
    assert.match(text, /Generic\.StartBody +\*\*\* +in the settings file/)
    assert.match(text, /named\.Generic\.StartBody +\*\*\* +in the environment/i)
    // the names of its fields are no secrets
    assert.match(text, /Generic\.SessionIdField +"auth\.id"/)
  })

  it("shows values that are given or are the default", () => {
    assert.deepStrictEqual(at("VoiceAiPlatform.BusinessId")[0], '"b1"')
    assert.deepStrictEqual(at("Security.TrustedProxies.0")[0], '"10.0.0.1"')
    assert.deepStrictEqual(at("Queue.MaxLength"), ["10000", "default"])
    assert.include(listingText(listed), "\nQueue.MaxLength ")
  })
})

describe("the list of settings in force", () => {
  it.effect("has every setting once, with where it is from, and no secret", () =>
    Effect.gen(function* () {
      const files = {
        "settings.json": JSON.stringify({
          ...minimal,
          VoiceAiPlatform: { ...minimal.VoiceAiPlatform, Campaigns: { sales: { WebCampaignId: "s1" } } },
          StoreConnectionString: "redis://user:pass-word@cache:6379",
        }),
        token: "the-token-in-a-file",
      }
      const listed = yield* inDirectory(files, (cwd) =>
        listLoaded({
          env: { Server__Port: "99", Security__ConsoleToken__File: "token", Security__AllowedOrigins__1: "x" },
          cwd,
        }),
      )
      const found = (path: string) =>
        listed.filter((each) => each.path === path).map(({ from, value }) => [value, from])
      assert.deepStrictEqual(found("Server.Port"), [['"99"', "in the environment variable Server__Port"]])
      assert.deepStrictEqual(found("Security.ConsoleToken"), [["***", "in the file of Security__ConsoleToken__File"]])
      assert.deepStrictEqual(found("Security.RateLimitDaily"), [["100", "default"]])
      assert.deepStrictEqual(found("Security.AllowedOrigins.1"), [
        ['"x"', "in the environment variable Security__AllowedOrigins__1"],
      ])
      assert.deepStrictEqual(found("VoiceAiPlatform.Campaigns.sales.WebCampaignId"), [['"s1"', "in the settings file"]])
      const paths = listed.map(({ path }) => path)
      assert.deepStrictEqual(paths, [...new Set(paths)])
      for (const { path } of settingRows) {
        if (!/\{(n|name)\}/.test(path))
          assert.isTrue(
            paths.some((each) => each === path || each.startsWith(`${path}.`)),
            path,
          )
      }
      const text = listingText(listed)
      for (const secret of [KEY, TOKEN, "pass-word", "the-token-in-a-file"]) assert.notInclude(text, secret)
    }),
  )

  it.effect("shows no value of a name that nobody knows, and no credentials of an invalid URL", () =>
    Effect.gen(function* () {
      const secret = "secret-of-nobody"
      const settings = {
        ...minimal,
        VoiceAiPlatform: {
          ...minimal.VoiceAiPlatform,
          BaseUrl: `https://user:pa/${secret}@platform.example/#token=${secret}`,
          Campaigns: {
            misspelt: { WebCampaignId: "s1", ApiSecretTokn: secret },
            text: secret,
            nested: { ApiSecretToken: { Value: secret } },
          },
        },
        Security: { ...minimal.Security, AllowedOrigins: { misplaced: secret } },
        IpIntel: { BaseUrl: `https://intel.example/#${secret}` },
      }
      const [listed, problems] = yield* inDirectory({ "settings.json": JSON.stringify(settings) }, (cwd) =>
        Effect.all([listLoaded({ env: {}, cwd }), Effect.flip(loadSettings({ env: {}, cwd }))]),
      )
      assert.notInclude(listingText(listed), secret)
      assert.include(listingText(listed), "VoiceAiPlatform.Campaigns.misspelt.WebCampaignId")
      assert.notInclude(problems.message, secret)
      assert.include(problems.message, "VoiceAiPlatform.Campaigns.misspelt.ApiSecretTokn")
    }),
  )
})
