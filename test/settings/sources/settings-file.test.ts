/** Settings of a file: where it is, what may be in it, and in which encoding. A host gives an object in its place. */
import { NodeFileSystem } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { layerFrom } from "../../../src/settings/given.ts"
import { loadSettings } from "../../../src/settings/load.ts"
import { Settings } from "../../../src/settings/Settings.ts"
import { inDirectory, KEY, minimal, TOKEN } from "../support.ts"

describe("the settings file", () => {
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
      assert.match(
        absent.message,
        /^The settings have \d+ problems:\n {2}settings\.json: expected a settings file in the working directory, or one that --config names; found none at \/.+\/settings\.json\n/,
      )
      const named = yield* Effect.flip(inDirectory({}, (cwd) => loadSettings({ file: "x.json", env: {}, cwd })))
      // the whole path, because a relative one is looked for where the process runs
      assert.match(
        named.message,
        /^The settings have a problem:\n {2}x\.json: expected a file that can be read; there is none at \/.+\/x\.json$/,
      )
    }),
  )

  it.effect("may have comments and trailing commas, as the files of .NET", () =>
    Effect.gen(function* () {
      const text = `{ // the key\n ${JSON.stringify(minimal).slice(1, -1)}, /* the port */ "Server": { "Port": 77, }, }`
      const { tree } = yield* inDirectory({ "settings.json": text }, (cwd) => loadSettings({ env: {}, cwd }))
      assert.strictEqual(tree.Server.Port, 77)
      // no comment begins in a text
      assert.strictEqual(tree.Campaigns[0].BaseUrl, "https://platform.example/api/v1/")
    }),
  )

  it.effect("a settings file that is not JSON is a problem with its position, without quoting any text", () =>
    Effect.gen(function* () {
      for (const [text, expected] of [
        ['{\n  "Security": hunter22\n}', /expected valid JSON/],
        ['{\n  "Security": {}\n  "hunter22": 1\n}', /the error is at line 3 column 3/],
        ["[]", /an object of settings/],
        ["", /an object of settings, in braces; the file is empty/],
        ["// nothing but hunter22\n", /the file is empty/],
        ["Security:\n  ConsoleToken: hunter22\n", /valid JSON; it looks like YAML/],
        ["# hunter22\n---\nSecurity: {}\n", /valid JSON; it looks like YAML/],
        ["export Security__ConsoleToken=hunter22\n", /it looks like a file of environment variables, which --env-file/],
        ['[Security]\nConsoleToken = "hunter22"\n', /it looks like TOML or INI/],
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

describe("a file with more levels than settings have", () => {
  it.effect.each([
    ["objects", `${'{"X":'.repeat(5_000)}1${"}".repeat(5_000)}`],
    ["lists", `{"X":${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
  ] as const)("%s is a problem, and takes no time and memory", ([, text]) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(inDirectory({ "settings.json": text }, (cwd) => loadSettings({ env: {}, cwd })))
      assert.match(error.message, /X[.\w]*: expected at most 16 levels; found more, in the settings file/)
      assert.isBelow(error.message.length, 1_000)
    }),
  )
})

describe("files in other encodings", () => {
  const texts: ReadonlyArray<readonly [name: string, bytes: Buffer, expected: RegExp]> = [
    ["UTF-16, little endian", Buffer.from(`\uFEFF${JSON.stringify(minimal)}`, "utf16le"), /it is in UTF-16/],
    ["UTF-16 without a mark", Buffer.from(JSON.stringify(minimal), "utf16le"), /it is in UTF-16/],
    ["UTF-16, big endian", Buffer.from(`\uFEFF${JSON.stringify(minimal)}`, "utf16le").swap16(), /it is in UTF-16/],
    ["Latin-1", Buffer.from('{"VoiceAiPlatform":{"BusinessId":"Müller"}}', "latin1"), /it is in another encoding/],
  ]
  it.effect.each(texts)("the message names the encoding of %s", ([, bytes, expected]) =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* fs.makeTempDirectoryScoped()
      yield* fs.writeFile(`${cwd}/settings.json`, bytes)
      yield* fs.writeFile(`${cwd}/.env`, bytes)
      const error = yield* Effect.flip(loadSettings({ env: {}, cwd }))
      assert.match(error.message, expected)
      const ofEnvFile = yield* Effect.flip(loadSettings({ env: {}, envFile: ".env", cwd }))
      assert.match(ofEnvFile.message, expected)
    }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer)),
  )
})

describe("names that are given twice in the settings file", () => {
  it.effect("are problems with both lines: JSON alone keeps the last one in silence", () =>
    Effect.gen(function* () {
      const text = `{
  // "Server": a name in a comment does not count
  "VoiceAiPlatform": {
    ${JSON.stringify(minimal.VoiceAiPlatform).slice(1, -1)},
    "Campaigns": { "sales": { "WebCampaignId": "a" }, "x": {"WebCampaignId": "x:\\"sales\\":{"},
      "sales": { "WebCampaignId": "b" } }
  },
  "Security": { "WebhookApiToken": ["${TOKEN}"], "BlockVpn": true },
  "Server": { "Port": 1 },
  "Server": { "Host": "::" },
  "Security": { "BlockVpn" : false }
}`
      const error = yield* Effect.flip(inDirectory({ "settings.json": text }, (cwd) => loadSettings({ env: {}, cwd })))
      const TWICE = "expected the name once: of two, JSON keeps the last one only; found it in lines"
      assert.deepStrictEqual(error.message.split("\n").slice(1), [
        `  VoiceAiPlatform.Campaigns.sales: ${TWICE} 5 and 6 of the settings file`,
        `  Server: ${TWICE} 9 and 10 of the settings file`,
        `  Security: ${TWICE} 8 and 11 of the settings file`,
      ])
    }),
  )
})

describe("the layer of a host's object", () => {
  it.effect("provides the tree, which shows no secret", () =>
    Effect.gen(function* () {
      const settings = yield* Settings
      assert.strictEqual(settings.Campaigns[0].BusinessId, "business-1")
      assert.notInclude(JSON.stringify(settings), KEY)
      assert.notInclude(String(settings.Campaigns[0].ApiSecretToken), KEY)
    }).pipe(Effect.provide(layerFrom(minimal))),
  )
})
