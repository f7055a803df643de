/** The example, the JSON Schema and `--help`, which are derived from the schema of the settings. */
import { assert, describe, it } from "@effect/vitest"
import { Redacted, Result, Schema, SchemaRepresentation } from "effect"
import { settings } from "../../../src/cli/settings.ts"
import { settingsFrom } from "../../../src/settings/given.ts"
import { exampleSettings } from "../../../src/settings/showing/example.ts"
import { jsonSchema } from "../../../src/settings/showing/json-schema.ts"
import { settingRows } from "../../../src/settings/showing/table.ts"
import { platform, problemsOf } from "../support.ts"

const TOKEN = "a-token-of-the-webhook"
const PATHS = settingRows.map(({ path }) => path)

/** A settings file with this value at `path`. */
const fileOf = (path: string, value: unknown): unknown =>
  path.split(".").reduceRight<unknown>((inner, name) => ({ [name]: inner }), value)

const at = (json: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((value, name) => Object(value)[name], json)

const pathsIn = (json: object, base = ""): ReadonlyArray<string> =>
  Object.entries(json).flatMap(([name, value]) => {
    if (name === "Campaigns") return [`${base}Campaigns.{name}.*`]
    // a list of groups, which the example leaves empty
    if (name === "Budgets") return PATHS.filter((path) => path.startsWith(`${base}Budgets.`))
    const group = typeof value === "object" && value !== null && !Array.isArray(value)
    return group ? pathsIn(value, `${base}${name}.`) : [base + name]
  })

const treeOf = (json: object) => {
  const result = settingsFrom({ ...json })
  if (Result.isFailure(result)) throw result.failure
  return result.success.tree
}

describe("the example", () => {
  const { $schema, ...example } = exampleSettings(TOKEN)
  /** the example with its placeholders replaced by valid values */
  const filledIn = () => {
    const filled = structuredClone(example)
    Object.assign(Object(filled.VoiceAiPlatform), platform)
    return filled
  }

  it("has every setting, and nothing else", () => {
    assert.isString($schema)
    assert.deepStrictEqual(pathsIn(example), PATHS)
  })

  it("decodes to the same as a file with the required settings only", () => {
    const required = {
      VoiceAiPlatform: Object.fromEntries(
        settingRows.flatMap(({ default: value, path }) =>
          value === "required" ? [[path.replace("VoiceAiPlatform.", ""), at(filledIn(), path)]] : [],
        ),
      ),
      Security: { WebhookApiToken: TOKEN },
    }
    const [written, least] = [treeOf({ $schema, ...filledIn() }), treeOf(required)]
    assert.deepStrictEqual(written, least)
    assert.strictEqual(Redacted.value(written.StoreConnectionString), Redacted.value(least.StoreConnectionString))
  })

  it("is refused until every placeholder is filled in, in the file and in the environment", () => {
    const paths = settingRows.flatMap(({ path, placeholder }) => (placeholder === undefined ? [] : [path]))
    assert.isAbove(paths.length, 4)
    const left = problemsOf(example)
    assert.deepStrictEqual(left.map(({ path }) => path).toSorted(), paths.toSorted())
    assert.deepStrictEqual(
      left.find(({ path }) => path === "VoiceAiPlatform.WebCampaignId"),
      {
        path: "VoiceAiPlatform.WebCampaignId",
        expected: "the web campaign",
        found: 'the placeholder "<required>" in the settings file',
      },
    )
    const [problem] = problemsOf(filledIn(), { VoiceAiPlatform__BusinessId: "<required>" })
    assert.strictEqual(
      problem?.found,
      'the placeholder "<required>" in the environment variable VoiceAiPlatform__BusinessId',
    )
  })

  it("marks required settings", () => {
    for (const { default: value, path } of settingRows) {
      assert.strictEqual(/required/.test(String(at(example, path))), value === "required", path)
    }
  })
})

describe("the JSON Schema", () => {
  const { $schema: _, title: __, ...schema } = jsonSchema()
  const document = { dialect: "draft-2020-12" as const, schema, definitions: {} }
  const { ast } = SchemaRepresentation.fromJsonSchemaDocument(document, { patterns: "apply" })
  const validator = Schema.make<Schema.Codec<unknown>>(ast)
  const accepts = (json: unknown): boolean =>
    Result.isSuccess(Schema.decodeUnknownResult(validator, { onExcessProperty: "error" })(json))

  it("accepts the example, and a campaign with some of its settings", () => {
    assert.isTrue(accepts(exampleSettings(TOKEN)))
    assert.isTrue(accepts(fileOf("VoiceAiPlatform.Campaigns.sales", { WebCampaignId: "c2", MaxConcurrency: 2 })))
    assert.isTrue(accepts({ Security: { BlockVpn: "yes", TrustedProxies: "loopback", RateLimitDaily: "5" } }))
  })

  it("refuses an unknown key wherever it stands, and a value that does not fit", () => {
    const groups = new Set(PATHS.map((path) => path.slice(0, path.lastIndexOf(".") + 1).replace("{name}", "sales")))
    for (const group of groups) assert.isFalse(accepts(fileOf(`${group}Nonsense`, 1)), group)
    for (const [path, value] of [
      ["Queue.MaxLength", -1],
      ["Queue.MaxLength", 1.5],
      ["Queue.NetworkShare", 2],
      ["Privacy.Addresses", "hashd"],
      ["Security.BlockVpn", "perhaps"],
      ["Security.WebhookApiToken", ["short"]],
      ["VoiceAiPlatform.AllowedTransportTypes", ["pigeon"]],
      ["VoiceAiPlatform.Campaigns.a b", {}],
    ] as const) {
      assert.isFalse(accepts(fileOf(path, value)), path)
    }
  })

  it("describes every setting, with its default", () => {
    for (const { default: value, path } of settingRows) {
      const names = path.replace(".{name}.*", "").split(".")
      const found = names.reduce<unknown>((group, name) => {
        // the items of a list of groups, which may be null
        if (name === "{n}") return at(group, "anyOf.0.items")
        return at(group, `properties.${name}`)
      }, schema)
      const { default: fallback, description } = Object(found)
      assert.isAbove(String(description).length, 5, path)
      if (/^(true|false|allow|plain|public|memory:|[\d.]+)$/.test(value))
        assert.strictEqual(String(fallback), value, path)
    }
  })
})

describe("the help of the command", () => {
  it("lists every setting", () => {
    for (const path of PATHS) assert.include(settings.description, `  ${path} (`)
  })
})
