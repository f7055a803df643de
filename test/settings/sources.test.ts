/** Where settings come from: the environment, a file, or an object of the host. */
import { NodeFileSystem } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Redacted } from "effect"
import { Settings } from "../../src/Settings.ts"
import { layerFrom, loadSettings } from "../../src/settings/load.ts"
import { KEY, minimal, SIGNING, treeOf, values, withSecurity } from "./support.ts"

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
