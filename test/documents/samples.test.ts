/** The settings that README, documents and deployment files show are accepted by the program. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Predicate, Result } from "effect"
import { readDocument } from "../../scripts/docs/documents.ts"
import { NO_VARIABLES } from "../../src/settings/given.ts"
import { resolveSettings } from "../../src/settings/reading/resolve.ts"
import { SettingsFile } from "../../src/settings/Settings.ts"
import { variablesOf } from "../../src/settings/sources/variables.ts"
import { documents, filledIn, readme, root } from "./texts.ts"

describe("the README", () => {
  it("shows a settings file that is accepted", () => {
    const [, written = ""] = /```json\n([\s\S]*?)```/.exec(readme) ?? []
    const resolved = resolveSettings(JSON.parse(written), NO_VARIABLES)
    assert.isTrue(Result.isSuccess(resolved), String(resolved))
  })
})

describe("the samples of README and documents", () => {
  const groups = Object.keys(SettingsFile.fields)
  /** A file to which a sample is added that is a part of one. */
  const file = {
    VoiceAiPlatform: {
      Platform: "vapi",
      Vapi: { ApiKey: "key", AssistantId: "one", WebhookSecret: "0123456789abcdef" },
    },
    Security: { AllowedOrigins: ["https://shop.example"] },
  }
  const isGroup = Predicate.isObject
  const added = (to: unknown, more: unknown): unknown =>
    isGroup(to) && isGroup(more) && !Array.isArray(more)
      ? {
          ...to,
          ...Object.fromEntries(Object.entries(more).map(([name, value]) => [name, added(Object(to)[name], value)])),
        }
      : more
  const problemsOf = (settings: unknown): string => {
    const resolved = resolveSettings(Object(settings), NO_VARIABLES)
    return Result.isFailure(resolved) ? resolved.failure.message : ""
  }

  it("are JSON with its braces, and what is a part of the settings file is accepted in one", () => {
    let parts = 0
    for (const { markdown, name } of documents) {
      for (const [, written = ""] of markdown.matchAll(/^```json\n([\s\S]*?)^```/gm)) {
        const sample: unknown = JSON.parse(filledIn(written))
        const names = Object.keys(Object(sample))
        if (!names.some((each) => groups.includes(each))) continue
        parts++
        const alone = problemsOf(sample)
        const problems = alone === "" ? "" : problemsOf(added(file, sample))
        assert.strictEqual(problems, "", `${name}: ${written}`)
      }
    }
    assert.isAtLeast(parts, 12)
  })
})

describe("the samples of scripts/deploy, and of the service's environment", () => {
  const deploying = readDocument("deploying")
  const VARIABLE = /^[ #]*(\w+__\w+?)(?:: |=)"?([^"\n]*)"?$/gm
  /** The variables between two comments; a file of a secret counts as a secret. */
  const variables = (text: string, from: string, until: string): ReadonlyArray<readonly [string, string]> =>
    [...(text.split(from)[1]?.split(until)[0] ?? "").matchAll(VARIABLE)].map(([, name = "", value = ""]) =>
      name.endsWith("__File") ? [name.slice(0, -"__File".length), `secret-of-${name}`] : [name, value],
    )

  it.each([
    ["compose.yaml", {}],
    ["kubernetes.yaml", {}],
    // what the settings file has beside the environment of the service
    ["deploying.md", { Platform: "vapi", Vapi: { AssistantId: "one" } }],
  ] as const)("have in %s the lines of Vapi beside those of IqraAI, and both are accepted", (file, own) => {
    const text = file === "deploying.md" ? deploying : readFileSync(join(root, "scripts/deploy", file), "utf8")
    const Iqra = { BaseUrl: "https://platform.example", BusinessId: "1", WebCampaignId: "1", DefaultRegionId: "eu" }
    const [iqra, vapi] =
      file === "deploying.md"
        ? [
            variables(text, "/etc/voicegate/environment <<'END'\n", "END"),
            variables(text, "has these two lines", "\n3. "),
          ]
        : [variables(text, "# IqraAI:", "# Vapi, in place of"), variables(text, "# Vapi, in place of", "# all:")]
    assert.property(Object.fromEntries(iqra), "VoiceAiPlatform__ApiSecretToken")
    assert.property(Object.fromEntries(vapi), "VoiceAiPlatform__Vapi__WebhookSecret")
    for (const [VoiceAiPlatform, given] of [
      [file === "deploying.md" ? Iqra : {}, iqra],
      [own, vapi],
    ] as const) {
      const resolved = resolveSettings({ VoiceAiPlatform }, variablesOf(Object.fromEntries(given)))
      assert.strictEqual(Result.isFailure(resolved) ? resolved.failure.message : "", "", file)
    }
  })
})

describe("start.md", () => {
  it("shows settings files that are accepted, each with its name", () => {
    const samples = [...readDocument("start").matchAll(/\*\*(\w+)\*\*\n\n```json\n([\s\S]*?)```/g)]
    assert.isAtLeast(samples.length, 4)
    for (const [, name, written = ""] of samples) {
      const resolved = resolveSettings(JSON.parse(written), NO_VARIABLES)
      assert.isTrue(Result.isSuccess(resolved), `${name}: ${String(resolved)}`)
    }
  })
})

describe("vendors.md", () => {
  const samples = [...readDocument("vendors").matchAll(/```json\n([\s\S]*?)```/g)]
    .map(([, written = ""]) => JSON.parse(written.replaceAll("…", "0123456789abcdef")))
    .filter((sample) => !("status" in sample))

  it("begins with a whole settings file, and shows each vendor's part of one, all of which are accepted", () => {
    const [whole, ...parts] = samples
    assert.isAtLeast(parts.length, 5)
    for (const VoiceAiPlatform of [whole.VoiceAiPlatform, ...parts]) {
      const resolved = resolveSettings({ ...whole, VoiceAiPlatform }, NO_VARIABLES)
      assert.isTrue(Result.isSuccess(resolved), String(resolved))
    }
  })
})
