/** The shop of control.md: its settings file is accepted, and `voicegate check` says of it what the document shows. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { readDocument } from "../../scripts/docs/documents.ts"
import { controlFindings } from "../../src/cli/check/control.ts"
import { hoursText } from "../../src/cli/check/hours.ts"
import { NO_VARIABLES } from "../../src/settings/given.ts"
import { resolveSettings } from "../../src/settings/reading/resolve.ts"
import { filledIn } from "./texts.ts"

describe("control.md", () => {
  const document = readDocument("control")
  const [, written = ""] = /```json\n([\s\S]*?)```/.exec(document) ?? []
  const resolved = resolveSettings(JSON.parse(filledIn(written)), NO_VARIABLES)
  /** A Monday at ten, in Berlin. */
  const now = Date.parse("2026-11-23T09:00:00Z")

  it("begins with a whole settings file, which is accepted", () => {
    assert.strictEqual(Result.isFailure(resolved) ? resolved.failure.message : "", "")
  })

  it("has placeholders in it, each of which is reported once while it is not replaced", () => {
    const left = resolveSettings(JSON.parse(written), NO_VARIABLES)
    const problems = Result.isFailure(left) ? left.failure.problems : []
    assert.deepStrictEqual(
      problems.map(({ found, path }) => [path, found]),
      [
        "VoiceAiPlatform.Vapi.ApiKey",
        "VoiceAiPlatform.Vapi.AssistantId",
        "VoiceAiPlatform.Vapi.WebhookSecret",
        "Identity.Secrets.0",
        "Security.ConsoleToken",
      ].map((path) => [path, 'the placeholder "…" in the settings file']),
    )
  })

  it("shows what `voicegate check` says of that file", () => {
    const [campaign] = Result.isSuccess(resolved) ? resolved.success.tree.Campaigns : []
    if (campaign?.Hours === undefined) return assert.fail("The file has no hours.")
    const lines = controlFindings(campaign, now).map(
      ({ message, name }) => `ok    ${name}, campaign default: ${message}\n`,
    )
    assert.lengthOf(lines, 5)
    for (const line of [...lines, `ok    hours, campaign default: ${hoursText(campaign.Hours, now)}\n`])
      assert.include(document, line)
  })
})
