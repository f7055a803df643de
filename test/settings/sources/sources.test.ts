/** Where settings come from: the environment, a file, or an object of the host. */
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { NodeFileSystem } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Redacted } from "effect"
import { layerFrom } from "../../../src/settings/given.ts"
import { listLoaded, loadSettings } from "../../../src/settings/load.ts"
import { Settings } from "../../../src/settings/Settings.ts"
import { listingText } from "../../../src/settings/showing/listing.ts"
import { settingRows } from "../../../src/settings/showing/table.ts"
import { KEY, minimal, SIGNING, TOKEN, treeOf, valid, values, withSecurity } from "../support.ts"

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

describe("secrets in files", () => {
  const environment = {
    ...Object.fromEntries(
      Object.entries(minimal.VoiceAiPlatform).map(([name, value]) => [`VoiceAiPlatform__${name}`, value]),
    ),
  }
  const SECRET = "a-webhook-token-in-a-file"

  it.effect("are read for every variable that ends in __File, items of lists included", () =>
    Effect.gen(function* () {
      const files = { token: `${SECRET}\n`, key: KEY, ".env": "Server__Port=91\nSecurity__RateLimitHourly=5\n" }
      const { VoiceAiPlatform__ApiSecretToken: _, ...rest } = environment
      const { tree } = yield* inDirectory(files, (cwd) =>
        loadSettings({
          env: {
            ...rest,
            VoiceAiPlatform__ApiSecretToken__FILE: `${cwd}/key`,
            Security__WebhookApiToken__0__File: "token",
            Security__RateLimitHourly: "6",
          },
          envFile: ".env",
          cwd,
        }),
      )
      assert.deepStrictEqual(values(tree.Security.WebhookApiToken), [SECRET])
      assert.strictEqual(Redacted.value(tree.Campaigns[0].ApiSecretToken), KEY)
      assert.strictEqual(tree.Server.Port, 91)
      assert.strictEqual(tree.Security.RateLimitHourly, 6)
    }),
  )

  it.effect("secrets in files that are missing or empty, or set a second time, are problems, all at once", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        inDirectory({ empty: "\n" }, (cwd) =>
          loadSettings({
            env: {
              ...environment,
              Security__WebhookApiToken__File: "none",
              Security__ConsoleToken__File: "empty",
              VoiceAiPlatform__ApiSecretToken__File: "empty",
            },
            cwd,
          }),
        ),
      )
      const [, missing = "", ...others] = error.message.split("\n")
      assert.match(
        missing,
        /^ {2}Security__WebhookApiToken__File: expected a file that can be read; there is none at \/.+\/none$/,
      )
      assert.deepStrictEqual(others, [
        "  Security__ConsoleToken__File: expected a file with a value; it is empty",
        "  VoiceAiPlatform__ApiSecretToken__File: expected either VoiceAiPlatform__ApiSecretToken__File or VoiceAiPlatform__ApiSecretToken, and both are set",
      ])
      assert.notInclude(JSON.stringify(error), KEY)
    }),
  )

  it.effect("are read only where reading ends: no directory, no device, no pipe and no huge file", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        inDirectory({ large: "x".repeat(1024 * 1024 + 1) }, (cwd) => {
          execFileSync("mkfifo", [join(cwd, "pipe")])
          return loadSettings({
            env: {
              ...environment,
              Security__WebhookSigningSecret__File: ".",
              Security__ConsoleToken__File: "/dev/zero",
              Queue__MaxLength__File: "pipe",
              IpIntel__ApiKey__File: "large",
            },
            cwd,
          })
        }),
      )
      assert.deepStrictEqual(error.message.split("\n").slice(1), [
        "  Security__WebhookSigningSecret__File: expected a file; it is a directory",
        "  Security__ConsoleToken__File: expected a regular file; pipes and devices are not read",
        "  Queue__MaxLength__File: expected a regular file; pipes and devices are not read",
        "  IpIntel__ApiKey__File: expected a file of at most 1048576 bytes; it is larger",
      ])
    }),
  )

  it.effect("have no place for a name that is no setting", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        inDirectory({}, (cwd) => loadSettings({ env: { ...environment, Security__WebhokApiToken__File: "x" }, cwd })),
      )
      assert.include(error.message, "Security.WebhokApiToken.File: expected a known setting")
    }),
  )
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
